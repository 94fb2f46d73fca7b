"""bench/soak_profile.py in small, with the fake profiler."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path

import pytest

SOAK = Path(__file__).parents[2] / "bench" / "soak_profile.py"
FAULTS = [
    "busy",
    "device",
    "memory",
    "nan",
    "crash_before",
    "crash_after",
    "hang",
    "partial",
    "empty",
    "garbage",
    "driver",
]


@pytest.fixture(scope="module")
def soak_profile():
    spec = importlib.util.spec_from_file_location("soak_profile", SOAK)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_bad_day_leaves_results_or_reasons_and_nothing_else(
    soak_profile, make_bundle, make_case, store, fake_on_path
):
    for size in range(1, 23):
        make_bundle(make_case(dims=(("M", size),), lnc=1 + size % 2))
    plan = [fault for name in FAULTS for fault in ("none", "none", name)]
    bad = {**os.environ, "FAKE_PLAN": json.dumps(plan), "FAKE_CYCLE": "1"}
    found = soak_profile.soak(store, bad, ["--timeout", "1"], kills=4)
    assert found["problems"] == []
    assert found["bundles"] == 22
    good = {**os.environ, "FAKE_PLAN": '["none"]'}
    rerun = soak_profile.finish(store, good)
    assert rerun["problems"] == []
    assert soak_profile.finish(store, good) == {"captured": 0, "problems": []}
