"""Plots as SVG."""

import re

import pytest

from neff_bench.viewer.page import plots
from neff_bench.viewer.page.plots import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, _Scale, bar, roofline_svg
from neff_bench.viewer.roofline import Point, Roofline, roofline


def test_the_ends_of_a_logarithmic_axis_are_the_edges_of_the_plot():
    scale = _Scale((2.0, 200.0), (10.0, 1e5))
    assert [scale.x(value) for value in (2.0, 20.0, 200.0)] == pytest.approx(
        [LEFT, (LEFT + WIDTH - RIGHT) / 2, WIDTH - RIGHT]
    )
    assert [scale.y(value) for value in (10.0, 1e3, 1e5)] == pytest.approx([HEIGHT - BOTTOM, (HEIGHT - BOTTOM + TOP) / 2, TOP])  # fmt: skip


def test_the_names_of_memories_stand_under_each_other_inside_the_plot():
    places = re.findall(r'<text class="memory\d" x="\d+" y="(\d+)">', roofline_svg(roofline("trn2", 1), []))
    first, second = map(int, places)
    assert TOP < first < second < HEIGHT - BOTTOM


@pytest.mark.parametrize(
    ("share", "percent"), [(-0.1, "0.00"), (0.0, "0.00"), (0.5, "50.00"), (1.0, "100.00"), (1.2, "100.00")]
)
def test_a_bar_is_never_longer_than_its_cell(share, percent):
    assert f'<rect width="{percent}"' in bar(share, "tensor")


ROOFS = Roofline("trn2", 2, {"bfloat16": 1e14, "float32": 2.5e13}, {"HBM": 1e12, "DMA engines": 5e11})
"""A peak of 1e14 FLOP/s, which half of the bandwidth needs 200 FLOP/byte for."""


def test_the_plot_reaches_beyond_its_roofs_and_its_points():
    drawn = roofline_svg(ROOFS, [Point("x", 4000.0, 1e10)])
    marks = re.findall(r'text-anchor="(?:middle|end)">([\d.e+-]+)</text>', drawn)
    assert marks == ["1", "10", "100", "1000", "0.01", "0.1", "1", "10", "100"]
    assert [*plots._decades((0.99, 1001.0))] == [1.0, 10.0, 100.0, 1000.0] and [*plots._decades((1.01, 99.0))] == [10.0]


def test_roofs_are_where_bandwidth_and_peak_meet():
    scale = _Scale((1.0, 1e4), (1e12, 1e14))
    drawn = "".join(plots._roofs(ROOFS, scale))
    corner, slow = scale.x(200.0), scale.x(50.0)
    assert f'd="M{corner:.1f} {TOP:.1f}H{WIDTH - RIGHT}"' in drawn
    assert f'd="M{slow:.1f} {scale.y(2.5e13):.1f}H{WIDTH - RIGHT}"' in drawn
    assert f'memory0" d="M{scale.x(1.0):.1f} {scale.y(1e12):.1f}L{scale.x(100.0):.1f} {scale.y(1e14):.1f}"' in drawn
    assert f'memory1" d="M{scale.x(2.0):.1f} {scale.y(1e12):.1f}L{corner:.1f} {scale.y(1e14):.1f}"' in drawn
    assert re.findall(">([^<]+)</text>", drawn) == ["bfloat16 100 TFLOPS", "float32 25 TFLOPS", "HBM 1000 GB/s", "DMA engines 500 GB/s"]  # fmt: skip


@pytest.mark.parametrize(("count", "more"), [(20, ""), (21, "; 1 more"), (25, "; 5 more")])
def test_the_name_of_a_plot_lists_twenty_points(count, more):
    drawn = roofline_svg(ROOFS, [Point("x", 40.0, 1e12)] * count)
    [label] = re.findall('aria-label="(.*?)"', drawn)
    assert label == "Roofline of trn2, LNC 2: " + "; ".join(["x 40 FLOP/byte, 1 TFLOPS"] * 20) + more
    assert drawn.count("<circle") == count


def test_a_point_stands_at_its_place():
    scale = _Scale((1.0, 100.0), (1e10, 1e14))
    drawn = plots._mark(Point("x", 10.0, 1e12), scale)
    assert f'cx="{(LEFT + WIDTH - RIGHT) / 2:.1f}" cy="{(TOP + HEIGHT - BOTTOM) / 2:.1f}"' in drawn
    assert 'class="point"' in drawn and ">x: 10 FLOP/byte, 1 TFLOPS<" in drawn
