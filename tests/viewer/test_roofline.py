"""Roofs of a chip, and where a profile stands under them."""

import pytest

from neff_bench.chips import CHIPS
from neff_bench.viewer.page.plots import roofline_svg
from neff_bench.viewer.roofline import Point, point_of, roofline, roofline_of
from tests.viewer.page.profiles import small


def test_the_roof_is_that_of_the_dtype_and_the_cores():
    found = roofline("trn2", 2, "float32")
    assert found.peaks == {"float32": pytest.approx(39.3216e12)}  # two cores, a quarter of 78.6432
    assert found.bandwidths["HBM"] == 716e9
    assert roofline("trn2", None) is None and roofline("none", 1) is None


@pytest.mark.parametrize(
    ("target", "dtypes"),
    [
        ("inf2", ["bfloat16", "float32"]),
        ("trn2", ["float8_e4m3", "bfloat16", "float32"]),
        ("trn3", ["float8_e4m3fn_x4", "float8_e4m3", "bfloat16", "float32"]),
    ],
)
def test_without_a_dtype_each_rate_of_the_chip_has_a_roof(target, dtypes):
    peaks = roofline(target, 1).peaks
    assert list(peaks) == dtypes
    for dtype, peak in peaks.items():
        assert peak == roofline(target, 1, dtype).peaks[dtype] == 1e12 * CHIPS[target].peak_tflops(dtype, 1)


def test_a_timeline_stands_where_its_summary_says():
    assert roofline_of(small()).target == "trn2" and roofline_of(small()).lnc == 1
    assert point_of(small(), "x") == Point("x", 40.0, pytest.approx(4e9))
    timeline = small()
    timeline.summary.pop("hbm_read_bytes")
    assert point_of(timeline, "x") is None


def test_the_plot_says_its_points_and_marks_simulated_ones():
    nowhere = [Point("below", -1.0, 1e12), Point("beyond", 40.0, float("inf"))]
    drawn = roofline_svg(roofline("inf2", 1), [Point("<b>", 40.0, 1e12, simulated=True), *nowhere])
    assert drawn.count("<circle") == 1
    assert "&lt;b&gt;: 40 FLOP/byte, 1 TFLOPS, simulated" in drawn and 'class="point simulated"' in drawn


@pytest.mark.parametrize("lnc", [1, 2])
def test_each_core_has_its_dma_engines_and_both_share_what_the_profiler_reports_of_hbm(lnc):
    chip, found = CHIPS["trn2"], roofline("trn2", lnc, "bfloat16")
    assert found.bandwidths["DMA engines"] == 1e9 * lnc * chip.dma_engines * chip.dma_engine_bandwidth
    assert found.bandwidths["HBM"] == chip.hbm_bandwidth_reported
    assert found.peaks == {"bfloat16": pytest.approx(lnc * 78.6432e12)}


def test_a_point_counts_all_traffic_and_the_flops_of_the_model_else_those_that_are_no_transposes():
    timeline = small(simulated=True)
    timeline.summary.update(hbm_write_bytes=300, transpose_flops=1000, total_time=2e-6)
    assert point_of(timeline, "x") == Point("x", 3000 / 400, pytest.approx(1.5e9), True)
    timeline.summary["model_flops"] = 800
    assert point_of(timeline, "x") == Point("x", 2.0, pytest.approx(4e8), True)
    timeline.summary["total_time"] = 0
    assert point_of(timeline, "x") is None


@pytest.mark.parametrize("value", [0.0, -1.0, float("inf"), float("nan")])
def test_a_point_needs_two_finite_numbers_above_zero(value):
    assert Point("x", 1e-9, 1.0).can_be_drawn
    assert not Point("x", value, 1.0).can_be_drawn and not Point("x", 1.0, value).can_be_drawn


def test_an_instance_that_is_no_text_has_no_roof():
    timeline = small()
    timeline.summary["instance_type"] = 5
    assert roofline_of(timeline) is None
