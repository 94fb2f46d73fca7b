"""`neff-bench watch` as a command: what each save gives, and how it ends."""

import json
import signal
import subprocess
import sys

import pytest

from tests.doors.watch.watching import INPUTS, KERNEL, Watch

SHAPES = """\
cases:
  - kernel: my_kernels.py:scale_rows
    implementation: nki
    target: trn2
    lnc: 1
    M: [256]
    N: 1024
    inputs: {x: {shape: [M, N], dtype: bfloat16}, w: {shape: [N], dtype: float32}}
    reference: my_reference.py:scale_rows
"""
OLD = """\
import neuronxcc.nki.language as nl
from neuronxcc import nki


@nki.jit
def double(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    nl.store(out, tile + tile)
    return out
"""
SCRIPT = """\
import numpy as np

from my_kernels import scale_rows

x = np.full((128, 512), 3, np.float32)
out = scale_rows(x, np.full(512, 4, np.float32))
assert (out == 12).all(), "not what was expected"
"""


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


def test_an_error_without_a_line_stands_at_the_file_that_is_watched(watch, tmp_path):
    running = watch("my_kernels.py:scale_rows", *INPUTS, my_kernels=KERNEL)
    running.next()
    running.save(KERNEL.replace("def scale_rows", "def scale_row"))
    [said] = running.next()["diagnostics"]
    assert said["file"] == str(tmp_path / "my_kernels.py") and said["message"].endswith("did you mean scale_row?")


def test_the_newest_save_wins_over_one_that_hangs(watch):
    running = watch("my_kernels.py:scale_rows", *INPUTS, my_kernels=KERNEL)
    running.next()
    running.save(KERNEL.replace("rows, columns = x.shape", "while True: pass"))
    running.wait_for(lambda: running.state()["save"] == 2 and running.state()["busy"])
    running.save(KERNEL)
    third = running.next()
    assert (third["save"], third["broken"]) == (3, None)


def test_a_save_that_takes_too_long_is_ended_and_says_so(watch):
    running = watch("my_kernels.py:scale_rows", *INPUTS, "--timeout", "3", my_kernels=KERNEL)
    running.next()
    running.save(KERNEL.replace("rows, columns = x.shape", "while True: pass"))
    assert running.next()["broken"] == "took longer than 3 s"


def test_what_a_kernel_imports_its_reference_and_its_shapes_are_followed(watch, tmp_path):
    (tmp_path / "shapes.yaml").write_text(SHAPES)
    running = watch(
        "my_kernels.py:scale_rows", "--shapes", "shapes.yaml",
        my_kernels=KERNEL.replace("@nki.jit", "from sizes import ROWS\n\n\n@nki.jit").replace("range(0, rows, 128)", "range(0, rows, ROWS)"),
        sizes="ROWS = 128\n", my_reference="def scale_rows(x, w):\n    return x * w\n",
    )  # fmt: skip
    [row] = running.next()["rows"]
    assert (row["case"], row["check"]) == ("my_kernels.scale_rows_nki_M256_N1024_bfloat16_trn2_lnc1", "passed")

    running.save("ROWS = 256\n", "sizes.py")
    [half] = running.next()["rows"]
    assert half["total_time_us"] < row["total_time_us"] and half["check"] == "wrong"

    running.save("def scale_rows(x, w):\n    return x + w\n", "my_reference.py")
    wrong = running.next()
    assert wrong["rows"][0]["check"] == "wrong"
    assert {(one["line"], one["severity"]) for one in wrong["diagnostics"]} == {(10, "error"), (19, "warning")}

    running.save(SHAPES.replace("[256]", "[256, 512]"), "shapes.yaml")
    assert [row["dims"]["M"] for row in running.next()["rows"]] == [256, 512]

    running.save("cases: 7\n", "shapes.yaml")
    broken = running.next()
    assert broken["diagnostics"][0]["file"] == str(tmp_path / "shapes.yaml") and broken["diagnostics"][0]["line"] == 1


def test_each_kind_of_kernel_from_another_folder(watch, tmp_path):
    name = "a_kernel_with_a_rather_long_name_" * 4
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / f"{name}.py").write_text(OLD)
    [row] = watch(f"deep/{name}.py:double", "x=128x512:float32").next()["rows"]
    assert row["kernel"] == f"{name}.double" and row["lnc"] == 1
    (tmp_path / "deep" / "on_jax.py").write_text("def double(x):\n    return x + x\n")
    [row] = watch("deep/on_jax.py:double", "x=128x512:float32", "--implementation", "xla").next()["rows"]
    assert row["implementation"] == "xla" and row["total_time_us"] > 0


def test_a_kernel_of_a_package_is_followed_with_what_it_imports_relatively(watch, tmp_path):
    (tmp_path / "pack").mkdir()
    for name in ("__init__", "sizes"):
        (tmp_path / "pack" / f"{name}.py").write_text("ROWS = 128\n")
    kernel = KERNEL.replace("@nki.jit", "from .sizes import ROWS\n\n\n@nki.jit").replace(
        "range(0, rows, 128)", "range(0, rows, ROWS)"
    )
    (tmp_path / "pack" / "kernels.py").write_text(kernel)
    running = watch("pack/kernels.py:scale_rows", *INPUTS)
    [row] = running.next()["rows"]
    saved_s = (tmp_path / "pack" / "sizes.py").stat().st_mtime
    running.save("ROWS = 256\n", "pack/sizes.py", at_s=saved_s)
    half = running.next()
    assert half["rows"][0]["total_time_us"] < row["total_time_us"]
    assert [(one["file"], one["line"]) for one in half["diagnostics"]] == [(str(tmp_path / "pack" / "kernels.py"), 19)]


def test_a_script_is_followed_with_the_kernels_that_it_launches(watch, tmp_path):
    running = watch("script.py", script=SCRIPT, my_kernels=KERNEL)
    first = running.next()
    assert first["rows"][0]["total_time_us"] > 0 and first["broken"] is None
    saved_s = (tmp_path / "my_kernels.py").stat().st_mtime
    running.save(KERNEL.replace("nl.multiply", "nl.subtract"), at_s=saved_s)
    wrong = running.next()
    assert wrong["broken"].endswith("AssertionError: not what was expected")
    [said] = wrong["diagnostics"]
    assert (said["file"], said["line"]) == (str(tmp_path / "script.py"), 7)
    assert said["message"] == "AssertionError: not what was expected"


def test_the_number_is_that_of_estimate(watch, tmp_path):
    from neff_bench import estimate
    from neff_bench.stage2_profile.metrics.rows import to_dict

    running = watch("my_kernels.py:scale_rows", *INPUTS, my_kernels=KERNEL)
    [row] = running.next()["rows"]
    inputs = {"x": ((512, 1024), "bfloat16"), "w": ((1024,), "float32")}
    known = json.loads(json.dumps(to_dict(estimate(f"{tmp_path}/my_kernels.py:scale_rows", inputs))))
    apart = {"check", "reason"}  # outputs are executed here
    assert {key: row[key] for key in known if key not in apart} == {
        key: known[key] for key in known if key not in apart
    }


def test_ctrl_c_ends_it_without_a_word(watch):
    running = watch("my_kernels.py:scale_rows", *INPUTS, my_kernels=KERNEL)
    running.next()
    assert running.end() == (0, "")
    ended = watch("my_kernels.py:scale_rows", *INPUTS)
    ended.next()
    code, said = ended.end(signal.SIGTERM)
    assert code == 143 and "Traceback" not in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["my_kernels.py:scale_rows"], "on which inputs?"),
        (["my_kernels.py:scale_rows", "x=512:floot32"], "dtype 'floot32' is not known"),
        (["absent.py:f", "x=1:float32"], "absent.py: no such file"),
        (["my_kernels.txt"], "expected KERNEL.py:function"),
        (["my_kernels.py", "x=1:float32"], "belong to KERNEL.py:function"),
    ],
)
def test_a_wrong_call_is_told_in_one_line(tmp_path, words, said):
    (tmp_path / "my_kernels.py").write_text(KERNEL)
    done = subprocess.run(
        [sys.executable, "-m", "neff_bench", "watch", *words], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2 and said in done.stderr and done.stderr.count("\n") == 1


def test_a_missing_extra_is_told_in_one_line(tmp_path):
    (tmp_path / "my_kernels.py").write_text(KERNEL)
    code = "import sys; sys.modules['watchfiles'] = None; from neff_bench.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "watch", "my_kernels.py:scale_rows", *INPUTS], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )  # fmt: skip
    assert done.returncode == 2
    assert (
        done.stderr.startswith("error: watch needs a server of pages: pip install 'starlette>=")
        and "'watchfiles>=" in done.stderr
    )
