"""`neff-bench watch` as a command: what each save gives, and how it ends."""

import pytest

from tests.doors.watch.watching import INPUTS, KERNEL, Watch


@pytest.fixture
def watch(tmp_path):
    """Starts it on files; every one is ended."""
    running = []

    def start(*words, **files):
        for name, text in files.items():
            (tmp_path / f"{name}.py").write_text(text)
        running.append(Watch(tmp_path, *words))
        return running[-1]

    yield start
    for one in running:
        one.end()


def test_a_save_gives_its_number_and_what_changed_and_a_broken_one_its_line(watch, tmp_path):
    running = watch("my_kernels.py:scale_rows", *INPUTS, my_kernels=KERNEL)
    first = running.next()
    [row] = first["rows"]
    assert row["total_time_low_us"] < row["total_time_us"] < row["total_time_high_us"]
    assert first["broken"] is None and first["since_last"] == []

    running.save(KERNEL.replace("nl.multiply", "nl.multiplx"))
    broken = running.next()
    assert broken["rows"] == [] and "multiplx" in broken["broken"]
    assert [(one["file"], one["line"], one["severity"]) for one in broken["diagnostics"]] == [
        (str(tmp_path / "my_kernels.py"), 15, "error")
    ]

    running.save(
        KERNEL.replace(
            "range(0, rows, 128)",
            "range(0, rows, 128):\n        weights = weights\n    for row in range(0, rows // 2, 128)",
        )
    )
    faster = running.next()
    [since] = faster["since_last"]
    assert since["total"]["before_us"] == row["total_time_us"] > since["total"]["after_us"]
    assert since["engines"] and since["path"]
    moved = {one["name"]: one["place"] for one in since["lines"]}
    assert moved["nisa.dma_copy(dst=tile, src=x[row : row + 128, 0:columns])"] == "my_kernels.py:16"
