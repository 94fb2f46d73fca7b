import random

import pytest

from neff_bench.experiments.results import Point
from neff_bench.experiments.tiling_analysis import analyse, find_lines, tile_rows
from neff_bench.experiments.workload import MatmulConfig


def points(times, dimension="M", noise=None, series=""):
    sizes = {"M": 128, "K": 128, "N": 128}
    return [Point(MatmulConfig(**{**sizes, dimension: size}), time, noise, series) for size, time in times]


STAIRS = [(size, 10.0 * (-(-size // 128))) for size in (32, 64, 96, 128, 129, 160, 200, 256, 257, 300)]


def test_steps_are_found_where_the_data_have_them():
    analysis = analyse(points(STAIRS, noise=0.5))
    assert [(step.low, step.high, step.boundary) for step in analysis.steps] == [(128, 129, 128), (256, 257, 256)]
    assert analysis.crossings == 2 and analysis.at_boundary == 2
    assert analysis.steps[0].rise_us == 10 and analysis.steps[0].rise_fraction == 1


def test_a_smooth_rise_has_no_steps_however_many_boundaries_it_crosses():
    analysis = analyse(points([(size, 0.1 * size) for size in range(64, 700, 32)]))
    assert analysis.steps == () and analysis.crossings == 5


def test_a_step_away_from_a_boundary_is_not_blamed_on_tiles():
    times = [(size, 10.0 if size < 80 else 20.0) for size in range(16, 129, 16)]
    (step,) = analyse(points(times)).steps
    assert (step.low, step.high, step.boundary) == (64, 80, None)


def test_a_rise_within_the_reported_spread_is_no_step():
    assert analyse(points(STAIRS, noise=20.0)).steps == ()


def test_steps_are_found_where_most_points_lie_at_boundaries():
    times = [
        (127, 9.07),
        (128, 9.08),
        (129, 10.12),
        (255, 10.35),
        (256, 10.36),
        (257, 11.4),
        (511, 12.93),
        (512, 12.94),
    ]
    assert [step.boundary for step in analyse(points(times, noise=0.0)).steps] == [128, 256]
    assert analyse(points(times)).steps == ()


EDGES = [edge + offset for edge in (128, 256, 512, 1024) for offset in (-1, 0, 1)]


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("sizes", [EDGES, range(64, 1025, 64)])
def test_noise_makes_no_step_in_a_hundred_flat_series(sizes, told):
    for seed in range(100):
        noise = random.Random(seed)
        times = [(size, 100 * (1 + noise.gauss(0, 0.1))) for size in sizes]
        assert analyse(points(times, noise=10.0 if told else None)).steps == (), seed


def test_a_small_step_of_a_simulated_series_is_found():
    times = [(127, 8.93), (128, 8.94), (129, 9.98), (160, 10.0), (256, 10.23), (1024, 18.1), (1025, 18.4), (2048, 30.3)]
    steps = analyse(points(times, noise=0.0)).steps
    assert [step.boundary for step in steps] == [128, 1024]
    assert analyse(points(times, noise=0.5)).steps == ()


def test_a_rise_over_several_boundaries_is_no_step():
    times = [(511, 10.0), (512, 10.0), (513, 10.0), (1023, 40.0), (1024, 40.0), (1025, 40.0), (1026, 40.0)]
    assert analyse(points(times, noise=0.1)).steps == ()


def test_a_rise_that_the_trend_explains_is_no_step():
    times = [(size, 0.1 * size + (0.2 if size % 2 else 0)) for size in EDGES]
    assert analyse(points(times)).steps == ()


def test_few_points_without_samples_tell_no_step_from_noise():
    analysis = analyse(points([(128, 0.2958), (160, 0.2922), (256, 0.2892), (288, 0.3349)]))
    assert analysis.steps == () and analysis.unknown == 1


def test_columns_have_a_boundary_every_512():
    assert analyse(points([(128, 1.0), (256, 1.0), (640, 1.0)], "N")).crossings == 1


def test_points_of_different_series_are_not_one_line():
    mixed = points([(128, 1.0), (256, 2.0)], series="float32") + points([(384, 3.0), (512, 4.0)], series="bfloat16")
    assert find_lines(mixed) == []


def test_rows_compare_with_the_one_tile_matmul():
    rows = tile_rows(points([(128, 10.0), (256, 15.0), (129, 11.0)]))
    assert [row["total_tiles"] for row in rows] == [1, 2, 2]
    assert [row["ratio"] for row in rows] == [1.0, 1.5, 1.1]
    assert rows[1]["time_per_tile_us"] == 7.5
    assert [row["expected_us"] for row in rows] == [10.0, 20.0, 20.0]
    assert rows[2]["padding_percent"] == pytest.approx(100 * (1 - 129 / 256 * 128 / 512))


def test_without_a_one_tile_matmul_there_is_no_ratio():
    assert tile_rows(points([(256, 15.0)]))[0]["ratio"] is None
