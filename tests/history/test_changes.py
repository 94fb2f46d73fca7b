"""When a series changed: exact values by equality, measured ones by change points."""

import itertools
import math
import random

import pytest

from neff_bench.history.changes import Change, _without_spikes, exact_changes, measured_changes, noise

NOISE = 0.01


def scattered(count, seed, step_at=None, step=1.03):
    chance = random.Random(seed)
    values = [100.0 * chance.gauss(1, NOISE) for _ in range(count)]
    return [value * step if step_at is not None and at >= step_at else value for at, value in enumerate(values)]


def test_an_exact_series_changes_wherever_two_values_differ():
    found = exact_changes([5, 5, 6, 6, 5])
    assert [(change.at, change.before, change.after) for change in found] == [(2, 5, 6), (4, 6, 5)]
    assert found[0].percent == pytest.approx(20)


def test_one_byte_more_is_a_change():
    assert len(exact_changes([427_819_008.0, 427_819_009.0])) == 1


def test_one_odd_value_is_no_change():
    values = scattered(40, 3)
    values[20] *= 1.2
    assert measured_changes(values) == []


def test_a_series_of_fewer_than_ten_values_has_no_change_points():
    values = [1.0, 1.1, 0.9, 1.0, 1.1, 9.0, 9.1, 8.9, 9.0, 9.1]
    assert measured_changes(values[:9]) == measured_changes([1.0] * 5 + [9.0] * 4) == []
    assert [one.at for one in measured_changes(values)] == [5]


def test_the_noise_is_that_of_the_values_whatever_steps_they_make():
    flat, stepped = noise(scattered(400, 1)), noise(scattered(400, 1, step_at=200, step=2.0))
    assert flat == pytest.approx(100 * NOISE, rel=0.1)
    assert stepped < 3 * flat


def test_measured_values_without_any_noise_are_compared_for_equality():
    assert [change.at for change in measured_changes([5.0] * 10 + [6.0] * 10)] == [10]


@pytest.mark.parametrize("values", [[], [1.0]])
def test_without_two_values_there_is_no_noise(values):
    assert noise(values) == 0.0


def test_a_value_far_from_both_neighbours_becomes_their_mean():
    assert _without_spikes([1.0, 9.0, 2.0, 2.0], 1.0) == [1.0, 1.5, 2.0, 2.0]
    assert _without_spikes([1.0, 2.0, 9.0, 2.0], 1.0) == [1.0, 2.0, 2.0, 2.0]


def test_a_step_and_the_ends_of_a_series_are_no_spikes():
    for values in (
        [1.0, 1.0, 9.0, 9.0],
        [9.0, 1.0, 1.0, 9.0],
        [1.0, 6.0, 2.0],
        [1.0, 20.0, 6.0],
        [10.0, 16.0, 12.0],
        [12.0, 16.0, 10.0],
    ):
        assert _without_spikes(values, 1.0) == values


@pytest.mark.parametrize("sigma", [0.5, 4.0])
def test_what_a_spike_is_grows_with_the_noise(sigma):
    for calm in ([1.0, 6.0, 1.0], [1.0, 20.0, 6.0]):
        assert _without_spikes([value * sigma for value in calm], sigma) == [value * sigma for value in calm]
    for spiked in ([1.0, 6.5, 1.0], [1.0, 20.0, 5.5]):
        left, _, right = spiked
        assert _without_spikes([value * sigma for value in spiked], sigma)[1] == (left + right) / 2 * sigma


def test_a_change_of_a_measured_series_lies_between_the_medians_of_its_parts():
    values = [10.0, 10.1, 9.9, 10.0, 10.1, 9.9, 20.0, 20.1, 19.9, 20.0, 20.1, 19.9]
    assert [(one.at, one.before, one.after) for one in measured_changes(values)] == [(6, 10.0, 20.0)]


def test_a_change_needs_three_values_on_each_side():
    before = [10.0, 10.1, 9.9, 10.2] * 3
    assert [one.at for one in measured_changes([*before, 20.0, 20.1, 19.9])] == [12]
    assert [one.at for one in measured_changes([*before, 20.0, 20.1])] in ([], [11])


def test_medians_are_of_all_values_of_a_part():
    values = [10.0, 10.1, 9.9, 10.2, 10.2, 9.9, 20.0, 20.1, 19.9, 20.2, 20.2, 20.0]
    [change] = measured_changes(values)
    assert (change.at, change.before, change.after) == (6, pytest.approx(10.05), pytest.approx(20.05))


def test_noise_leaves_the_largest_tenth_of_the_differences_out():
    """Of 20 differences the largest two, of 11 too."""
    for count, kept in ((20, 18), (11, 9)):
        values = [*itertools.accumulate(range(count + 1))]
        mean = sum(step**2 for step in range(1, kept + 1)) / kept
        assert noise(values) == pytest.approx(math.sqrt(mean / 0.623 / 2))


@pytest.mark.parametrize(("before", "after", "percent"), [(4.0, 5.0, 25.0), (-4.0, -5.0, -25.0), (0.0, 1.0, None)])
def test_a_change_in_percent_is_of_what_was_before(before, after, percent):
    assert Change(1, before, after).percent == percent


def test_a_step_of_three_percent_is_found_within_five_values():
    found = [measured_changes(scattered(55, seed, step_at=50)) for seed in range(60)]
    hits = sum(any(abs(change.at - 50) <= 2 and change.after > change.before for change in one) for one in found)
    assert hits >= 54


@pytest.mark.parametrize("seed", range(5))
def test_flat_series_have_no_change(seed):
    series = [scattered(60, 1000 * seed + number) for number in range(100)]
    assert sum(len(measured_changes(values)) for values in series) <= 1
