"""The gate for CI: what it says of ratios, without measuring anything."""

import importlib.util
import random
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parent.parent / "bench"


@pytest.fixture(scope="module")
def gate():
    sys.path.insert(0, str(BENCH))
    try:
        spec = importlib.util.spec_from_file_location("gate", BENCH / "gate.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(BENCH))
    return module


@pytest.mark.parametrize(("slower", "expected"), [(1.0, "good"), (1.1, "slower"), (0.8, "good")])
@pytest.mark.parametrize("noise", [0.01, 0.1])
def test_ten_percent_are_noticed_and_noise_is_not(gate, monkeypatch, slower, expected, noise):
    chance = random.Random(7)

    def run(name, tree, files, planted_s=0.0):
        return chance.gauss(1.0, noise) * (slower if tree == gate.ROOT else 1.0), 1.0

    monkeypatch.setattr(gate, "run", run)
    ratio, low, high, memory, pairs = gate.compared("output_check", Path("/base"), gate.ROOT, Path("/files"), 0.0)
    assert low <= ratio <= high and memory == 1.0
    assert (ratio > gate.LIMIT) == (expected == "slower")
    assert gate.PAIRS_MIN <= pairs <= gate.PAIRS_MAX


def test_the_interval_of_a_median_leaves_at_most_a_fortieth_on_each_side(gate):
    # Of 7 values the least and the greatest: 2 / 2^7 = 1.6 %. Of 9 the second ones: 20 / 2^9 = 3.9 %.
    assert gate.interval([1, 2, 3, 4, 5, 6, 7]) == (1, 7)
    assert gate.interval([9, 8, 7, 6, 5, 4, 3, 2, 1]) == (2, 8)
