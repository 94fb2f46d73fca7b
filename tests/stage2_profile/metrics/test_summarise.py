"""What a run says of its executions."""

import json
from dataclasses import replace
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest

from neff_bench.neffs.bundle import RankFiles
from neff_bench.stage2_profile.capture import runs
from neff_bench.stage2_profile.capture.nrtpy import Times
from neff_bench.stage2_profile.metrics.summarise import (
    UNVERIFIED,
    _inputs_rewritten,
    _numbered,
    _single_io,
    _traced,
    failed_row,
    is_complete,
    missing_output,
    reproduce,
    run_row,
    with_verdict,
    without_damage,
)
from tests.stage2_profile.capture.test_runs import RUN


def run(*commands, num_exec=2, tool="neuron-profile", executions=()):
    said = tuple(SimpleNamespace(step=step, argv=argv.split()) for step, argv in commands)
    found = tuple(SimpleNamespace(execution=number, summary=summary) for number, summary in executions)
    return SimpleNamespace(commands=said, num_exec=num_exec, tool=tool, executions=found)


ALIAS = "capture --write-tensors-per-exec alias"


@pytest.mark.parametrize(
    ("record", "rewritten"),
    [
        (run(), False), (run(num_exec=1), True), (run(tool=runs.UNTRACED), True), (run(("capture", ALIAS)), True),
        (run(("view", ALIAS)), False), (run(("capture", ALIAS), ("capture", "capture")), False),
        (run(("capture", "capture"), ("capture", ALIAS), ("view", "view")), True),
    ],
)  # fmt: skip
def test_inputs_are_as_they_were_where_the_last_capture_wrote_them_again(record, rewritten):
    assert _inputs_rewritten(record) == rewritten


def test_one_buffer_for_all_tensors_is_asked_for_by_a_capture():
    assert _single_io(run(("capture", "capture --single-io"))) and not _single_io(run(("view", "view --single-io")))


@pytest.mark.parametrize(
    ("executions", "numbers"),
    [
        (((4, "a"), (2, "b")), [2, 4]), (((4, "a"), (4, "b"), (2, None)), [2, 3]), ((), [2, 3]), (((4, None), (2, "b")), [2, 3]),
    ],
)  # fmt: skip
def test_summaries_have_the_numbers_of_their_executions_else_from_the_second_on(executions, numbers):
    assert [number for number, _ in _numbered(run(executions=executions), ["x", "y"])] == numbers


@pytest.fixture
def viewed(make_bundle, make_case):
    """A bundle with one run: for each (rank, execution, total in seconds; None for a trace that was not viewed) an execution, and good outputs."""

    def make(*executions, out=range(8), bundle=None, number_of_ranks=1, keys=None, more=(), **changes):
        bundle = bundle or make_bundle(make_case(ranks=number_of_ranks))
        with runs.locked(bundle.path):
            work = runs.new_work(bundle.path)
            found = []
            for number, (rank, execution, total) in enumerate(executions, 1):
                file = None if total is None else f"summary-{number}.json"
                if file:
                    (work / file).write_text(json.dumps({"summary": [{"total_time": total, **(keys or {})}]}))
                (work / f"{number}.ntff").write_bytes(b"trace")
                found.append(runs.Execution(rank=rank, execution=execution, ntff=f"{number}.ntff", summary=file))
            (work / "out").write_bytes(np.asarray(out, np.float32).tobytes())
            for name, data in more:
                (work / name).write_bytes(data)
            fields = {"outputs": {"out": "out"}, "executions": tuple(found), "neff_sha256": bundle.manifest.neff_sha256}
            return bundle, *runs.publish(work, msgspec.structs.replace(RUN, **{**fields, **changes}))

    return make


ONE = (0, 2, 1e-4)


def test_a_viewed_run_is_a_row_with_its_numbers_and_its_check(viewed):
    bundle, path, run = viewed(ONE)
    row = run_row(bundle, path, run)
    assert (row.case, row.status, row.source, row.check, row.clock) == (
        bundle.name,
        "profiled",
        "measured",
        "passed",
        "profile",
    )
    assert (row.total_time_us, row.execution_time_us, row.run, row.tool) == (100.0, None, "1", "neuron-profile 2.29")
    assert (row.model, row.time_error, row.reason, row.warnings, row.max_abs_error) == (None, None, None, (), 0.0)
    assert (row.kernel, row.lnc, row.model_flops, row.mfu_peak_tflops is not None) == ("matmul", 1, 1_000_000, True)


@pytest.mark.parametrize(
    ("kind", "keys", "source", "model"),
    [("sim", {}, "simulated", None), ("neuron", {"is_simulation": True}, "simulated", None), ("sim", {"is_simulation": True, "simulator_model": "m"}, "simulated", "m"), ("neuron", {"is_simulation": False}, "measured", None)],
)  # fmt: skip
def test_a_run_is_simulated_where_its_tool_or_its_summary_says_so(viewed, kind, keys, source, model):
    row = run_row(*viewed(ONE, kind=kind, keys=keys))
    assert (row.source, row.model) == (source, model)


def test_a_captured_run_has_no_numbers_yet_and_is_no_failure(viewed):
    row = run_row(*viewed((0, 2, None), status="captured"))
    assert (row.status, row.source, row.total_time_us, row.model_flops, row.check) == (
        "captured",
        "measured",
        None,
        1_000_000,
        "passed",
    )
    simulated = run_row(*viewed((0, 2, None), status="captured", kind="sim"))
    assert (simulated.source, simulated.model) == ("simulated", None)


@pytest.mark.parametrize(
    ("executions", "changes", "says"),
    [
        ((), {}, "the profile has no execution; profile it again with --force"), ((ONE,), {"status": "failed", "reason": "it  broke"}, "it broke"),
        (((0, 2, None),), {"status": "failed"}, "the profile has no execution; profile it again with --force"),
    ],
)  # fmt: skip
def test_a_run_without_numbers_says_why(viewed, executions, changes, says):
    row = run_row(*viewed(*executions, **changes))
    assert (row.status, row.reason, row.run, row.tool) == ("failed", says, "1", "neuron-profile 2.29")


def test_damage_is_the_reason_of_the_row(viewed):
    bundle, path, run = viewed(ONE)
    (path / "summary-1.json").write_text("{")
    assert (
        run_row(bundle, path, run).reason
        == "profiles/1: summary-1.json was changed after it was written; profile it again with --force"
    )
    old = msgspec.structs.replace(run, schema=1)
    reason = run_row(bundle, path, old).reason
    assert reason.startswith("profiles/1: summary-1.json") and reason.endswith("; profile it again with --force")


def test_warnings_are_those_of_the_build_the_capture_and_what_was_not_verified(viewed, make_bundle):
    bundle = make_bundle()
    bundle = replace(bundle, manifest=replace(bundle.manifest, warnings=("built",)))
    assert run_row(*viewed(ONE, bundle=bundle, warnings=("captured",))).warnings == ("built", "captured")
    assert run_row(*viewed(ONE, bundle=bundle, schema=1)).warnings == ("built", UNVERIFIED)
    assert run_row(*viewed(ONE, bundle=replace(bundle, verified=False))).warnings == ("built", UNVERIFIED)


def test_ranks_have_rows_of_their_own_and_the_slowest_is_that_of_the_case(viewed):
    bundle, path, run = viewed(
        (0, 2, 1e-4), (1, 2, 3e-4), number_of_ranks=2, other_ranks=(runs.RankFiles({"out": "out"}),), warnings=("w",)
    )
    row = run_row(bundle, path, run)
    assert (row.case, row.rank, row.ranks, row.slowest_rank, row.total_time_us, row.warnings) == (
        bundle.name,
        None,
        2,
        1,
        300.0,
        ("w",),
    )
    assert [(each.case, each.rank, each.total_time_us, each.slowest_rank, each.warnings) for each in row.by_rank] == [
        (f"{bundle.name}.rank0", 0, 100.0, 1, ()), (f"{bundle.name}.rank1", 1, 300.0, 1, ()),
    ]  # fmt: skip
    failed = run_row(*viewed((0, 2, 1e-4), number_of_ranks=2, status="failed", reason="x", bundle=bundle))
    assert failed.by_rank == () and failed.slowest_rank is None
    captured = run_row(*viewed((0, 2, None), (1, 2, None), number_of_ranks=2, status="captured", bundle=bundle))
    assert (captured.slowest_rank, len(captured.by_rank)) == (None, 2)


def test_each_rank_has_the_verdict_on_its_own_outputs(viewed, make_bundle, make_case):
    bundle = make_bundle(make_case(ranks=2))
    second = RankFiles(bundle.manifest.inputs, bundle.manifest.outputs)
    bundle = replace(bundle, manifest=replace(bundle.manifest, other_ranks=(second,)))
    wrong, ranks = np.full(8, 9, np.float32).tobytes(), (runs.RankFiles({"out": "other"}),)
    bundle, path, run = viewed((0, 2, 1e-4), (1, 2, 1e-4), bundle=bundle, more=[("other", wrong)], other_ranks=ranks)
    row = run_row(bundle, path, run)
    assert (row.check, [each.check for each in row.by_rank]) == (
        "wrong",
        ["passed", "wrong"],
    ) and row.reason.startswith("rank 1: ")


def test_a_series_has_the_median_of_its_captures(viewed):
    bundle, *_ = viewed((0, 2, 1e-4), series="1")
    viewed((0, 2, 2e-4), series="1", bundle=bundle)
    row = run_row(*viewed((0, 2, 6e-4), series="1", bundle=bundle))
    assert (row.total_time_us, row.capture_count, row.executions) == (200.0, 3, 3)
    alone = run_row(*viewed((0, 2, 6e-4), bundle=bundle))
    assert (alone.total_time_us, alone.capture_count) == (600.0, None)


def test_nrtpy_tells_the_time_of_one_launch(viewed):
    times = msgspec.json.encode(Times("2.34", 2, 5, iterations=2, durations_ms=[0.1, 0.3]))
    row = run_row(*viewed(tool="nrtpy", timing="t.json", more=[("t.json", times)]))
    assert (row.clock, row.total_time_us, row.execution_time_us, row.executions) == (
        "execution",
        pytest.approx(200.0),
        pytest.approx(200.0),
        2,
    )


def test_figures_that_cannot_be_make_a_row_suspect_and_are_shown(viewed):
    bundle, path, run = viewed(ONE, (0, 4, 9e-4))
    row = run_row(bundle, path, run)
    assert (row.check, row.status) == ("suspect", "profiled") and "execution 4 took 0.0009 s" in row.reason
    other = msgspec.structs.replace(run, executions=(msgspec.structs.replace(run.executions[0], traced_s=5e-4),))
    assert "the trace of execution 2 says 0.0005 s" in run_row(bundle, path, other).reason


@pytest.mark.parametrize(
    ("commands", "writes_inputs", "check", "says"),
    [
        (("capture --single-io",), False, "unchecked", "captured with --single-io: the outputs are invalid"), (("capture",), True, "unchecked", "the kernel writes into its inputs"),
        (("capture --write-tensors-per-exec alias",), True, "passed", None), (("capture",), False, "passed", None),
    ],
)  # fmt: skip
def test_outputs_that_mean_nothing_are_not_checked(viewed, make_bundle, commands, writes_inputs, check, says):
    bundle = make_bundle()
    if writes_inputs:
        inputs = (replace(bundle.manifest.inputs[0], name="out"),)
        bundle = replace(bundle, manifest=replace(bundle.manifest, inputs=inputs))
    row = run_row(*viewed(ONE, bundle=bundle, commands=tuple(map(command, commands))))
    assert row.check == check and (row.reason is None if says is None else row.reason.startswith(says))


def command(argv, step="capture", **environment):
    return runs.Command(
        step=step, argv=tuple(argv.split()), environment=environment, exit_code=0, timed_out=False, seconds=1.0, log="l"
    )


def test_a_verdict_is_made_once_and_kept(viewed):
    bundle, path, run = viewed(ONE)
    kept = with_verdict(bundle, path, run)
    assert kept.checked.check == "passed" and runs.read_run(path) == kept and with_verdict(bundle, path, kept) is kept
    assert is_complete(bundle, kept) and not is_complete(bundle, run)
    for changes in ({"status": "failed"}, {"commands": (command("capture --single-io"),)}, {"schema": 1}):
        other = msgspec.structs.replace(run, **changes)
        assert with_verdict(bundle, path, other) is other
        assert is_complete(bundle, other) == (other.status == "viewed")
    assert not is_complete(bundle, msgspec.structs.replace(kept, status="captured"))


def test_an_output_that_was_not_saved_is_missing_on_any_rank(viewed):
    bundle, _, run = viewed(ONE, number_of_ranks=2)
    assert missing_output(bundle, run) == "out"
    whole = msgspec.structs.replace(run, other_ranks=(runs.RankFiles({"out": "out"}),))
    assert (
        missing_output(bundle, whole) is None
        and missing_output(bundle, msgspec.structs.replace(whole, outputs={})) == "out"
    )
    assert missing_output(bundle, msgspec.structs.replace(run, commands=(command("capture --single-io"),))) is None


def test_a_run_is_repeated_by_its_last_capture_and_what_followed(viewed):
    bundle, _, run = viewed(ONE)
    assert reproduce(bundle, run) is None
    steps = (
        command("t capture a", A="x y"),
        command("t capture b", A="z"),
        command("t capture c", "systrace"),
        command("t view b", "view"),
        command("t show b", "show-session"),
    )
    said = reproduce(bundle, msgspec.structs.replace(run, commands=steps))
    again = f"{bundle.name}/profiles/again"
    assert said == f"(mkdir -p {again} && cd {again} && A=z t capture b && t view b && t show b)"


def test_summaries_that_cannot_be_read_are_left_out_and_the_trace_is_viewed_again(viewed):
    _, path, run = viewed(ONE, (0, 4, 1e-4), (0, 6, None))
    assert without_damage(path, run) is run
    (path / "summary-2.json").write_text("{")
    found = without_damage(path, run)
    assert [each.summary for each in found.executions] == ["summary-1.json", None, None] and found.status == "captured"
    old = without_damage(path, msgspec.structs.replace(run, schema=1))
    assert [each.summary for each in old.executions] == ["summary-1.json", None, None]


def test_times_that_traces_state_are_of_one_rank_or_of_all():
    executions = tuple(
        SimpleNamespace(rank=rank, execution=2, traced_s=traced) for rank, traced in ((0, 1.0), (1, 3.0), (2, None))
    )
    record = SimpleNamespace(executions=executions)
    assert [_traced(record, rank) for rank in (None, 0, 1, 2)] == [{2: [1.0, 3.0]}, {2: [1.0]}, {2: [3.0]}, {}]


def test_a_reason_is_one_line(make_bundle):
    row = failed_row(make_bundle(), "a\n  b ", "unprofiled")
    assert (row.reason, row.status, failed_row(make_bundle(), "x").status) == ("a b", "unprofiled", "failed")
