"""`neff_bench.estimate` answers as the commands do, to the bit, and runs nothing."""

import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import neff_bench
from neff_bench.errors import NeffBenchError
from neff_bench.simulator.errors import SimulatorError
from neff_bench.stage2_profile.metrics.rows import METRICS, to_dict
from tests.doors.programs import SCALE


@pytest.fixture
def kernel(tmp_path):
    path = tmp_path / "scale_kernel.py"
    path.write_text(SCALE)
    return f"{path}:scale"


IMPORTS_NKI_ITSELF = """
import neff_bench

def kernel(x):
    import nki.isa as nisa
    import nki.language as nl

    out, tile = nl.ndarray((128, 64), x.dtype, nl.shared_hbm), nl.ndarray((128, 64), x.dtype, nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=out, src=tile)
    return out

print(neff_bench.estimate(kernel, {"x": ((128, 64), "float32")}).status)
"""


def test_a_function_may_import_nki_when_it_runs(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(IMPORTS_NKI_ITSELF)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert done.stdout == "estimated\n"


def test_numbers_equal_those_of_both_stages_to_the_bit(kernel):
    """`python bench/estimate.py equal` compares a hundred variants with the commands."""
    matmul = f"{Path(__file__).parents[2] / 'bench/matmul_variants.py'}:matmul"
    square = dict.fromkeys(("lhs_t", "rhs"), ((1024, 1024), "bfloat16"))
    tasks = [
        neff_bench.Task(kernel, {"x": ((128, 384), "float32")}, target="trn1", flops=128 * 384),
        neff_bench.Task(kernel, {"x": ((96, 8), "bfloat16")}, lnc=2),
        neff_bench.Task(matmul, square, target="trn3", lnc=2, arguments={"block_k": 512, "order": "nkm"}, flops=2**31),
    ]
    for task, row in zip(tasks, neff_bench.profile_many(tasks), strict=True):
        given = {name: getattr(task, name) for name in ("target", "lnc", "arguments", "flops")}
        estimated = to_dict(neff_bench.estimate(task.kernel, task.inputs, **given))
        assert row.total_time_us > 0
        of_the_build = ("compile_time_s", "executions", "total_time_iqr_us")
        assert {name: to_dict(row)[name] for name in METRICS if name not in of_the_build} == {
            name: estimated[name] for name in METRICS if name not in of_the_build
        }


def _inputs():
    return {"x": ((128, 384), "bfloat16")}


def test_a_file_that_changes_within_a_second_is_another_kernel(kernel, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    path, once = Path(kernel.rpartition(":")[0]), "    nisa.dma_copy(dst=out, src=tile)\n"
    times = []
    for line in ("#" + once[1:], once):
        path.write_text(SCALE.replace(once, line + once))
        os.utime(path, (1_700_000_000, 1_700_000_000))
        times.append(neff_bench.estimate(kernel, _inputs()).total_time_us)
    assert times[0] < times[1]


def test_an_array_counts_as_its_shape_and_dtype(kernel):
    array = np.zeros((128, 256), np.float32)
    assert neff_bench.estimate(kernel, {"x": array}) == neff_bench.estimate(kernel, {"x": ((128, 256), "float32")})


def test_arguments_reach_the_kernel(kernel):
    with pytest.raises(SimulatorError, match="unexpected keyword argument 'power'"):
        neff_bench.estimate(kernel, _inputs(), arguments={"power": 3})


@pytest.mark.parametrize(
    ("name", "inputs", "says"),
    [
        (
            "scale_kernel.py",
            {"x": ((8, 8), "float32")},
            "kernel 'scale_kernel.py': expected file.py:function or package",
        ),
        ("scale_kernel.py:scale", {"x": ((8, 8), "bf16")}, "input x: unknown dtype 'bf16'; known: float32"),
        (
            "scale_kernel.py:scale",
            {"y": ((8, 8), "float32")},
            r"scale_kernel.py:\d+: the kernel cannot take these arguments",
        ),
    ],
)
def test_a_slip_is_told_with_what_was_expected(kernel, monkeypatch, name, inputs, says):
    monkeypatch.chdir(Path(kernel).parent)
    with pytest.raises(NeffBenchError, match=says):
        neff_bench.estimate(name, inputs)


def test_flops_give_the_mfu(kernel):
    row = neff_bench.estimate(kernel, _inputs(), flops=10**6)
    assert row.mfu_percent == pytest.approx(100 * 1e6 / (row.mfu_peak_tflops * row.total_time_us * 1e6))
    assert neff_bench.estimate(kernel, _inputs()).mfu_percent is None


def test_an_estimate_is_not_a_profile(kernel):
    row = neff_bench.estimate(kernel, _inputs())
    assert (row.status, row.source, row.check) == ("estimated", "simulated", None)
    assert row.tool.startswith("neuron-sim ") and row.tool.endswith(row.model.split(".")[-1])


def test_the_import_path_does_not_grow(kernel):
    neff_bench.estimate(kernel, _inputs())
    before = list(sys.path)
    for _ in range(3):
        neff_bench.estimate(kernel, _inputs())
    assert sys.path == before


def test_the_face_imports_nothing_heavy():
    check = "import sys, neff_bench; print([m for m in ('numpy', 'msgspec', 'click', 'yaml') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_public_name_is_there_and_documented():
    for name in neff_bench.__all__:
        assert getattr(neff_bench, name).__doc__
    assert set(neff_bench.__all__) <= set(dir(neff_bench))
    assert fields(neff_bench.Row)


LOOPS = {
    "dynamic_range": "for i in nl.dynamic_range(register):\n            step(i)",
    "range": "for i in nl.sequential_range(register):\n            step(i)",
    "while": "while register < 4:\n            step(0)",
    "while not equal": "while register != 4:\n            step(0)",
    "while_loop": "nl.while_loop(register, step)",
    "fori_loop": "nl.fori_loop(0, register, step)",
}


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
def test_a_loop_that_the_data_in_a_register_bound_is_refused_by_name_at_its_line(tmp_path, loop):
    source = f"""
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x, count):
    register = nisa.register_alloc()
    nisa.register_load(register, count)
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)

    def step(i):
        nisa.dma_copy(dst=tile, src=x)

    if True:
        {loop}
    return x
"""
    (tmp_path / "bounded.py").write_text(source)
    with pytest.raises(SimulatorError, match=r"register|while_loop") as refused:
        inputs = {"x": ((128, 8), "float32"), "count": ((1, 1), "int32")}
        neff_bench.estimate(f"{tmp_path}/bounded.py:kernel", inputs)
    assert "bounded.py:17" in str(refused.value)


def test_a_row_has_the_interval_in_which_hardware_lies(kernel):
    row = neff_bench.estimate(kernel, _inputs())
    assert 0 < row.total_time_low_us < row.total_time_high_us
    assert "8 of 10 new kernels lie in this range" in row.time_error
    assert 0 < row.execution_time_low_us < row.execution_time_us < row.total_time_us
    unknown = neff_bench.estimate(kernel, _inputs(), target="inf2")
    assert unknown.time_error.endswith("; none was measured on inf2")


def test_a_row_is_a_line_and_rows_are_a_table(tmp_path):
    (tmp_path / "mine.py").write_text(SCALE)
    row = neff_bench.estimate(f"{tmp_path / 'mine.py'}:scale", {"x": ((128, 8), "float32")})
    assert repr(row).startswith("<Row mine.scale nki 128x8 float32 trn2/1: ") and len(repr(row)) < 120
    assert "128x8" in row._repr_html_() and "simulated" in row._repr_html_()
    assert repr(neff_bench.Rows([row, row])).count("mine.scale") == 2
