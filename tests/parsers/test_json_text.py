"""JSON as it is found in files."""

import json

import pytest

from neff_bench.parsers.errors import ParseError
from neff_bench.parsers.json_text import read_json
from neff_bench.parsers.kinds import describe_json, kind_of
from neff_bench.parsers.profile_json import read_summary

SUMMARY = json.dumps({"n_1": {"total_time": 5e-6}})
LOG = "2026-11-21 10:00:00 WARN {not json}\n[WARN] profile: old tool\n"


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf" + SUMMARY.encode(),
        SUMMARY.encode("utf-16"),
        b"\xfe\xff" + SUMMARY.encode("utf-16-be"),
        LOG.encode() + SUMMARY.encode(),
        SUMMARY.encode() + b"\nWARN: 3 records dropped\n",
        (LOG + json.dumps(json.loads(SUMMARY), indent=2) + "\r\n" + "INFO done\n").encode(),
        ("\ufeff" + LOG + SUMMARY).encode(),
        f"[{SUMMARY}]".encode(),
    ],
    ids=["mark", "utf-16", "utf-16-be", "log before", "log after", "log around", "mark and log", "list"],
)
def test_a_profile_is_read_whatever_stands_around_it(write, data):
    path = write("ntff.json", data)
    assert kind_of(path) == "json"
    assert read_summary(path).total_time_s == 5e-6
    assert describe_json(path).kind == "summary"


def test_offsets_in_errors_are_those_of_the_file(write):
    with pytest.raises(ParseError) as caught:
        read_summary(write("ntff.json", LOG.encode() + b'{"total_time": x}'))
    assert caught.value.offset == len(LOG) + 15


def test_text_that_only_begins_as_utf_16_is_an_error(write):
    with pytest.raises(ParseError, match="UTF-16"):
        read_summary(write("ntff.json", b"\xff\xfe{"))


def test_deep_nesting_is_refused_before_anything_recurses_into_it(write):
    with pytest.raises(ParseError, match="deep"):
        read_summary(write("ntff.json", b'{"total_time": 1, "x": ' + b"[" * 900 + b"]" * 900 + b"}"))


@pytest.mark.parametrize(
    "log",
    [
        'time="2026-08-10T00:00:00Z" level=info msg="done {rows: 12}"',
        "INFO[0012] done {rows: 12}",
        '{"level": "info", "msg": "done"}',
        "done {rows: 12} in 3 s",
    ],
)
def test_log_lines_with_braces_behind_the_json(log):
    text, _ = read_json(f'{{"n_1": {{"total_time": 1}}}}\n{log}\n\n'.encode())
    assert json.loads(bytes(text)) == {"n_1": {"total_time": 1}}


def test_a_second_document_is_no_log():
    two = b'{"total_time": 1}\n{"total_time": 2}'
    assert bytes(read_json(two)[0]) == two
