"""When a series changed: exact values by equality, measured ones by change points."""

import random

import pytest

from neff_bench.history.changes import _without_spikes, exact_changes, measured_changes, noise

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


def test_a_step_of_three_percent_is_found_within_five_values():
    found = [measured_changes(scattered(55, seed, step_at=50)) for seed in range(60)]
    hits = sum(any(abs(change.at - 50) <= 2 and change.after > change.before for change in one) for one in found)
    assert hits >= 54


@pytest.mark.parametrize("seed", range(5))
def test_flat_series_have_no_change(seed):
    series = [scattered(60, 1000 * seed + number) for number in range(100)]
    assert sum(len(measured_changes(values)) for values in series) <= 1


def test_one_odd_value_is_no_change():
    values = scattered(40, 3)
    values[20] *= 1.2
    assert measured_changes(values) == []


def test_a_short_series_has_no_change_points():
    assert measured_changes([1.0, 1.0, 1.0, 9.0, 9.0, 9.0, 9.0]) == []


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
    for values in ([1.0, 1.0, 9.0, 9.0], [9.0, 1.0, 1.0, 9.0], [1.0, 6.0, 2.0]):
        assert _without_spikes(values, 1.0) == values


def test_a_change_of_a_measured_series_lies_between_the_medians_of_its_parts():
    values = [10.0, 10.1, 9.9, 10.0, 10.1, 9.9, 20.0, 20.1, 19.9, 20.0, 20.1, 19.9]
    assert [(one.at, one.before, one.after) for one in measured_changes(values)] == [(6, 10.0, 20.0)]
