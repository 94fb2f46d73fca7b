"""The answer of the gate, cell by cell."""

import pytest

from neff_bench.stage2_profile.compare.verdict import Judged
from neff_bench.stage2_profile.gate.lines import Change
from neff_bench.stage2_profile.gate.report import COLUMNS, FIELDS, LINE_COLUMNS, MAX_LINES, _shown, answer

SLOWER = Judged("a", "mlp a", "total_time_us", 2.0, 2.5, "worse", "", True)
FEWER = Judged("a", "mlp a", "dma_packet_count", 40, 30, "better", "the price of it")
SAME = Judged("b", "mlp b", "total_time_us", 1.0, 1.0, "same")
BUILT = Judged("c", "mlp c", "status", "profiled", None, "cannot tell", "gone")
CHANGE = Change("k.py", 3, None, "2 COPY", "nothing")


def test_what_changed_has_a_line_each_and_what_is_the_same_has_none():
    grid, *_ = answer([SLOWER, FEWER, SAME, BUILT], {}, (), ("first",), "title").grids
    assert grid.lines == [
        ["mlp a", "total_time_us", "2", "2.500", "+25.00 %", "worse"],
        ["mlp a", "dma_packet_count", "40", "30", "-25.00 %", "better (the price of it)"],
        ["mlp c", "status", "profiled", "-", "-", "cannot tell (gone)"],
    ]
    assert grid.title == "title" and grid.notes[0] == "first"
    assert grid.notes[1].startswith("WORSE: ") and grid.notes[2].startswith("Numbers judged, over all cases: 1 worse")
    assert len(grid.notes) == 3


@pytest.mark.parametrize(
    ("judged", "new", "notes"),
    [
        ([], (), ["NOTHING TO JUDGE: no case is on both sides."]),
        ([], ("x", "y"), ["NEW, with nothing to compare with: 2 cases: x, y."]),
    ],
)
def test_new_cases_are_told(judged, new, notes):
    assert answer(judged, {}, new, (), "t").grids[0].notes == notes


def test_changed_source_lines_stand_under_their_case_once():
    lines = {"a": [CHANGE, Change("k.py", None, 9, "nothing", "1 COPY")], "b": [CHANGE], "c": "no whole profile"}
    found = answer([SLOWER, FEWER, SAME, BUILT], lines, (), (), "t")
    _, source, unknown = found.grids
    assert source.lines == [["mlp a", "k.py:3: 2 COPY", "nothing"], ["", "nothing", "k.py:9: 1 COPY"]]
    assert unknown.notes == ["c: source lines: no whole profile"]
    assert [len(record["lines"]) for record in found.records] == [2, 2, 1, 0]
    assert found.records[0]["lines"][0] == vars(CHANGE) and found.records[0]["change_percent"] == 25.0
    assert found.records[2]["verdict"] == "same"


@pytest.mark.parametrize(("count", "more"), [(MAX_LINES, []), (MAX_LINES + 2, [["", "and 2 more lines", ""]])])
def test_a_case_shows_twelve_lines(count, more):
    source = answer([SLOWER], {"a": [CHANGE] * count}, (), (), "t").grids[1].lines
    assert len(source) == 12 + len(more) and source[12:] == more


def test_texts_wrap_and_numbers_stand_right():
    assert [(column.head, column.wraps, column.right) for column in COLUMNS] == [
        ("case", True, False), ("metric", False, False), ("before", False, True), ("after", False, True), ("change", False, True), ("verdict", True, False),
    ]  # fmt: skip
    assert [(column.wraps, column.right) for column in LINE_COLUMNS] == [(True, False)] * 3


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (2.0, "2"), (2.5, "2.500"), (3, "3"), ("profiled", "profiled"), (1e15, "1000000000000000")],
)
def test_a_number_has_digits_where_it_needs_them(value, text):
    assert _shown(value) == text


def test_nothing_new_and_nothing_judged_is_told_and_records_follow_the_fields():
    found = answer([SAME], {}, ("x",), (), "t")
    assert (
        found.grids[0].notes[-1] == "NEW, with nothing to compare with: 1 case: x." and len(found.grids[0].notes) == 3
    )
    assert (found.fields, list(found.records[0])) == (FIELDS, [*FIELDS[:-1], "lines"])
