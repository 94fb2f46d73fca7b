import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neff_bench.errors import WrongCall
from neff_bench.terminal.answer import HIDDEN, Answer, Column, Grid
from neff_bench.terminal.formats import Page, render

COLUMNS = [Column("kernel", wraps=True), Column("shape"), Column("total us", right=True), Column("unknown")]
LINES = [["matmul nki", "M1024 K1024 N1024", "40.59", "-"], ["mlp xla", "b1 s128", "33.20", "-"]]
NOTE = "Tensor and DMA: percent of the total time, which is said here at some length."


def shown(grid, width=80, **page):
    return render(Answer([], [], [grid]), "table", Page(width, **page)).splitlines()


def table(width):
    return shown(Grid(COLUMNS, LINES, [NOTE]), width)


def test_a_wide_page_has_one_line_for_each_row_and_no_empty_column():
    lines = table(80)
    assert lines[0].split() == ["kernel", "shape", "total", "us"]
    assert lines[2].split() == ["matmul", "nki", "M1024", "K1024", "N1024", "40.59"]


@pytest.mark.parametrize("width", [20, 30, 40])
def test_a_narrow_page_cuts_no_word_and_keeps_its_width(width):
    lines = table(width)
    assert max(map(len, lines)) <= width
    words = " ".join(lines).split()
    for word in ("matmul", "M1024", "40.59", "33.20", "b1", "percent"):
        assert word in words


def test_a_long_path_is_folded_and_not_cut():
    name = "/a/very/long/path/" + "x" * 60 + "/file.neff"
    grid = Grid([Column("path"), Column("bytes", right=True)], [[name, "1"]])
    assert name in "".join(shown(grid, 100))
    assert name in "".join(shown(grid, 40)).replace("bytes 1", "")


def test_a_range_stands_behind_its_number():
    columns = [Column("case"), Column("total us", right=True), Column("low", bound=True), Column("high", bound=True)]
    lines = shown(
        Grid(columns, [["a", "23.15", "17.77", "33.03"], ["b", "4.56", "3.51", "6.04"], ["c", "9.87", "-", "-"]])
    )
    assert lines[0] == "case total us"
    assert lines[2:] == ["a    23.1 (18-33)", "b    4.56 (3.5-6.0)", "c    9.87"]


def test_what_all_lines_have_in_common_stands_above_the_table():
    columns = [Column("case"), Column("dtype", common=True), Column("LNC", common=True)]
    lines = shown(Grid(columns, [["a", "bf16", "1"], ["b", "bf16", "2"]], about="engines: %"))
    assert lines[:2] == ["dtype bf16; engines: %", "case LNC"]


def ranked():
    columns = [Column("name", wraps=True), Column("total", right=True), Column("MFU%", rank=1), Column("Sync", rank=2)]
    return Grid([*columns, Column("bytes", rank=HIDDEN)], [["a_kernel_with_a_long.name", "12.5", "40.0", "1.0", "77"]])


def test_a_narrow_page_leaves_out_columns_before_it_wraps_a_name():
    assert "--wide: 1 more column" in shown(ranked(), 60)[0]
    lines = shown(ranked(), 38)
    assert "".join(lines[:2]).startswith("--wide: 2 more columns")
    assert "a_kernel_with_a_long.name  12.5" in lines[-1] and "MFU%" in lines[-3]
    assert shown(ranked(), 31)[-1] == "a_kernel_with_a_long.name  12.5"


def test_a_name_is_broken_behind_a_dot_or_an_underscore_when_nothing_else_helps():
    lines = shown(ranked(), 20)
    assert [line.split()[0] for line in lines[-2:]] == ["a_kernel_with_", "a_long.name"] or "a_kernel" in lines[-3]
    assert max(map(len, lines)) <= 20 and "-" not in "".join(lines[-2:])


def test_wide_shows_every_column_on_one_line():
    lines = shown(ranked(), 20, wide=True)
    assert lines[0].split() == ["name", "total", "MFU%", "Sync", "bytes"]
    assert len(lines) == 3


def test_columns_are_chosen_and_ordered_by_head_or_key():
    columns = [
        Column("case"),
        Column("total us", name="total_us"),
        Column("low", bound=True),
        Column("high", bound=True),
    ]
    answer = Answer(
        [{"case": "a", "total_us": 5.0}], ["case", "total_us"], [Grid(columns, [["a", "5.00", "4.00", "6.00"]])]
    )
    chosen = Page(80, columns=("total us", "case"))
    assert render(answer, "table", chosen).splitlines()[-1].split() == ["5.00", "(4.0-6.0)", "a"]
    assert render(answer, "csv", chosen).splitlines() == ["total_us,case", "5.0,a"]
    nested = Answer(answer.records, answer.fields, answer.grids, [{"case": "a", "total_us": 5.0, "dims": {}}])
    assert json.loads(render(nested, "json", chosen)) == [{"total_us": 5.0, "case": "a"}]
    assert render(answer, "table", Page(80, columns=("low",))).splitlines()[-1] == "4.00"
    with pytest.raises(WrongCall, match="no column 'total_su'; did you mean total_us"):
        render(answer, "csv", Page(80, columns=("total_su",)))


def test_a_key_that_the_table_has_no_column_of_becomes_one():
    """What JSON knows of a row can be asked for in a table, too."""
    answer = Answer(
        [{"case": "a", "why": "b c"}, {"case": "d", "why": None}],
        ["case", "why"],
        [Grid([Column("case")], [["a"], ["d"]])],
    )
    shown = render(answer, "table", Page(80, columns=("case", "why"))).splitlines()
    assert [line.split(maxsplit=1) for line in (shown[0], *shown[-2:])] == [["case", "why"], ["a", "b c"], ["d", "-"]]


TEXT = st.text(st.sampled_from("ab1-.,  \u4e16"), max_size=30)


@given(
    st.lists(st.tuples(TEXT, TEXT, TEXT), max_size=4),
    st.lists(TEXT, max_size=2),
    TEXT,
    st.tuples(st.booleans(), st.booleans(), st.booleans()),
    st.integers(12, 70),
)
def test_nothing_is_lost_whatever_the_width(lines, notes, title, wraps, width):
    columns = tuple(Column(head, wraps=wrap) for head, wrap in zip(("case", "time us", "check"), wraps))
    text = "".join(shown(Grid(columns, lines, notes, title), width))
    for cell in (*(cell for line in lines for cell in line), *notes, title):
        if cell.strip() and (cell != "-" or cell in notes):
            letters = iter(re.sub(r"\s", "", text))
            assert all(letter in letters for letter in re.sub(r"\s", "", cell))


def test_color_marks_states_and_heads_alone():
    lines = shown(Grid([Column("check"), Column("total us", right=True)], [["passed", "1.00"]]), color=True)
    assert lines[-1].startswith("\x1b[32mpassed\x1b[0m")
    assert "\x1b" not in "".join(shown(Grid([Column("check")], [["passed"]])))
