"""show-session -j."""

import json

import pytest

from neff_bench.parsers.errors import ParseError
from neff_bench.parsers.session import read_session


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
