import pytest

from neff_bench.terminal.answer import Answer, Column, Grid
from neff_bench.terminal.formats import Page, render

COLUMNS = [Column("kernel", wraps=True), Column("shape"), Column("total us", right=True), Column("unknown")]
LINES = [["matmul nki", "M1024 K1024 N1024", "40.59", "-"], ["mlp xla", "b1 s128", "33.20", "-"]]
NOTE = "Tensor and DMA: percent of the total time, which is said here at some length."


def table(width):
    return render(Answer([], [], [Grid(COLUMNS, LINES, [NOTE])]), "table", Page(width)).splitlines()


def test_a_wide_page_has_one_line_for_each_row_and_no_empty_column():
    shown = table(80)
    assert shown[0].split() == ["kernel", "shape", "total", "us"]
    assert shown[2].split() == ["matmul", "nki", "M1024", "K1024", "N1024", "40.59"]


@pytest.mark.parametrize("width", [20, 30, 40])
def test_a_narrow_page_cuts_no_word_and_keeps_its_width(width):
    shown = table(width)
    assert max(map(len, shown)) <= width
    words = " ".join(shown).split()
    for word in ("matmul", "M1024", "40.59", "33.20", "b1", "percent"):
        assert word in words


def test_a_long_name_is_not_shredded():
    name = "/a/very/long/path/" + "x" * 60 + "/file.neff"
    grid = Grid([Column("path"), Column("bytes", right=True)], [[name, "1"]])
    assert name in render(Answer([], [], [grid]), "table", Page(100))
