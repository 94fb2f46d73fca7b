"""`neff_bench.estimate` answers as the commands do, to the bit, and runs nothing."""

import json
import subprocess
import sys
from dataclasses import fields

import numpy as np
import pytest

import neff_bench
from neff_bench.simulator.errors import SimulatorError
from tests.doors.programs import SCALE


@pytest.fixture
def kernel(tmp_path):
    path = tmp_path / "scale_kernel.py"
    path.write_text(SCALE)
    return f"{path}:scale"


def test_numbers_equal_those_of_the_commands(kernel, tmp_path):
    entry, spec = kernel.rpartition(":")[0], tmp_path / "kernel.json"
    inputs = [{"name": "x", "shape": [128, 384], "dtype": "bfloat16"}]
    spec.write_text(json.dumps({"entry": f"{entry}:scale", "inputs": inputs, "outputs": ["out"]}))
    sim = [sys.executable, "-m", "neff_bench.simulator"]
    for words in (
        ["compile", str(spec), "--framework", "NKI", "--target", "trn2", "--lnc", "1", "--output", "k.neff"],
        ["capture", "-n", "k.neff", "-s", "k.ntff"],
        ["view", "-n", "k.neff", "-s", "k.ntff", "--output-format", "summary-json"],
    ):
        done = subprocess.run([*sim, *words], cwd=tmp_path, check=True, capture_output=True)
    from neff_bench.stage2_profile.metrics.summaries import row_numbers

    summary = neff_bench.read_summary(done.stdout)
    expected = row_numbers([summary], model_flops=None, peak=neff_bench.estimate(kernel, _inputs()).mfu_peak_tflops)
    row = neff_bench.estimate(kernel, _inputs())
    assert row.total_time_us > 0
    assert {name: getattr(row, name) for name in expected} == expected


def _inputs():
    return {"x": ((128, 384), "bfloat16")}


def test_an_array_counts_as_its_shape_and_dtype(kernel):
    array = np.zeros((128, 256), np.float32)
    assert neff_bench.estimate(kernel, {"x": array}) == neff_bench.estimate(kernel, {"x": ((128, 256), "float32")})


def test_arguments_reach_the_kernel(kernel):
    with pytest.raises(SimulatorError, match="unexpected keyword argument 'power'"):
        neff_bench.estimate(kernel, _inputs(), arguments={"power": 3})


def test_flops_give_the_mfu(kernel):
    row = neff_bench.estimate(kernel, _inputs(), flops=10**6)
    assert row.mfu_percent == pytest.approx(100 * 1e6 / (row.mfu_peak_tflops * row.total_time_us * 1e6))
    assert neff_bench.estimate(kernel, _inputs()).mfu_percent is None


def test_an_estimate_is_not_a_profile(kernel):
    row = neff_bench.estimate(kernel, _inputs())
    assert (row.status, row.source, row.check) == ("estimated", "simulated", None)


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
