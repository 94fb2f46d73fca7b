"""The timeline of a whole-profile JSON, with and without what depends on what."""

import json

import pytest

from neff_bench.parsers import document
from neff_bench.parsers.errors import ParseError
from neff_bench.parsers.event_columns import columns_of, links
from neff_bench.parsers.event_rows import Dependence, LinkedInstructionRow, Predecessor
from neff_bench.parsers.event_tables import read_timeline


def write(path):
    tables = {
        "summary": [{"total_time": 1e-6}],
        "instruction_usage": [{"timestamp": 5, "type": "sb", "usage_avg": 0.25, "subgraph": "sg00"}],
        "instruction": [
            {"timestamp": 1, "duration": 2, "subgroup": "Tensor", "id": 7},
            {"timestamp": 4, "duration": 2, "subgroup": "Vector", "id": 9,
             "predecessors": [{"id": 7, "type": "FLOW_DEPENDENCE"}, {"id": 3, "type": "A_NEW_ONE"}]},
        ],
        "dma": [{"timestamp": 1, "duration": 2, "trigger": 9}],
    }  # fmt: skip
    path.write_text(json.dumps(tables))
    return path


def test_a_linked_timeline_tells_what_depends_on_what(tmp_path):
    timeline = read_timeline(write(tmp_path / "x.json"), linked=True)
    links = [(one.id, one.type) for one in timeline.instructions[1].predecessors]
    assert links == [(7, Dependence.FLOW), (3, Dependence.OTHER)]
    assert timeline.dma[0].trigger == 9
    assert [(use.type, use.usage_avg) for use in timeline.usage] == [("sb", 0.25)]


def test_a_plain_timeline_does_without(tmp_path):
    timeline = read_timeline(write(tmp_path / "x.json"))
    assert not isinstance(timeline.instructions[0], LinkedInstructionRow) and timeline.usage == []


def test_rows_as_columns_are_the_same_rows():
    rows = [
        LinkedInstructionRow(10, 5.5, 1, "Tensor", "sg00", "MATMUL", 3, "dst=a", id=7, nki_call_stack=("k.py:1",)),
        LinkedInstructionRow(20, 5, 0, "Vector", "sg00", "COPY", id=8, nki_source_location="k.py:2",
                             predecessors=[Predecessor(7, Dependence.FLOW), Predecessor(5, Dependence.ANTI)]),
    ]  # fmt: skip
    held = columns_of(LinkedInstructionRow, [rows[:1], [], rows[1:]])
    assert [*held] == rows and [held[at] for at in range(2)] == rows
    assert [one.tolist() for one in links(held)] == [one.tolist() for one in links(rows)]
    assert "hlo_name" not in held.columns and columns_of(LinkedInstructionRow, []) == []


@pytest.mark.parametrize("text", ["plain", 'a}, {"timestamp": 1, "x', "}]}, {"])
def test_rows_are_whole_wherever_a_batch_could_end(tmp_path, monkeypatch, text):
    monkeypatch.setattr(document, "BATCH_BYTES", 1)
    row = {"timestamp": 7, "operands": text, "predecessors": [{"id": 1}, {"timestamp": 3, "id": 2}], "id": 5}
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"summary": [{"total_time": 1e-6}], "instruction": [row] * 4, "dma": []}))
    found = read_timeline(path, linked=True).instructions
    assert [(one.operands, [two.id for two in one.predecessors], one.id) for one in found] == [(text, [1, 2], 5)] * 4


def test_an_error_in_a_later_batch_names_the_row_of_the_table(tmp_path, monkeypatch):
    monkeypatch.setattr(document, "BATCH_BYTES", 1)
    path = tmp_path / "x.json"
    path.write_text('{"summary": [{"total_time": 1}], "instruction": [{"pc": 1}, {"pc": 2}, {"pc": "no"}]}')
    with pytest.raises(ParseError, match=r"Expected `int`, got `str` - at `\$\[2\].pc`") as caught:
        read_timeline(path, linked=True)
    assert caught.value.offset == path.read_text().index('[{"pc": 1}')


def test_a_file_without_a_timeline_says_what_it_is(files, write):
    path = write("a.neff", files.neff_of(files.neff_members()))
    with pytest.raises(ParseError) as caught:
        read_timeline(path)
    said = "a neff file has no timeline; expected an NTFF, a whole-profile JSON or a Parquet profile"
    assert str(caught.value) == f"{path}: {said}"
