"""show-session, as JSON and as a table."""

import json

import pytest

from neff_bench.parsers.describe import describe
from neff_bench.parsers.errors import ParseError
from neff_bench.parsers.kinds import kind_of
from neff_bench.parsers.session import read_session
from neff_bench.simulator.commands.show_session import session_text
from neff_bench.simulator.files.ntff import TraceHead


def test_cycles_are_picoseconds_and_the_slowest_core_counts():
    graphs = [{"NC": 4, "CycleCount": 45_256_596, "ErrorCount": 1, "New": {}}, {"NC": 5, "CycleCount": 13_776_645}]
    session = read_session(json.dumps({"Name": "x", "NeffNodes": [{"NodeInfo": {"Graphs": graphs}}]}).encode())
    assert session.total_time_s == 45.256596e-6
    assert [(core.core, core.error_count) for core in session.cores] == [(4, 1), (5, None)]
    assert session.error_count == 1


@pytest.mark.parametrize("data", [b'{"NeffNodes": []}', b'{"NeffNodes": [{"NodeInfo": {"Graphs": []}}]}'])
def test_no_core_means_that_nothing_was_executed(data):
    with pytest.raises(ParseError, match="nothing was executed"):
        read_session(data)


@pytest.mark.parametrize(
    "data", [b"{}", b"[]", b'{"NeffNodes": [{"NodeInfo": {"Graphs": [{"NC": 0}]}}]}', b'{"NeffNodes": 1e999}']
)
def test_other_json_is_refused(data):
    with pytest.raises(ParseError):
        read_session(data)


TABLE = b"""+---------+----------------+-----------+------+-------+----------+--------+--------+
| NODE ID | EXEC TIME (NS) | EXECUTOR  | NAME | TRACE |  CYCLES  | EVENTS | ERRORS |
+---------+----------------+-----------+------+-------+----------+--------+--------+
|       0 |              0 | ND 0 NC 4 | sg00 |   873 | 42002434 |    513 |      0 |
|         |                | ND 0 NC 5 | sg01 |   873 | 45256596 |    512 |      0 |
+---------+----------------+-----------+------+-------+----------+--------+--------+
"""


def test_the_table_says_what_the_json_says(tmp_path):
    session = read_session(TABLE)
    assert session.total_time_s == 45.256596e-6 and session.error_count == 0
    assert [(core.core, core.instruction_count, core.event_count) for core in session.cores] == [
        (4, 873, 513),
        (5, 873, 512),
    ]
    path = tmp_path / "session.txt"
    path.write_bytes(b"a line of a log\n" + TABLE)
    assert kind_of(path) == "json" and describe(path)["total_time_s"] == session.total_time_s


def test_a_table_with_a_row_that_is_none_is_refused():
    with pytest.raises(ParseError, match="without core or counts"):
        read_session(TABLE.replace(b"ND 0 NC 5", b"somewhere"))


def test_neuron_sim_prints_the_table_that_aws_prints():
    head = TraceHead(
        b"", "", "", False, 0, (4, 5), (42002434, 45256596), (873, 873), (513, 512), "file.neff", 0, memoryview(b"")
    )
    assert session_text(head).encode() == b"Model file.neff (simulated)\n" + TABLE
