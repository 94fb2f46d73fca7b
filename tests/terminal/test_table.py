import pytest
from hypothesis import given
from hypothesis import strategies as st

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


TEXT = st.text(st.sampled_from("ab1-.,  "), max_size=30)


@given(
    st.lists(st.tuples(TEXT, TEXT, TEXT), max_size=4),
    st.lists(TEXT, max_size=2),
    TEXT,
    st.tuples(st.booleans(), st.booleans(), st.booleans()),
    st.integers(12, 70),
)
def test_a_table_is_the_same_with_and_without_rich(lines, notes, title, wraps, width):
    columns = tuple(
        Column(head, right=right, wraps=wrap)
        for (head, right), wrap in zip((("case", False), ("time us", True), ("check", False)), wraps)
    )
    answer = Answer([], [], [Grid(columns, lines, notes, title), Grid(columns, lines[:1])])
    plain = module._plain(answer, width)
    assert plain in (None, module._with_rich(answer, Page(width)))


def test_a_table_with_columns_that_wrap_needs_no_rich():
    columns = (Column("case", wraps=True), Column("time us", right=True))
    answer = Answer([], [], [Grid(columns, [["a name of some words", "1.25"]], ["A note."], "Title")])
    assert module._plain(answer, 19) == (
        "Title\ncase        time us\n───────────────────\na name of      1.25\nsome words\n\nA note.\n"
    )
    columns = (Column("case", wraps=True), Column("shape", wraps=True), Column("time us", right=True))
    answer = Answer([], [], [Grid(columns, [["a name", "one two three", "1.25"]])])
    assert module._plain(answer, 21) == (
        "case   shape  time us\n─────────────────────\na name one       1.25\n       two\n       three\n"
    )


@pytest.mark.parametrize(("text", "width"), [("\u4e16\u754c", 60), ("wordslongerthanthepage", 12)])
def test_wide_characters_and_long_words_are_laid_out_by_rich(text, width):
    assert module._plain(Answer([], [], [Grid((Column("name", wraps=True),), [[text]])]), width) is None
