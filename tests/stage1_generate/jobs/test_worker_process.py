"""The log of a worker."""

import io

import pytest

from neff_bench.stage1_generate.jobs import worker_process


@pytest.mark.parametrize(
    ("sizes", "most", "kept", "dropped"),
    [((3, 4), 10, 7, 0), ((3, 4), 7, 7, 0), ((3, 4), 6, 6, 1), ((9, 4, 5), 6, 6, 12), ((6, 4), 6, 6, 4), ((), 6, 0, 0)],
)
def test_a_log_keeps_its_first_bytes_and_says_how_many_were_dropped(tmp_path, monkeypatch, sizes, most, kept, dropped):
    monkeypatch.setattr(worker_process, "LOG_BYTES", most)

    class Pieces(io.RawIOBase):
        def __init__(self):
            self.left = [b"x" * size for size in sizes]

        def read1(self, _):
            return self.left.pop(0) if self.left else b""

    worker_process._copy_log(Pieces(), tmp_path / "log")
    note = f"\n[{dropped} more bytes were not kept]\n" if dropped else ""
    assert (tmp_path / "log").read_text() == "x" * kept + note


def test_a_log_keeps_16_mebibytes():
    assert worker_process.LOG_BYTES == 16 * 1024 * 1024
