"""System traces, in the forms that AWS documents and public programs read."""

import json

import pytest
from click.testing import CliRunner

from neff_bench.parsers.errors import ParseError
from neff_bench.parsers.system_trace import TABLE, UNSEEN, read_system_trace
from neff_bench.stage2_profile.cli import profile


def explorer(model, start, duration, execution, core=4, lnc=0):
    return {
        "name": "nc_exec_running",
        "timestamp": start,
        "duration": duration,
        "exec_id": execution,
        "device_core_idx": core,
        "lnc_idx": lnc,
        "process_id": "2",
        "model_name": model,
    }


def told(trace):
    return {calls.neff: (calls.durations_us, calls.gaps_us) for calls in trace.calls}


EVENTS = [
    explorer("/tmp/a/attention.neff", 1_000_000, 30_000, 1),
    explorer("/tmp/a/attention.neff", 1_002_000, 30_000, 1, core=5),
    {"name": "nrt_execute", "timestamp": 990_000, "duration": 60_000},
    explorer("mlp.neff", 1_042_000, 8_000, 2),
    explorer("mlp.neff", 1_000_000, 8_000, 7, lnc=1),
    explorer("/tmp/a/attention.neff", 1_220_000, 30_000, 3),
]


def test_two_cores_of_an_execution_are_one_and_gaps_lie_between_those_of_a_core(tmp_path):
    path = tmp_path / "system_profile.json"
    path.write_text(
        json.dumps({"trace_events": EVENTS, "warnings": [{"message": "Warning: 12 trace events were dropped"}]})
    )
    trace = read_system_trace(path)
    assert told(trace) == {"attention.neff": ((32.0, 30.0), (170.0,)), "mlp.neff": ((8.0, 8.0), (10.0,))}
    assert (trace.dropped, trace.unfinished) == (12, 0)
    assert trace.remarks == ("12 events were dropped while it was captured", UNSEEN)


def test_events_of_nrtpy_are_paired_by_their_ids_on_the_clock_that_cores_share(tmp_path):
    def event(phase, tracking, at, core, execution=1):
        data = {"exec_id": execution, "device_core_idx": core, "nc_timestamp_ns": at + 5_000_000 * core}
        return {
            "event_type": "nc_exec_running",
            "phase": phase,
            "tracking_id": tracking,
            "nc_idx": 0,
            "timestamp_ns": at,
            "data": data,
        }

    events = [
        event("start", 1, 1_000, 0),
        event("start", 2, 1_500, 1),
        event("stop", 2, 9_000, 1),
        event("stop", 1, 8_000, 0),
    ]
    path = tmp_path / "events.json"
    path.write_text(json.dumps({"events": [*events, event("start", 3, 20_000, 0, execution=2)]}))
    trace = read_system_trace(path)
    assert told(trace) == {"unknown": ((8.0,), ())}
    assert trace.unfinished == 1


def test_a_chrome_trace_counts_in_microseconds(tmp_path):
    spans = [
        {"ph": "X", "name": "nc_exec_running", "ts": at, "dur": 5.5, "pid": 1, "args": {"model_name": "m"}}
        for at in (10, 20)
    ]
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": [{"ph": "X", "name": "aten::mm", "ts": 1, "dur": 2}, *spans]}))
    assert told(read_system_trace(path)) == {"m": ((5.5, 5.5), (4.5,))}


def test_the_table_of_events(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    extra = json.dumps({"model_name": "m.neff", "exec_id": 1})
    row = {"id": 1, "name": "nc_exec_running", "start_ts": 1_000, "end_ts": 3_000, "process_id": 1, "nc_idx": 0}
    pq.write_table(pa.Table.from_pylist([{**row, "extra_attributes_json": extra}]), tmp_path / TABLE)
    assert told(read_system_trace(tmp_path / TABLE)) == {"m.neff": ((2.0,), ())}


@pytest.mark.parametrize("event", [{}, {"timestamp": 1, "duration": -5}, {"timestamp": "now", "duration": 1}])
def test_an_event_of_another_form_is_one_line(tmp_path, event):
    path = tmp_path / "events.json"
    path.write_text(json.dumps({"trace_events": [{"name": "nc_exec_running", **event}]}))
    with pytest.raises(ParseError, match="is not as AWS documents it"):
        read_system_trace(path)


def test_a_directory_with_a_system_trace_has_a_row_for_each_neff(tmp_path):
    (tmp_path / "system_profile.json").write_text(json.dumps({"trace_events": EVENTS}))
    (tmp_path / "unrelated.json").write_text(json.dumps({"traceEvents": [{"name": "aten::mm"}]}))
    done = CliRunner().invoke(profile, [str(tmp_path), "--format", "json"])
    rows = {row["case"]: row for row in json.loads(done.stdout)}
    assert list(rows) == ["system_profile.json/attention.neff", "system_profile.json/mlp.neff"]
    row = rows["system_profile.json/attention.neff"]
    assert (row["executions"], row["total_time_us"], row["gap_us"]) == (2, 31.0, 170.0)
    assert any(warning.startswith("layout not seen") for warning in row["warnings"])
