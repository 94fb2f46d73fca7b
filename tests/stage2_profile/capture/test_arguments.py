from __future__ import annotations

import dataclasses

import pytest
from msgspec import structs

from neff_bench.sdk.release import load
from neff_bench.sdk.words import FlagAbsent
from neff_bench.stage2_profile.capture.arguments import (
    CapturePlan,
    Trace,
    capture,
    compares,
    optional,
    saved_outputs,
    show_session,
    system_trace,
    traces,
    view,
    view_system_trace,
    without,
)

OLD = load("2.29").tools["neuron-profile"].commands
NEW = load("2.33").tools["neuron-explorer"].commands

HARNESS = CapturePlan(
    neff="file.neff",
    inputs=(("hidden_tensor", "inp-hidden_tensor-000.bin"), ("gate", "inp-gate-000.bin")),
    num_exec=10,
    profile_nth_exec=10,
)


def test_capture_is_the_call_of_the_nki_library_harness():
    assert (
        capture(["neuron-profile"], HARNESS, OLD["capture"])
        == (
            "neuron-profile capture --save-output --neff file.neff --num-exec=10 --profile-nth-exec=10 --save-nth-output=10 "
            "hidden_tensor inp-hidden_tensor-000.bin gate inp-gate-000.bin"
        ).split()
    )


def test_capture_with_aliased_inputs_writes_them_before_each_execution():
    plan = CapturePlan(neff="file.neff", inputs=(("x", "inp-x-000.bin"),), num_exec=2, profile_nth_exec=2, alias=True)
    assert (
        capture(["neuron-explorer"], plan, NEW["capture"])
        == (
            "neuron-explorer capture --save-output --neff file.neff --write-tensors-per-exec alias --num-exec=2 "
            "--profile-nth-exec=2 --save-nth-output=2 x inp-x-000.bin"
        ).split()
    )


def test_a_single_execution_asks_for_no_nth():
    plan = CapturePlan(neff="file.neff", inputs=(), num_exec=1, profile_nth_exec=1)
    assert (
        capture(["neuron-profile"], plan, OLD["capture"])
        == "neuron-profile capture --save-output --neff file.neff --num-exec=1".split()
    )


def test_a_release_that_lacks_a_flag_is_not_given_it():
    flags = {name: flag for name, flag in OLD["capture"].flags.items() if name != "--save-nth-output"}
    older = structs.replace(OLD["capture"], flags=flags)
    assert not any(word.startswith("--save-nth") for word in capture(["t"], HARNESS, older))
    del flags["--num-exec"]
    with pytest.raises(FlagAbsent, match="has no flag --num-exec"):
        capture(["t"], HARNESS, older)


def test_answers_to_failures_are_flags_before_the_inputs():
    plan = CapturePlan(
        neff="n",
        inputs=(("x", "f"),),
        num_exec=2,
        profile_nth_exec=2,
        single_io=True,
        dge_notifications=True,
        save_nth_output=False,
    )
    assert capture(["t"], plan, OLD["capture"])[-4:] == ["--single-io", "--enable-dge-notifs", "x", "f"]
    assert not any(word.startswith("--save-nth") for word in capture(["t"], plan, OLD["capture"]))


def test_tool_only_steps_are_the_calls_of_the_nki_library_harness():
    ntff = "profile_exec_10.ntff"
    assert (
        show_session(["neuron-profile"], ntff, OLD["show-session"])
        == f"neuron-profile show-session -s {ntff} --show-errors -j".split()
    )
    assert (
        view(["neuron-profile"], "file.neff", ntff, "summary-json", OLD["view"])
        == f"neuron-profile view -n file.neff -s {ntff} --output-format=summary-json".split()
    )
    assert (
        view(["neuron-profile"], "file.neff", ntff, "json", OLD["view"], "ntff_detailed.json")
        == f"neuron-profile view -n file.neff -s {ntff} --output-format=json --output-file=ntff_detailed.json".split()
    )
    assert (
        view(["neuron-explorer"], "file.neff", ntff, "parquet", NEW["view"], "tables")
        == f"neuron-explorer view -n file.neff -s {ntff} --output-format=parquet --output-file=tables --ingest-only".split()
    )


@pytest.mark.parametrize(
    ("name", "rank", "execution"),
    [
        ("profile.ntff", 0, 1),
        ("profile_exec_10.ntff", 0, 10),
        ("profile_rank_3.ntff", 3, 1),
        ("profile_rank_0_exec_2.ntff", 0, 2),
    ],
)
def test_trace_names(name, rank, execution):
    assert traces([name, "other.ntff", "profile.ntff.tmp", "out"]) == [Trace(rank, execution, name)]


def test_traces_come_in_the_order_of_their_numbers():
    files = ["profile_exec_10.ntff", "profile_exec_2.ntff", "profile.ntff"]
    assert [trace.execution for trace in traces(files)] == [1, 2, 10]


def test_the_last_saved_file_of_an_output_counts():
    log = 'x\nsaved output "out" as "out"\nsaved output "k_out" as "k_out"\nsaved output "out" as "out.2"\n'
    assert saved_outputs(log) == {"out": "out.2", "k_out": "k_out"}


RANKS = CapturePlan("n", (("x", "f"),), 2, 2, compare_executions=True, ranks=4, multi_input="i.json")


def test_ranks_are_told_their_number_and_read_their_inputs_from_a_file():
    words = capture(["t"], RANKS, OLD["capture"])
    assert words[-3:] == ["--collectives-workers-per-node=4", "--collectives-profile-id=all", "--multi-input=i.json"]
    zeros = capture(["t"], changed(RANKS, multi_input=None), OLD["capture"])
    assert zeros[-4:] == ["--collectives-workers-per-node=4", "--collectives-profile-id=all", "x", "f"]
    alone = capture(["t"], changed(RANKS, ranks=1, multi_input=None), OLD["capture"])
    assert not any("collectives" in word for word in alone) and alone[-2:] == ["x", "f"]


def changed(plan, **changes):
    return dataclasses.replace(plan, **changes)


def test_a_system_trace_asks_for_twenty_executions_of_what_runs():
    words = system_trace(["t"], changed(RANKS, multi_input=None), NEW["capture"])
    assert words[:2] == ["t", "capture"] and words[-2:] == ["x", "f"]
    assert "--num-exec=20" in words and any(word.startswith("--systrace-event-filter") for word in words)
    assert any("workers-per-node" in word for word in words)
    single = system_trace(["t"], changed(RANKS, ranks=1), NEW["capture"])
    assert single[-1].startswith("--systrace") and not any("workers" in word for word in single)


def test_outputs_of_executions_are_compared_where_the_tool_can_and_each_has_its_own():
    knows_it = next(known["capture"] for known in (NEW, OLD) if "--check-output-determinism" in known["capture"].flags)
    assert compares(RANKS, knows_it) and "--check-output-determinism" in capture(["t"], RANKS, knows_it)
    assert not compares(changed(RANKS, single_io=True), knows_it)
    assert not compares(changed(RANKS, compare_executions=False), knows_it)


def test_an_optional_flag_is_dropped_with_what_makes_no_sense_without_it():
    plan = changed(RANKS, alias=True)
    assert optional(plan) == ("--save-nth-output", "--write-tensors-per-exec", "--check-output-determinism")
    assert optional(changed(plan, alias=False, save_nth_output=False)) == ("--check-output-determinism",)
    assert without(plan, "--save-nth-output", True) == changed(plan, save_nth_output=False)
    assert without(plan, "--write-tensors-per-exec", True) == changed(plan, alias=False, compare_executions=False)
    assert without(plan, "--write-tensors-per-exec", False) == changed(plan, alias=False)


def test_a_system_trace_is_viewed_without_the_device_profile():
    words = view_system_trace(["t"], "folder", "json", NEW["view"], "out")
    assert words[:2] == ["t", "view"] and "--ignore-device-profile" in words
    assert {"folder", "out"} <= {word.split("=")[-1] for word in words}


def test_two_ranks_are_several():
    for words in (
        capture(["t"], changed(RANKS, ranks=2), OLD["capture"]),
        system_trace(["t"], changed(RANKS, ranks=2), NEW["capture"]),
    ):
        assert "--collectives-workers-per-node=2" in words
    assert not any("collectives" in word for word in system_trace(["t"], changed(RANKS, ranks=1), NEW["capture"]))
    assert system_trace(["t"], RANKS, NEW["capture"])[-1] == f"--collectives-workers-per-node={RANKS.ranks}"
