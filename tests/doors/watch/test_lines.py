"""The lines of a save, as the editors of docs/watch.md read them."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from neff_bench.doors.watch.changes import Change, Changes
from neff_bench.doors.watch.diagnostics import Diagnostic
from neff_bench.doors.watch.lines import as_json, as_text, begun
from neff_bench.doors.watch.session import State

DOCS = Path(__file__).parents[3] / "docs" / "watch.md"
ROW = {"case": "a.f", "total_time_us": 12.5, "total_time_low_us": 9.0, "total_time_high_us": 17.0, "check": "passed"}
FOUND = [
    Diagnostic("/home/me/a b.py", 15, "error", "wrong: 3 values differ"),
    Diagnostic("/home/me/c.py", 7, "warning", "is slow; use less", "NBLP103"),
]


def state(**changed):
    total = Changes("a.f", Change("total", 13.0, 12.5), [], [], [])
    known = {
        "save": 4, "at": "12:00:01", "busy": False, "broken": None, "diagnostics": FOUND, "numbered": 4, "good": 4, "last": 3, "pinned": None,
        "rows": [ROW], "since_last": [total], "since_pinned": [],
    }  # fmt: skip
    return State(**known | changed)


def test_a_save_is_its_diagnostics_a_line_for_each_case_and_its_end():
    assert as_text(state()).splitlines() == [
        "/home/me/a b.py:15: error: wrong: 3 values differ",
        "/home/me/c.py:7: warning: NBLP103: is slow; use less",
        "a.f: 12.50 us (9-17), -0.50, passed",
        "save 4 at 12:00:01: done",
    ]
    assert as_text(state(broken="no", diagnostics=[])) == "save 4 at 12:00:01: broken"
    assert json.loads(as_json(state(broken="no")))["rows"] == [] and "\n" not in as_json(state())


def test_the_problem_matcher_of_the_docs_finds_them():
    [task] = json.loads(re.search(r"```json\n(.*?)```", DOCS.read_text(), re.DOTALL)[1])["tasks"]
    matcher = task["problemMatcher"]
    pattern = matcher["pattern"]
    matches = [re.match(pattern["regexp"], line) for line in as_text(state()).splitlines()]
    parts = ("file", "line", "severity", "message")
    found = [tuple(match[pattern[name]] for name in parts) for match in matches if match]
    assert found[0] == ("/home/me/a b.py", "15", "error", "wrong: 3 values differ")
    assert found[1] == ("/home/me/c.py", "7", "warning", "is slow; use less")
    assert matches[1][pattern["code"]] == "NBLP103" and matches[2:] == [None, None]
    assert re.match(matcher["background"]["beginsPattern"], begun(state()))
    assert re.match(matcher["background"]["endsPattern"], as_text(state()).splitlines()[-1])


def test_the_error_format_of_the_docs_finds_them(tmp_path):
    vim = shutil.which("nvim") or shutil.which("vim")
    if vim is None:
        pytest.skip("neither nvim nor vim is here")
    form = re.search(r'efm = "(.*?)"', DOCS.read_text())[1]
    (tmp_path / "said").write_text(f"{begun(state())}\n{as_text(state())}\n")
    script = tmp_path / "script.vim"
    script.write_text(
        "let found = []\n"
        f"call setqflist([], 'r', {{'lines': readfile('{tmp_path}/said'), 'efm': '{form}'}})\n"
        "for one in getqflist()\n"
        "  call add(found, [bufname(one.bufnr), one.lnum, one.type, one.text])\n"
        "endfor\n"
        f"call writefile([json_encode(found)], '{tmp_path}/found')\n"
        "qall!\n"
    )
    subprocess.run([vim, "-u", "NONE", "-es", "-S", str(script)], timeout=60, cwd=tmp_path)
    assert json.loads((tmp_path / "found").read_text()) == [
        ["/home/me/a b.py", 15, "e", "wrong: 3 values differ"],
        ["/home/me/c.py", 7, "w", "NBLP103: is slow; use less"],
    ]
