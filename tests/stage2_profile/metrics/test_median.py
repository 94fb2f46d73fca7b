"""The confidence interval of a median."""

import random

import pytest

from neff_bench.stage2_profile.metrics.derived import half_width_percent, median_interval


@pytest.mark.parametrize(("count", "rank"), [(6, 1), (8, 1), (9, 2), (20, 6), (30, 10)])
def test_the_ranks_are_those_of_the_tables(count, rank):
    """As in Conover, Practical Nonparametric Statistics: 95 % confidence limits of the median."""
    values = list(range(1, count + 1))
    random.Random(0).shuffle(values)
    assert median_interval(values) == (rank, count + 1 - rank)


def test_five_values_have_none():
    assert median_interval([1.0] * 5) is None
    assert half_width_percent([1.0] * 5) is None


def test_the_median_lies_inside_in_nineteen_of_twenty_samples():
    draw = random.Random(1)
    inside = 0
    for _ in range(1000):
        low, high = median_interval([draw.expovariate(1.0) for _ in range(12)])
        inside += low <= 0.6931 <= high
    assert 930 <= inside <= 990


def test_half_of_the_width_is_told_in_percent_of_the_median():
    assert half_width_percent([99.0, 100.0, 100.0, 100.0, 100.0, 101.0]) == pytest.approx(1.0)
