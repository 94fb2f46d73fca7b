"""Columns of events."""

import msgspec
import numpy as np
import pytest

from neff_bench.parsers import event_columns
from neff_bench.parsers.event_columns import (
    Columns,
    IdIndex,
    Links,
    coded,
    columns_of,
    field_of,
    joined,
    links,
    new_numbering,
    numbers,
)
from neff_bench.parsers.event_rows import Dependence, InstructionRow, LinkedInstructionRow, Predecessor


def test_an_id_is_found_where_its_row_lies_of_several_the_last_and_none_below_zero():
    rows = [LinkedInstructionRow(0, 1, 0, "Tensor", "", "NOP", id=number) for number in (9, 5, -1, 5)]
    assert IdIndex(rows).find(np.array([5, 7, 9, 4, -1, 10])).tolist() == [3, -1, 0, -1, -1, -1]
    only = [LinkedInstructionRow(0, 1, 0, "Tensor", "", "NOP", id=0)]
    assert IdIndex(only).find(np.array([0, -1])).tolist() == [0, -1]
    assert IdIndex([]).find(np.array([5])).tolist() == [-1]


def made(count=9):
    """Rows of which some fields have few values, one has its default everywhere, and one is a list."""
    return [
        LinkedInstructionRow(
            timestamp=10.5 * at, duration=3, subgroup=("Tensor", "Vector")[at % 2], opcode=f"OP{at % 3}", pc=at - 1, id=at,
            nki_source_location=None if at % 4 else "k.py:3", nki_call_stack=("a:1",) * (at % 2),
            predecessors=[Predecessor(one, kind) for one, kind in zip(range(at % 3), (Dependence.ANTI, Dependence.OTHER))],
        )
        for at in range(count)
    ]  # fmt: skip


@pytest.mark.parametrize("sizes", [(9,), (4, 5), (1, 1, 7), (9, 0)])
def test_rows_as_columns_are_the_same_rows(sizes):
    rows, batches, at = made(), [], 0
    for size in sizes:
        batches.append(rows[at : at + size])
        at += size
    found = columns_of(LinkedInstructionRow, (batch for batch in batches if batch))
    assert [*found] == rows and len(found) == 9 and found[4] == rows[4] and found[-1] == rows[-1]
    assert found[2:7:2] == rows[2:7:2] and found[:] == rows
    assert "operands" not in found.columns and "predecessors" in found.columns
    assert [msgspec.structs.replace(row, predecessors=[]) for row in rows[3:6]] == [*found.take(np.arange(3, 6))]
    plain = [InstructionRow(*msgspec.structs.astuple(row)[: len(InstructionRow.__struct_fields__)]) for row in rows]
    assert [*found.of_kind(InstructionRow)] == plain


def test_a_column_of_more_values_than_are_looked_up_fast_holds_the_same_rows(monkeypatch):
    monkeypatch.setattr(event_columns, "MANY", 2)
    rows = [LinkedInstructionRow(opcode=f"OP{at % 5}", operands=f"dst={at % 2}") for at in range(40)]
    found = columns_of(LinkedInstructionRow, [rows[at : at + 4] for at in range(0, 40, 4)])
    assert [*found] == rows
    assert found.columns["operands"].values == ("dst=0", "dst=1") and len(found.columns["opcode"].values) > 5


def test_rows_that_all_have_the_defaults_and_no_rows_are_rows():
    assert columns_of(LinkedInstructionRow, []) == []
    assert columns_of(InstructionRow, [[InstructionRow(), InstructionRow()]]) == [InstructionRow(), InstructionRow()]


def test_columns_joined_are_the_rows_of_all():
    one, other = (columns_of(LinkedInstructionRow, [part]) for part in (made()[:4], made()[4:]))
    assert [*joined([one, other])] == made() and [*joined([one, one])] == made()[:4] * 2


@pytest.mark.parametrize(
    "names",
    [
        ("subgroup",),
        ("subgroup", "opcode"),
        ("nki_source_location", "operands"),
        ("opcode", "subgroup", "nki_call_stack", "none"),
    ],
)
def test_what_is_said_of_fields_is_the_same_of_rows_and_of_columns(names):
    for count in (1, 2, 9):
        rows = made(count)
        first = coded(rows, names, lambda *fields: fields)
        again = coded(columns_of(LinkedInstructionRow, [rows]), names, lambda *fields: fields)
        assert [first.values[code] for code in first.codes] == [
            tuple(getattr(row, name, "") for name in names) for row in rows
        ]
        assert first.codes.tolist() == again.codes.tolist() and list(first.values) == list(again.values)
    numbering = new_numbering()
    numbering["known"]
    assert (
        coded(columns_of(LinkedInstructionRow, [made()]), ("opcode",), str, numbering).codes.tolist() == [1, 2, 3] * 3
    )


def test_numbers_and_links_are_the_same_of_rows_and_of_columns():
    rows = made()
    columns = columns_of(LinkedInstructionRow, [rows])
    for name, absent in (("timestamp", 0), ("pc", -1), ("id", -1), ("evt_wait_time", 0), ("none", 7)):
        assert numbers(rows, name).tolist() == numbers(columns, name).tolist()
        assert field_of(rows, name, absent).tolist() == field_of(columns, name, absent).tolist() or name == "timestamp"
    assert [part.tolist() for part in links(rows)] == [part.tolist() for part in links(columns)]
    at, ids, kinds = links(rows)
    assert (
        at.tolist() == [1, 2, 2, 4, 5, 5, 7, 8, 8] and ids.tolist() == [0, 0, 1] * 3 and kinds.tolist() == [1, 1, 4] * 3
    )
    flow = Columns(
        LinkedInstructionRow, {"id": np.arange(2), "predecessors": Links(np.array([0, 0, 2]), np.array([5, 6]))}
    )
    assert [part.tolist() for part in links(flow)] == [[1, 1], [5, 6], [0, 0]]
    assert (
        flow[1].predecessors == [Predecessor(5, Dependence.FLOW), Predecessor(6, Dependence.FLOW)]
        and flow[0].predecessors == []
    )
    assert [part.tolist() for part in links(Columns(InstructionRow, {"pc": np.arange(2)}))] == [[], [], []]


@pytest.mark.parametrize("sizes", [(1, 2, 1), (2, 0, 1), (0,)])
def test_parts_of_which_some_have_defaults_alone_are_one(sizes):
    plain, told = LinkedInstructionRow(), LinkedInstructionRow(2, 1.5, 0, "Tensor", pc=3, nki_call_stack=("a:1",))
    parts = [[told, plain][:size] if size == 2 else [plain] * size for size in sizes]
    found = columns_of(LinkedInstructionRow, parts)
    assert [*found] == [row for part in parts for row in part]
    assert not found or ("subgroup" in found.columns and "opcode" not in found.columns)
