"""Plots as SVG."""

import re

import pytest

from neff_bench.viewer.page.plots import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, _Scale, bar, roofline_svg
from neff_bench.viewer.roofline import roofline


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
