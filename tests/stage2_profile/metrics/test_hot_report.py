"""Hot lines and instructions as tables, cell by cell."""

import pytest

from neff_bench.stage2_profile.metrics.hot import CONTROL, Event, Line
from neff_bench.stage2_profile.metrics.hot_report import OPERANDS_MAX, Hot, answer, cut
from neff_bench.stage2_profile.metrics.rows import Row

ROW = Row(case="c", status="profiled", source="measured", model=None)
INNER = Line("Tensor", "/a/b/k.py:3", "/a/b/t.py:9", "MATMUL", 2, 1.23456, 66.66, 0.5)
OWN = Line("Tensor", "/a/b/k.py:4", "/a/b/k.py:4", "COPY", 1, 0.5, 33.34, 0.0)
AROUND = Line("Vector", CONTROL, CONTROL, "DRAIN", 1, 0.0, 0.0, 0.0)
EVENT = Event("Tensor", "/a/b/k.py:3", "MATMUL", "x=1", "core 0", 1.0, 2.0, 0.25, ("/a/b/c.py:1",))


def grids(*lines, events=(EVENT,), **row):
    from dataclasses import replace

    return answer([Hot(replace(ROW, **row), lines, events)], "search").grids


def test_each_cell_of_the_tables():
    found, instructions = grids(INNER, OWN, AROUND, events=(EVENT, EVENT))
    assert found.lines == [
        ["Tensor", "b/k.py:3", "b/t.py:9", "MATMUL", "2", "1.235", "66.7", "0.500"],
        ["", "b/k.py:4", "", "COPY", "1", "0.500", "33.3", "0.000"],
        ["Vector", CONTROL, "", "", "1", "0.000", "0.0", "0.000"],
    ]
    line = ["core 0", "1.000", "2.000", "0.250", "MATMUL", "b/c.py:1 > b/k.py:3", "x=1"]
    assert instructions.lines == [["Tensor", *line], ["", *line]]
    assert [column.head for column in found.columns if column.right] == ["count", "us", "% of engine", "waits us"]
    assert [column.head for column in instructions.columns if column.right] == ["start us", "us", "waits us"]
    assert [column.head for column in instructions.columns if column.wraps] == ["source line", "operands"]


@pytest.mark.parametrize(
    ("lines", "row", "starts"),
    [
        ((OWN,), {}, ["us: time"]), ((INNER,), {}, ["A line counts", "us: time"]), ((OWN, AROUND), {}, ["us: time", f"{CONTROL}: what"]),
        ((AROUND,), {}, ["us: time", "The profile names no source lines", f"{CONTROL}: what"]),
        ((Line("DMA", "weights", "weights", "", 1, 1.0, 1.0, 0.0),), {}, ["us: time", "In place of a source line", "The profile names no source lines"]),
        ((OWN,), {"source": "simulated", "tool": "neuron-sim", "model": "m"}, ["us: time", "What the kernel waits", "SIMULATED by neuron-sim, model m."]),
        ((AROUND,), {"source": "simulated"}, ["us: time", f"{CONTROL}: what", "What the kernel waits", "SIMULATED."]),
    ],
)  # fmt: skip
def test_a_note_stands_where_the_tables_have_what_it_explains(lines, row, starts):
    notes = grids(*lines, **row)[1].notes
    assert len(notes) == len(starts) and all(note.startswith(start) for note, start in zip(notes, starts))


def test_nothing_or_a_problem_is_a_line():
    assert [grid.notes for grid in grids()] == [["c: nothing matches 'search'"]]
    assert [grid.notes for grid in answer([Hot(ROW, problem="broke")], None).grids] == [["failed: c: broke"]]


def test_records_have_lines_and_instructions_of_one_form():
    line, event = answer([Hot(ROW, (INNER,), (EVENT,))], None).records
    assert (line["kind"], line["percent_of_engine"], line["opcode"], line["count"], line["time_us"]) == (
        "line",
        66.66,
        "MATMUL",
        2,
        1.23456,
    )
    assert (event["kind"], event["where"], event["innermost"], event["count"], event["time_us"]) == (
        "instruction", "/a/b/c.py:1", "/a/b/k.py:3", 1, 2.0,
    )  # fmt: skip
    assert line["start_us"] is None and event["percent_of_engine"] is None


@pytest.mark.parametrize(
    ("operands", "shown"),
    [
        ("x" * OPERANDS_MAX, "x" * OPERANDS_MAX), ("x" * (OPERANDS_MAX + 1), "x" * OPERANDS_MAX + " ..."),
        ("a " + "x" * OPERANDS_MAX, "a ..."), ("S[5]>=3 " + "x" * OPERANDS_MAX, "x" * OPERANDS_MAX),
    ],
)  # fmt: skip
def test_operands_are_cut_to_whole_words(operands, shown):
    assert cut(operands) == shown


def test_texts_of_the_tables_wrap():
    found, instructions = grids(INNER)
    assert [column.head for column in found.columns if column.wraps] == ["source line", "innermost", "instructions"]
    assert not any(column.right and column.wraps for grid in (found, instructions) for column in grid.columns)


def test_a_note_counts_one_such_line_among_others():
    assert [note[:10] for note in grids(INNER, OWN, AROUND)[1].notes] == ["A line cou", "us: time a", CONTROL[:10]]
    assert not any(note.startswith("No source") for note in grids(AROUND, OWN)[1].notes)


def test_operands_that_are_signals_alone_are_cut_as_they_are():
    signals = "S[5]>=3 " * 9
    assert cut(signals) == " ".join(["S[5]>=3"] * 7) + " ..." and len(signals) > OPERANDS_MAX
