from xml.etree import ElementTree

from neff_bench.experiments import plot
from neff_bench.experiments.results import Point
from neff_bench.experiments.tiling_analysis import find_lines
from neff_bench.experiments.workload import MatmulConfig

LINES = find_lines([Point(MatmulConfig(m, 128, 128), float(m), None, "a < b") for m in (64, 128, 192, 256, 300)])


def test_the_svg_is_well_formed_and_marks_points_and_boundaries():
    root = ElementTree.fromstring(plot.svg(LINES, "title & more"))
    kinds = [element.tag.split("}")[1] for element in root]
    assert kinds.count("circle") == 5 and kinds.count("line") == 2 and kinds.count("polyline") == 1


def test_the_text_has_a_bar_for_each_point_and_a_rule_at_each_boundary():
    lines = plot.text(LINES).splitlines()
    assert sum("█" in line for line in lines) == 5
    assert [line.split()[-1] for line in lines if "- -" in line] == ["128", "256"]
    assert max(lines, key=lambda line: line.count("█")).split()[0] == "300"
