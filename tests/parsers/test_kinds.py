"""What a path holds is told by its content."""

import json

import pytest

from neff_bench.parsers.errors import ParseError
from neff_bench.parsers.kinds import describe_json, kind_of


def test_content_counts_more_than_the_name(files, write):
    assert kind_of(write("a.bin", files.neff_of(files.neff_members()))) == "neff"
    assert kind_of(write("b.neff", files.ntff_of())) == "neff"
    assert kind_of(write("b.bin", files.ntff_of())) == "ntff"
    assert kind_of(write("c", b' \n{"a": 1}')) == "json"
    assert kind_of(write("d.ntff", b"\x81 unknown version")) == "ntff"


def test_a_parquet_directory_is_a_profile(write, tmp_path):
    with pytest.raises(ParseError, match="a directory"):
        kind_of(tmp_path)
    write("Summary.parquet", b"")
    assert kind_of(tmp_path) == "parquet"


def test_anything_else_is_refused(write):
    with pytest.raises(ParseError, match="neither a NEFF"):
        kind_of(write("x", b"\x7fELF" + bytes(100)))


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ({"n_00": {"total_time": 1}}, "summary"),
        ({"summary": [{"total_time": 1}], "instruction": []}, "profile"),
        ([{"total_time": 1}], "summary"),
        ({"NeffNodes": [{"NodeInfo": {"Graphs": [{"NC": 0, "CycleCount": 10**12}]}}]}, "session"),
    ],
)
def test_kinds_of_json_and_their_duration(write, content, kind):
    found = describe_json(write("x.json", json.dumps(content).encode()))
    assert (found.kind, found.total_time_s) == (kind, 1.0)


@pytest.mark.parametrize("content", [{}, {"name": "case"}, {"kernel": "mlp", "dims": {}}])
def test_other_json_is_none(write, content):
    assert describe_json(write("x.json", json.dumps(content).encode())) is None
