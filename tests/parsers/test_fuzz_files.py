"""A small share of bench/fuzz_files.py: mutated files of every kind, alone and in directories."""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"


@pytest.fixture
def fuzz(monkeypatch):
    """The module, where the processes that it starts find it too."""
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module("fuzz_files")


def test_mutated_files_cost_one_line_each(fuzz):
    """In a process of its own: what other tests have loaded is not what reading costs."""
    program = (
        "import json, fuzz_files\n"
        "(tally,) = fuzz_files.run(400, (5,), jobs=1)\n"
        "print(json.dumps([tally.faults, dict(tally.files), tally.peak_bytes]))\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(BENCH), str(BENCH.parent)))}
    words = [sys.executable, "-c", program]
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=environment)
    faults, files, peak_bytes = json.loads(done.stdout)
    assert faults == []
    assert sum(files.values()) >= 400 and set(files) >= {"neff", "ntff", "json", "hlo", "case", "run", "shapes"}
    assert peak_bytes < fuzz.RSS_BYTES_MAX


def test_what_is_wrong_is_found(fuzz, tmp_path, monkeypatch):
    """A fuzzer that cannot find anything proves nothing."""
    tally = fuzz.Tally()

    def broken(path):
        raise IndexError("list index out of range")

    def slow(path):
        while True:
            pass

    monkeypatch.setattr(fuzz, "CPU_S_MAX", 0.05)
    fuzz.attempt(broken, tmp_path, "broken", tally)
    fuzz.attempt(slow, tmp_path, "slow", tally)
    assert [fault.split(":")[1].split()[0] for fault in tally.faults] == ["IndexError", "more"]
