"""`--tool nrtpy`: the real program in a process of its own, with a module nrtpy that has what AWS documents."""

import json
from pathlib import Path

import numpy as np
import pytest

from neff_bench.stage2_profile.capture.runs import read_run
from neff_bench.stage2_profile.compare.comparison import what_is_mixed

FAKE = Path(__file__).with_name("fake_nrtpy")


@pytest.fixture
def nrtpy(monkeypatch, tmp_path):
    monkeypatch.setenv("PYTHONPATH", str(FAKE))
    monkeypatch.setenv("NEFF_BENCH_LOCK_DIR", str(tmp_path / "locks"))


def row_of(done):
    (row,) = json.loads(done.stdout)
    return row


@pytest.fixture
def timed(profile_neffs, nrtpy):
    def go(*words):
        return profile_neffs("--tool", "nrtpy", "--format", "json", *words)

    return go


def test_times_without_a_trace_and_the_row_says_by_what(timed, make_bundle):
    bundle = make_bundle(total_time=2e-4)
    done = timed()
    assert done.exit_code == 0, done.stderr
    row = row_of(done)
    assert (row["status"], row["source"], row["tool"], row["check"]) == (
        "profiled",
        "measured",
        "nrtpy 2.34.10.0",
        "passed",
    )
    assert row["total_time_us"] == pytest.approx(200) and row["executions"] == 20
    assert row["execution_ci_low_us"] < row["total_time_us"] < row["execution_ci_high_us"]
    assert row["tensor_active_us"] is None
    (path,) = bundle.path.glob("profiles/*/")
    run = read_run(path)
    assert (run.warmup, run.num_exec, run.executions) == (5, 25, ())
    assert not list(path.glob("*.ntff"))
    assert row_of(timed("--parse-only")) == row


def test_warmup_and_executions_are_asked_for(timed, make_bundle):
    bundle = make_bundle()
    assert row_of(timed("--warmup", "2", "--num-exec", "9"))["executions"] == 7
    (result,) = bundle.path.glob("profiles/*/benchmark.json")
    said = json.loads(result.read_text())
    assert (said["warmup_iterations"], said["requested_iterations"]) == (2, 7)


def test_captures_are_repeated_for_an_interval_as_with_the_profiler(timed, make_bundle):
    make_bundle(total_time=2e-4)
    row = row_of(timed("--captures", "6"))
    assert (row["capture_count"], row["executions"], row["execution_ci_low_us"]) == (6, 120, None)
    assert row["total_time_ci_low_us"] == pytest.approx(200)


def test_wrong_outputs_are_seen(timed, make_bundle):
    make_bundle(out=np.arange(8) + 1)
    done = timed()
    assert done.exit_code == 1 and row_of(done)["check"] == "wrong"


@pytest.mark.parametrize(
    ("status", "says"),
    [("NRT_EXEC_OOB(1006)", "points outside of its tensor"), ("NRT_NEW(77)", "nrtpy.NrtError: NRT Error NRT_NEW(77)")],
)
def test_an_error_of_the_runtime_is_the_reason_of_the_row(timed, make_bundle, monkeypatch, status, says):
    """By the table of failures, else as nrtpy says it."""
    monkeypatch.setenv("FAKE_NRTPY", status)
    make_bundle()
    done = timed()
    assert done.exit_code == 1
    assert says in row_of(done)["reason"]


def test_a_neff_of_several_subgraphs_has_no_time_of_an_execution(timed, make_bundle, monkeypatch):
    monkeypatch.setenv("FAKE_NRTPY", "subgraphs")
    make_bundle()
    row = row_of(timed())
    assert row["status"] == "failed" and row["total_time_us"] is None
    assert "40 device events in 20 executions" in row["reason"]


def test_noisy_times_are_said(timed, make_bundle, monkeypatch):
    monkeypatch.setenv("FAKE_NRTPY", "noise")
    make_bundle()
    assert "raise --warmup" in row_of(timed())["warnings"][0]


def test_each_tool_keeps_its_own_run(timed, profile_neffs, make_bundle, tmp_path):
    make_bundle()
    traced = row_of(profile_neffs("--format", "json"))
    assert timed().exit_code == 0
    assert row_of(profile_neffs("--format", "json")) == traced
    assert "cached" in timed().stderr
    assert len((tmp_path / "calls").read_text()) == 1


def test_rows_of_the_profiler_and_of_nrtpy_are_not_compared_silently(timed, profile_neffs, make_bundle):
    make_bundle()
    one, other = row_of(profile_neffs("--format", "json")), row_of(timed())
    assert what_is_mixed(one, other) == "clock profile against execution"
    assert what_is_mixed(other, other) == ""


def test_without_nrtpy_the_reason_says_where_it_comes_from(profile_neffs, make_bundle, monkeypatch):
    monkeypatch.delenv("PYTHONPATH", raising=False)
    make_bundle()
    done = profile_neffs("--tool", "nrtpy", "--format", "json")
    assert done.exit_code == 1
    assert "NEFF_BENCH_NRTPY_PYTHON names its Python" in row_of(done)["reason"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--hot", "3"], "leaves no trace"),
        (["--view-only"], "nothing to view"),
        (["--profile-nth-exec", "2"], "is of the profiler"),
        (["--num-exec", "5", "--warmup", "5"], "no execution would be profiled"),
    ],
)
def test_what_nrtpy_cannot_do_is_a_wrong_call(profile_neffs, nrtpy, make_bundle, words, says):
    make_bundle()
    done = profile_neffs("--tool", "nrtpy", *words)
    assert done.exit_code == 2 and says in done.stderr


def test_a_simulated_neff_is_not_for_nrtpy(timed, make_bundle):
    make_bundle(toolchain="sim")
    assert "which nrtpy cannot run" in row_of(timed())["reason"]


def test_the_profiler_has_a_warm_up_too_and_its_traces_do_not_count(profile_neffs, make_bundle):
    bundle = make_bundle()
    done = profile_neffs("--warmup", "4", "--num-exec", "8", "--format", "json")
    row = row_of(done)
    assert row["executions"] == 2 and row["total_time_us"] == pytest.approx(107)  # executions 6 and 8
    assert sorted(path.name for path in bundle.path.glob("profiles/*/*.ntff")) == [
        "profile_exec_6.ntff",
        "profile_exec_8.ntff",
    ]
    assert "no execution would be profiled" in profile_neffs("--warmup", "8", "--num-exec", "8").stderr


TRACED = '''
import json

class SystemTraceSession:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def fetch_events_json(self):
        """20 executions on two cores, whose own clocks differ: 100 us each, of which the second core misses the first 10."""
        events = []
        for number in range(20):
            for core, begin, end in ((0, 0, 90_000), (1, 10_000, 100_000)):
                for phase, at in (("start", begin), ("stop", end)):
                    now = number * 500_000 + at
                    data = {"exec_id": number, "device_core_idx": core, "nc_timestamp_ns": now + core * 10**9}
                    events.append({"event_type": "nc_exec_running", "phase": phase, "nc_idx": 0, "timestamp_ns": now,
                                   "tracking_id": 2 * number + core, "data": data})
        return json.dumps({"events": [*events, {"event_type": "nrt_execute", "phase": "start"}]})
'''


def test_two_cores_are_paired_by_the_ids_of_the_system_trace(timed, make_bundle, monkeypatch, tmp_path):
    package = tmp_path / "traced" / "nrtpy"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text((FAKE / "nrtpy.py").read_text())
    (package / "_nrtpy.py").write_text(TRACED)
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    make_bundle()
    row = row_of(timed())
    assert (row["executions"], row["total_time_us"], row["check"]) == (20, 100.0, "passed")
