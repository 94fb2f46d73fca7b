from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neff_bench.errors import WrongCall
from neff_bench.experiments.bucketing import (
    best_buckets,
    evaluate,
    least_padding,
    noise_of,
    powers_of_two,
    read_lengths,
)
from neff_bench.experiments.errors import BadResults


@st.composite
def problems(draw):
    sizes = draw(st.lists(st.integers(1, 60), min_size=1, max_size=7, unique=True))
    times = {size: draw(st.integers(1, 100)) for size in sizes}
    lengths = draw(st.lists(st.integers(1, max(sizes)), min_size=1, max_size=8, unique=True))
    return times, {length: draw(st.integers(1, 9)) for length in lengths}, draw(st.integers(1, 7))


@settings(max_examples=200, deadline=None)
@given(problems())
def test_the_choice_costs_what_the_best_of_all_sets_costs(problem):
    times, weights, count = problem
    count = min(count, len(times))
    sets = [c for c in combinations(sorted(times), count) if c[-1] >= max(weights)]
    chosen = best_buckets(times, weights, count)
    assert chosen in sets
    least = min(evaluate("", c, times, weights).expected_us for c in sets)
    assert evaluate("", chosen, times, weights).expected_us == pytest.approx(least)


@settings(max_examples=100, deadline=None)
@given(problems(), st.floats(0, 20))
def test_a_choice_with_less_padding_costs_no_more_than_noise_allows(problem, noise):
    times, weights, count = problem
    best = evaluate("", best_buckets(times, weights, count), times, weights)
    chosen = evaluate("", least_padding(times, dict.fromkeys(times, noise), weights, count), times, weights)
    assert chosen.waste <= best.waste + 1e-9
    assert chosen.expected_us <= best.expected_us + 2 * noise * 2**0.5 + 1e-9


NOISY = {256: 5.0, 768: 12.0, 1408: 11.9}


@pytest.mark.parametrize(
    ("told", "largest"),
    [(0.5, 768), (None, 768), (0.0, 1408), (0.01, 768)],
)
def test_a_larger_bucket_is_not_taken_for_a_difference_within_the_noise(told, largest):
    """A time that falls with the size tells of noise even where the samples tell of little; a simulated time has none."""
    noise = noise_of(NOISY, dict.fromkeys(NOISY, told))
    assert least_padding(NOISY, noise, dict.fromkeys(range(1, 769), 1.0), 1) == (largest,)


def test_a_length_longer_than_every_size_is_refused():
    with pytest.raises(WrongCall, match="length 200 is longer"):
        best_buckets({64: 1.0, 128: 2.0}, {200: 1.0}, 1)
    with pytest.raises(WrongCall, match="length 200 is longer"):
        evaluate("powers", (64, 128), {64: 1.0}, {200: 1.0})


def test_waste_and_expected_latency():
    choice = evaluate("two", (4, 8), {4: 1.0, 8: 3.0}, {2: 1.0, 8: 1.0})
    assert choice.expected_us == 2.0
    assert choice.waste == pytest.approx(1 - 10 / 12)


def test_a_bucket_between_measured_sizes_is_interpolated_and_says_so():
    choice = evaluate("", (6, 8), {4: 1.0, 8: 3.0}, {5: 1.0})
    assert choice.expected_us == 2.0 and choice.interpolated == (6,)


def test_a_bucket_outside_the_measured_sizes_has_no_latency():
    assert evaluate("", (2, 8), {4: 1.0, 8: 3.0}, {1: 1.0}).expected_us is None


def test_powers_of_two_reach_the_longest_length():
    assert powers_of_two(100) == (1, 2, 4, 8, 16, 32, 64, 128)
    assert powers_of_two(128, 64) == (64, 128)


def test_lengths_from_a_range_or_a_file(tmp_path):
    assert read_lengths("uniform:3:5") == {3: 1.0, 4: 1.0, 5: 1.0}
    path = tmp_path / "lengths.csv"
    path.write_text("length,weight\n128,2.5\n64 # one\n128\n7,0\n")
    assert read_lengths(str(path)) == {128: 3.5, 64: 1.0}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "sum to 0"),
        ("128,0\n", "sum to 0"),
        ("128,-1\n", "line 1"),
        ("128\nx,1\n", "line 2"),
        ("0,1\n", "line 1"),
        ("12,nan\n", "line 1"),
    ],
)
def test_bad_distributions_are_named_with_their_line(tmp_path, text, message):
    path = tmp_path / "lengths.txt"
    path.write_text(text)
    with pytest.raises(BadResults, match=message):
        read_lengths(str(path))


@pytest.mark.parametrize("text", ["uniform:1", "uniform:0:5", "uniform:5:1", "uniform:a:b", "uniform:1:99999999999"])
def test_bad_ranges_are_refused(text):
    with pytest.raises(WrongCall):
        read_lengths(text)
