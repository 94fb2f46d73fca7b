"""The call of nrtpy, and what its times say."""

from dataclasses import replace

import msgspec
import pytest

from neff_bench.neffs.bundle import RankFiles
from neff_bench.stage2_profile.capture.nrtpy import (
    LIBRARIES,
    Times,
    arguments,
    environment,
    read_times,
    remarks,
    result_files,
    wrong_times,
)


def times(**changes):
    return Times(
        **{
            "nrtpy_version": "2.34",
            "requested_iterations": 2,
            "warmup_iterations": 5,
            "iterations": 2,
            "durations_ms": [1.0, 1.0],
            "mean_ms": 1.0,
            **changes,
        }
    )


@pytest.mark.parametrize(
    ("changes", "wrong", "said"),
    [
        ({}, None, []), ({"durations_ms": []}, "it timed no execution", []), ({"iterations": 3}, "it timed 3 device events in 2 executions", []), ({"iterations": 1}, None, ["nrtpy timed 1 of 2 executions"]),
        ({"std_dev_ms": 0.1}, None, []), ({"std_dev_ms": 0.105}, None, ["the standard deviation of nrtpy's times is 10 % of their mean"]), ({"mean_ms": 4.0, "std_dev_ms": 1.0}, None, ["the standard deviation of nrtpy's times is 25 % of their mean"]),
    ],
)  # fmt: skip
def test_times_may_be_wrong_or_noisy(changes, wrong, said):
    found = wrong_times(times(**changes))
    assert (found is None) == (wrong is None) and (wrong is None or found.startswith(wrong))
    if wrong is None:
        assert [remark.split(":")[0] for remark in remarks(times(**changes))] == said


def test_what_is_no_result_says_so():
    for data in (b"{", b"{}", b"\xff", msgspec.json.encode({"nrtpy_version": 1})):
        with pytest.raises(ValueError, match="benchmark.json is not what nrtpy_program.py writes"):
            read_times(data)
    assert read_times(msgspec.json.encode(times())) == times()


def test_the_call_names_inputs_of_each_rank_and_the_outputs(make_bundle, make_case):
    manifest = make_bundle().manifest
    alone = [
        "t",
        "--neff",
        "../../file.neff",
        "--warmup=3",
        "--iterations=4",
        "--input",
        "0",
        "x",
        "float32",
        "6",
        "../../inp-x-000.bin",
        "--output",
        "out",
    ]
    assert arguments(["t"], manifest, 7, 3) == alone
    second = RankFiles((replace(manifest.inputs[0], dtype="bfloat16", shape=(2, 3)),), ())
    manifest = make_bundle(make_case(ranks=2)).manifest
    several = arguments(["t"], replace(manifest, other_ranks=(second,)), 7, 3)
    assert "--ranks=2" in several and several[12:18] == ["--input", "1", "x", "uint16", "2x3", "../../inp-x-000.bin"]


def test_results_of_ranks_lie_in_their_folders_and_libraries_are_found():
    assert result_files(1) == ["benchmark.json"] and result_files(2) == [
        "output_worker_0/benchmark.json",
        "output_worker_1/benchmark.json",
    ]
    assert (
        environment({})["LD_LIBRARY_PATH"] == str(LIBRARIES)
        and environment({"LD_LIBRARY_PATH": "/a"})["LD_LIBRARY_PATH"] == f"{LIBRARIES}:/a"
    )


def test_times_of_a_system_trace_are_made_from_its_events():
    events = [
        {"event_type": "nc_exec_running", "phase": phase, "nc_idx": 0, "timestamp_ns": at, "tracking_id": 1, "data": {"exec_id": 1, "device_core_idx": 0, "nc_timestamp_ns": at}}
        for phase, at in (("start", 0), ("stop", 2_000_000))
    ]  # fmt: skip
    found = read_times(
        msgspec.json.encode(
            {"nrtpy_version": "2.34", "requested_iterations": 1, "warmup_iterations": 5, "events": events}
        )
    )
    assert (found.iterations, found.durations_ms, found.mean_ms, found.std_dev_ms) == (1, [2.0], 2.0, 0.0)
