"""The options of profile-neffs as they travel."""

import pickle
from pathlib import Path

from neff_bench.stage2_profile.options import Options
from neff_bench.system.shard import Shard


def test_another_host_gets_what_was_asked_and_nothing_of_this_process(monkeypatch):
    monkeypatch.setenv("ONLY_HERE", "1")
    asked = Options(directory=Path("store"), num_exec=5, shard=Shard(1, 2), detail=True)
    asked.stop.set()
    monkeypatch.delenv("ONLY_HERE")
    there = pickle.loads(pickle.dumps(asked))
    same = ("directory", "num_exec", "shard", "detail", "executions")
    assert [getattr(there, name) for name in same] == [getattr(asked, name) for name in same]
    assert "ONLY_HERE" in asked.environ and "ONLY_HERE" not in there.environ
    assert not there.stop.is_set()
