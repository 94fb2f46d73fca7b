"""A small share of bench/fuzz_files.py: mutated files of every kind, alone and in directories."""

import importlib
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"


@pytest.fixture
def fuzz(monkeypatch):
    """The module, where the processes that it starts find it too."""
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module("fuzz_files")


def test_mutated_files_cost_one_line_each(fuzz):
    (tally,) = fuzz.run(400, (5,), jobs=1)
    assert tally.faults == []
    assert tally.files.total() >= 400 and set(tally.files) >= {"neff", "ntff", "json", "hlo", "case", "run", "shapes"}
    assert tally.peak_bytes < fuzz.RSS_BYTES_MAX


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
