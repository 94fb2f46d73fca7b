"""The top level of a JSON profile."""

import json

import msgspec
import pytest

from neff_bench.parsers import document
from neff_bench.parsers.document import Document, decode
from neff_bench.parsers.errors import NoProfile, ParseError


class Row(msgspec.Struct):
    number: int


def of(value):
    return Document(json.dumps(value).encode())


def message(read, *arguments):
    with pytest.raises(ParseError) as caught:
        read(*arguments)
    return str(caught.value)


@pytest.mark.parametrize(
    ("tops", "nodes"),
    [
        ({"total_time": 1}, [{"total_time": 1}]),
        ({"n_1": {"a": 1}, "n_2": {"b": 2}, "other": {"c": 3}}, [{"a": 1}, {"b": 2}]),
        ({"n_1": 5}, []),
        ({"only": {"total_time": 2}}, [{"total_time": 2}]),
        ({"only": {"a": 2}}, []),
        ({"one": {"total_time": 2}, "two": {"total_time": 3}}, []),
        ([{"total_time": 4}], [{"total_time": 4}]),
    ],
)
def test_the_nodes_of_a_summary_are_told_by_their_names_or_by_a_total_time(tops, nodes):
    assert of(tops).nodes() == nodes and of(tops).node() == next(iter(nodes), None)


def test_a_table_has_a_capital_in_one_of_the_schemas():
    for name in ("summary", "Summary"):
        assert of({name: [{"a": 1}]}).row("summary") == {"a": 1} and of({name: []}).has("summary")
    assert of({"summary": {"a": 1}}).row("summary") == {"a": 1}
    assert of({}).row("summary") == {} and not of({}).has("summary") and of({}).rows("dma", Row) == []


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b'{"summary": []}', "<bytes>: offset 12: the table summary is empty"),
        (b'{"summary": [1]}', "<bytes>: offset 12: JSON, but no profile: summary is no table"),
        (b'{"summary": 1}', "<bytes>: offset 12: JSON, but no profile: summary is no table"),
    ],
)
def test_a_table_of_one_row_is_a_table_with_a_row(data, said):
    assert message(Document(data).row, "summary") == said


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"17", "<bytes>: offset 0: JSON, but no profile: not an object, nor a list of one"),
        (b"[1, 2]", "<bytes>: offset 0: a list of 2 elements, expected one summary"),
        (b"[]", "<bytes>: offset 0: a list of 0 elements, expected one summary"),
    ],
)
def test_what_is_no_object_is_no_profile(data, said):
    assert message(Document, data) == said
    with pytest.raises(NoProfile):
        Document(data)


def test_an_error_of_a_table_has_its_place_in_the_file():
    assert message(decode, "x", memoryview(b'{"a" 1}'), dict).startswith("x: offset 5: JSON is malformed")
    wrong = Document(b'{"dma": [{"number": "x"}]}')
    assert message(wrong.rows, "dma", Row).startswith("<bytes>: offset 8: Expected `int`")


@pytest.mark.parametrize(("depth", "refused"), [(63, False), (64, True)])
def test_a_summary_is_no_deeper_than_64_levels(depth, refused):
    data = b'{"summary": {"a": ' + b"[" * depth + b"]" * depth + b"}}"
    if refused:
        assert message(Document(data).row, "summary") == "<bytes>: offset 12: nested more than 64 deep: no summary"
    else:
        assert "a" in Document(data).row("summary")


def test_a_summary_has_a_most_of_bytes(monkeypatch):
    monkeypatch.setattr(document, "SMALL_BYTES", 9)
    assert Document(b'{"summary": {"a": 12}}').row("summary") == {"a": 12}
    longer = Document(b'{"summary": {"a": 123}}')
    assert message(longer.row, "summary") == "<bytes>: offset 12: a summary of 10 bytes, more than 9"
    assert of({"only": {"total_time": 1}}).nodes() == [] and of({"n": 1}).nodes() == []


@pytest.mark.parametrize("batch_bytes", [1, 30, 1 << 18])
@pytest.mark.parametrize(("row_bytes", "in_one_pass"), [(1 << 20, True), (40, False)])
def test_tables_that_are_read_with_the_document_have_all_rows_in_order(
    monkeypatch, batch_bytes, row_bytes, in_one_pass
):
    monkeypatch.setattr(document, "BATCH_BYTES", batch_bytes)
    monkeypatch.setattr(document, "ROW_BYTES", row_bytes)
    rows = [{"number": at, "more": [{"number": 5}, {"number": at}] if at > 10 else "}, {"} for at in range(20)]
    tables = {"dma": rows, "semaphore_update": [], "instruction": rows[:11], "summary": [{"a": 1}]}
    found = Document(json.dumps(tables).encode(), {"dma": Row, "instruction": Row, "semaphore_update": Row})
    for name in ("dma", "instruction", "semaphore_update"):
        assert [row.number for row in found.columns(name, Row)] == [*range(len(tables[name]))]
    assert found.row("summary") == {"a": 1} and found.has("instruction") and not found.has("sensitivity")
    assert (found.columns("dma", Row) is found.columns("dma", Row)) == (in_one_pass or batch_bytes > 1000)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b'{"dma": [{"number": 1}, {"number": 2}]', "offset 0: Input data was truncated"),
        (b'{"dma": [{"number": 1}, {"number": 2}, ]}', "offset 39: JSON is malformed"),
        (b'{"dma": [{"number": 1}, {"number": 2}] "x": 1}', "offset 39: JSON is malformed"),
        (b'{"dma": [{"number": 1}, {"number": 2}]} 1', "offset 41: JSON is malformed"),
        (b'{"dma":1 {"number": 1}]}', "offset 9: JSON is malformed"),
        (b'{"d\0": [], "dma": [{"number": 1}]}', "offset 3: JSON is malformed"),
        (b'{{"dma": [{"number": 1}, {"number": 2}]}', "offset 1: JSON is malformed"),
        (b'{"dma": [{"number": 1}, {"number": 2}]{"x": 1}', "offset 38: JSON is malformed"),
    ],
)
def test_what_is_wrong_behind_a_table_that_was_read_is_said(data, said):
    assert said in message(Document, data, {"dma": Row})


def test_a_wrong_row_of_a_late_batch_has_its_number(monkeypatch):
    monkeypatch.setattr(document, "BATCH_BYTES", 1)
    rows = [{"number": 1}] * 7 + [{"number": "x"}]
    found = Document(json.dumps({"dma": rows}).encode(), {"dma": Row})
    said = message(found.columns, "dma", Row)
    assert said.endswith("Expected `int`, got `str` - at `$[7].number`")
