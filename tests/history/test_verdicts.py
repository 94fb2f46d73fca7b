"""Which way a change goes, which series are exact, and what is kept of a row."""

import platform

import pytest

from neff_bench.history.changes import Change
from neff_bench.history.record import At, kept, named
from neff_bench.history.verdicts import direction

ROW = {"case": "c", "status": "profiled", "source": "measured", "tool": "t 1", "model": "m", "total_time_us": 3.0}


@pytest.mark.parametrize(
    ("metric", "before", "after", "way"),
    [
        ("total_time_us", 2.0, 1.0, "better"),
        ("total_time_us", 1.0, 2.0, "worse"),
        ("mfu_percent", 1.0, 2.0, "better"),
        ("mfu_percent", 2.0, 1.0, "worse"),
        ("model_flops", 1.0, 2.0, "changed"),
        ("a metric of another version", 1.0, 2.0, "changed"),
    ],
)
def test_a_change_goes_the_way_that_its_metric_says(metric, before, after, way):
    assert direction(metric, Change(1, before, after)) == way


def test_a_named_commit_has_the_date_that_was_given():
    assert named("abc", "2026-01-02") == At("abc", "2026-01-02T00:00:00+00:00", "")


@pytest.mark.parametrize(
    ("source", "machine", "made_by", "where"),
    [
        ("simulated", "mine", "m", ""),
        ("measured", "mine", "t 1", "mine"),
        ("measured", None, "t 1", f"{platform.system()} {platform.machine()}"),
    ],
)
def test_only_a_measured_row_has_a_machine(source, machine, made_by, where):
    [(key, _, values, _)] = kept([{**ROW, "source": source}], machine)
    assert (key.made_by, key.machine, values["total_time_us"]) == (made_by, where, 3.0)


def test_a_row_without_a_profile_keeps_no_value():
    [(key, _, values, said)] = kept([{**ROW, "status": "failed"}], None)
    assert (key.made_by, values, said["status"]) == ("", {}, "failed")
