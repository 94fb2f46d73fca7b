import pytest

from neff_bench.experiments.results import Point
from neff_bench.experiments.tiling_analysis import analyse, find_lines, tile_rows
from neff_bench.experiments.workload import MatmulConfig


def points(times, dimension="M", spread=None, series=""):
    sizes = {"M": 128, "K": 128, "N": 128}
    return [Point(MatmulConfig(**{**sizes, dimension: size}), time, spread, series) for size, time in times]


STAIRS = [(size, 10.0 * (-(-size // 128))) for size in (32, 64, 96, 128, 129, 160, 200, 256, 257, 300)]


def test_steps_are_found_where_the_data_have_them():
    analysis = analyse(points(STAIRS))
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
    assert analyse(points(STAIRS, spread=20.0)).steps == ()


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
    assert [step.boundary for step in analyse(points(times)).steps] == [128, 256]


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
    assert rows[2]["padding_percent"] == pytest.approx(100 * (1 - 129 / 256 * 128 / 512))


def test_without_a_one_tile_matmul_there_is_no_ratio():
    assert tile_rows(points([(256, 15.0)]))[0]["ratio"] is None
