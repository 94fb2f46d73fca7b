"""The evaluator of autocomp, with a harness of autocomp's form. `validation/autocomp.py` evaluates the problems of a real clone."""

import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from tests.doors.programs import SCALE

HARNESS = """
import nki, nki.isa as nisa, nki.language as nl
import numpy as np

# SUBSTITUTE HERE

if __name__ == "__main__":
    x = np.ones((128, 8), np.float32)
    if not np.array_equal(solution(x), 2 * x):
        print("Test failed")
        exit(1)
    print("Test passed")
    timed = nki.benchmark(warmup=2, iters=10)(solution)
    timed(x)
    print("Latency: {:.3f} ms (P99)".format(timed.benchmark_result.nc_latency.get_latency_percentile(99) / 1000.0))
"""
RIGHT = SCALE.replace("def scale(", "def solution(")


@dataclass
class Prob:
    prob_type: str
    prob_id: int
    test_file: Path | None = None


@pytest.fixture
def adapter(monkeypatch, tmp_path):
    """`neff_bench.doors.autocomp` over what it takes from autocomp: a base class and the folder of the harnesses."""
    folder = tmp_path / "harnesses"
    (folder / "trn-small").mkdir(parents=True)
    (folder / "trn-small" / "3_scale_test.py").write_text(HARNESS)
    packages = {
        "autocomp": {},
        "autocomp.backend": {},
        "autocomp.backend.eval_backend": {"EvalBackend": object},
        "autocomp.common": {"HARNESSES_DIR": folder},
    }
    for name, members in packages.items():
        module = ModuleType(name)
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, "neff_bench.doors.autocomp", raising=False)
    yield import_module("neff_bench.doors.autocomp")
    sys.modules.pop("neff_bench.doors.autocomp")


def test_a_right_candidate_has_a_latency_and_a_wrong_one_is_incorrect(adapter):
    candidates = [RIGHT, RIGHT.replace("factor=2.0", "factor=3.0")]
    right, wrong = adapter.NeffBench().evaluate_code(Prob("trn-small", 3), candidates, None)
    assert right["correct"] and 0 < right["latency"] < 1, right["stderr"]
    assert (wrong["correct"], wrong["latency"]) == (False, None)
    assert "Test failed" in wrong["stdout"]


def test_a_problem_without_a_harness_is_named(adapter):
    with pytest.raises(FileNotFoundError, match="trn-small 4"):
        adapter.NeffBench().evaluate_code(Prob("trn-small", 4), [RIGHT], None)


def test_a_candidate_that_the_release_refuses_is_incorrect(adapter):
    divides = RIGHT.replace("nl.multiply, operand0=factor", "nl.divide, operand0=1 / factor")
    for sdk, correct in (("2.28", True), ("2.29", False)):
        (said,) = adapter.NeffBench(sdk=sdk).evaluate_code(Prob("trn-small", 3), [divides], None)
        assert said["correct"] == correct and ("NBLE603" in said["stderr"]) != correct
