import pytest

from neff_bench.terminal.answer import Answer, Column, Grid
from neff_bench.terminal.formats import Page, render
from neff_bench.terminal.formats import table as module

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


@pytest.mark.parametrize("wraps", [True, False])
def test_a_table_that_fits_is_the_same_with_and_without_the_fast_way(monkeypatch, wraps):
    columns = (Column("case", wraps=wraps), Column("time us", right=True), Column("empty"), Column("check"))
    lines = [["matmul", "1.25", "-", "passed"], ["a longer name", "12345.00", "-", ""], ["", "-", "", "failed"]]
    answer = Answer([], [], [Grid(columns, lines, ["A note."], "Title"), Grid(columns, lines[:1])])
    fast = render(answer, "table", Page(60))
    monkeypatch.setattr(module, "_aligned", lambda grid, width: None)
    assert render(answer, "table", Page(60)) == fast


@pytest.mark.parametrize(("text", "width"), [("\u4e16\u754c", 60), ("a much longer text", 12)])
def test_wide_characters_and_long_texts_are_laid_out_with_care(text, width):
    assert module._aligned(Grid((Column("name", wraps=True),), [[text]]), width) is None
