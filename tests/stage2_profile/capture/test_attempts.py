"""What one capture decides: what it asks for, when it tries again, and what the files and the exit code of the tool come to."""

import re
from dataclasses import replace
from types import SimpleNamespace

import msgspec
import pytest

from neff_bench.neffs.bundle import Manifest, TensorFile
from neff_bench.stage2_profile.capture import arguments, runs
from neff_bench.stage2_profile.capture.conditions import Neighbour
from neff_bench.stage2_profile.capture.cores import Slot
from neff_bench.stage2_profile.capture.device_step import MAX_TRIES, Attempts, plan_of
from neff_bench.stage2_profile.capture.failures import Failure
from neff_bench.stage2_profile.capture.nrtpy import Times
from neff_bench.stage2_profile.capture.process import Finished
from neff_bench.stage2_profile.capture.tools import Tool
from neff_bench.stage2_profile.errors import UnsafePath
from neff_bench.stage2_profile.options import Options

PROFILER = Tool("neuron-explorer", ("neuron-explorer",), "2.33.0", "neuron")
SIMULATOR = Tool("neuron-sim", ("neuron-sim",), "0.1", "sim")
NRTPY = Tool("nrtpy", ("python3",), "2.34.10.0", "neuron")
SLOT = Slot((0,), 0, (0, 1))


def failure(answer, advice="it broke", kind="user"):
    return Failure("name", re.compile("broke"), answer, advice, kind)


def done(exit_code=0, log="", **more):
    return Finished(exit_code, 1.0, log.encode(), b"", **more)


class Stop(list):
    """A stop that nobody sets; holds how long it was waited for."""

    def wait(self, seconds):
        self.append(seconds)

    def is_set(self):
        return False


@pytest.fixture
def attempts(make_bundle, make_case):
    """The tries of a capture of which `called` are done, in whose directory these files lie."""

    def make(files=("profile_exec_2.ntff", "out"), tool=PROFILER, called=1, ranks=1, **asked):
        bundle = make_bundle(make_case(ranks=ranks))
        options = Options(**{"stop": Stop(), "backoff_s": 0.5, "timeout_s": 20.0, **asked})
        work = bundle.path / "profiles" / ".work-1"
        work.mkdir(parents=True)
        for file in files:
            (work / file).parent.mkdir(exist_ok=True)
            (work / file).write_bytes(bytes(32))
        made = Attempts(bundle, tool, options, work, plan_of(bundle.manifest, options), None, [], {"Tensor": 3})
        made.commands += [runs.called("capture", ["x"], {}, done(), "capture.log")] * called
        return made

    return make


@pytest.mark.parametrize(("name", "safe"), [("out", True), ("o.1", True), ("a/b", False), (".out", False)])
def test_an_output_that_would_be_saved_elsewhere_is_not_captured(make_case, name, safe):
    tensor = TensorFile(name, (8,), "float32", 32, None, None)
    manifest = Manifest(make_case(), "key", "built", "neuron", "2026", neff="file.neff", outputs=(tensor,))
    if safe:
        assert plan_of(manifest, Options()).neff == "../../file.neff"
    else:
        with pytest.raises(UnsafePath, match="would be saved outside"):
            plan_of(manifest, Options())


@pytest.mark.parametrize(("number", "several"), [(1, False), (2, True)])
def test_inputs_are_written_again_and_outputs_compared_where_there_are_several_executions(make_bundle, number, several):
    manifest = make_bundle().manifest
    plan = plan_of(manifest, Options(num_exec=number))
    assert (plan.alias, plan.compare_executions, plan.num_exec) == (several, several, number)
    assert (plan.inputs, plan.multi_input, plan.dge_notifications) == ((("x", "../../inp-x-000.bin"),), None, False)
    plan = plan_of(replace(manifest, rank_inputs="ranks.json"), Options(enable_dge_notifs=True, profile_nth_exec=1))
    assert (plan.multi_input, plan.dge_notifications, plan.profile_nth_exec) == ("../../ranks.json", True, 1)


@pytest.mark.parametrize("ended", [{"timed_out": True}, {"stopped": True}])
def test_what_was_ended_is_not_tried_again(attempts, ended):
    assert not attempts().answer(failure("wait"), done(1, **ended))


def test_a_busy_core_is_waited_for_twice_as_long_each_time_and_so_often_at_most(attempts):
    tries = attempts(called=MAX_TRIES - 1)
    assert all(tries.answer(failure("wait"), done(1)) for _ in range(3))
    assert tries.options.stop == [0.5, 1.0, 2.0]
    assert not attempts(called=MAX_TRIES).answer(failure("wait"), done(1)) and MAX_TRIES == 8


@pytest.mark.parametrize("answer", ["wait", "single_io"])
def test_a_stop_ends_the_waiting(attempts, answer):
    tries = attempts(stop=SimpleNamespace(wait=lambda seconds: True))
    assert not tries.answer(failure(answer), done(1))


DIFFER = "output determinism check failed"


@pytest.mark.parametrize(
    ("exit_code", "log", "asked", "found"),
    [
        (1, DIFFER, {}, False), (0, DIFFER, {}, None), (1, "--check-output-determinism", {}, None), (1, "crc32 of x: mismatch", {}, False),
        (1, DIFFER, {"num_exec": 1}, None), (1, DIFFER, {"tool": NRTPY}, None),
    ],
)  # fmt: skip
def test_outputs_that_differ_are_captured_without_the_comparison(attempts, exit_code, log, asked, found):
    tries = attempts(**asked)
    before = tries.plan.compare_executions
    again = tries.answer(failure("fail"), done(exit_code, log))
    assert tries.deterministic is found and again == (found is False)
    assert tries.plan.compare_executions == (before and found is None)
    assert tries.warnings == (["the outputs differ from one execution to the next"] if again else [])


def test_a_flag_that_was_refused_is_left_out_where_the_tool_did_nothing(attempts):
    log = "unknown flag --save-nth-output"
    for files, exit_code, left_out in (((), 1, True), ((), 0, False), (("profile.ntff", "out"), 1, False)):
        tries = attempts(files=files)
        tries.answer(None, done(exit_code, log))
        assert tries.plan.save_nth_output != left_out
    assert attempts(files=()).answer(None, done(1, log))


def test_a_good_capture_is_the_last_and_a_bad_one_is_tried_twice(attempts):
    assert not attempts().answer(None, done())
    tries = attempts(files=["profile.ntff"])
    assert [tries.answer(None, done()) for _ in range(2)] == [True, False]


def test_dge_notifications_are_given_up_once_on_the_command_line_and_in_the_environment(attempts):
    tries = attempts(enable_dge_notifs=True)
    assert tries.answer(failure("without_dge", "the queue is full"), done(1))
    assert (tries.plan.dge_notifications, tries.dge_variable) == (False, False)
    assert tries.warnings == ["the queue is full; captured without them"]
    assert not tries.answer(failure("without_dge"), done(1))
    tries.plan = replace(tries.plan, dge_notifications=True)
    assert tries.answer(failure("without_dge"), done(1))
    assert attempts().answer(failure("without_dge"), done(1))  # the user's environment may ask for them


def test_too_little_memory_is_waited_for_once_and_then_answered_by_one_buffer(attempts):
    tries = attempts()
    assert tries.answer(failure("single_io", "too little memory"), done(1))
    assert tries.options.stop == [0.5] and not tries.plan.single_io and tries.warnings == []
    assert tries.answer(failure("single_io", "too little memory"), done(1)) and tries.plan.single_io
    assert tries.warnings == ["too little memory; captured with --single-io, so its outputs are invalid"]
    assert not tries.answer(failure("single_io"), done(1))
    other = attempts(tool=NRTPY)
    assert [other.answer(failure("single_io"), done(1)) for _ in range(2)] == [True, False]


@pytest.mark.parametrize("answer", ["core_out", "another_core", "new_process"])
def test_another_core_is_tried_once(attempts, answer):
    tries = attempts()
    assert [tries.answer(failure(answer), done(1)) for _ in range(2)] == [True, False]


@pytest.mark.parametrize("answer", ["fail", "device_out", "host_out"])
def test_what_nothing_helps_against_is_tried_once(attempts, answer):
    assert not attempts().answer(failure(answer), done(1))


class Pool:
    """A pool that holds what it was told."""

    host = None

    def __init__(self, *neighbours, shared=False):
        self.told, self.found, self.shared = [], neighbours, shared

    def __getattr__(self, name):
        return lambda *words: self.told.append((name, *words))

    def neighbours(self, slot):
        return self.found[0]

    def shares_hbm(self, slot):
        return self.shared


@pytest.mark.parametrize(
    ("answer", "core_changes", "told"),
    [
        ("host_out", 0, [("close", "it broke")]), ("device_out", 0, [("take_device_out", SLOT, "name")]),
        ("core_out", 0, [("take_out", SLOT, "name")]), ("core_out", 1, [("take_out", SLOT, "name")]),
        ("new_process", 0, []), ("new_process", 1, [("take_out", SLOT, "name")]),
        ("another_core", 0, [("take_out", SLOT, "name")]), ("another_core", 1, []), ("fail", 0, []), ("wait", 1, []),
    ],
)  # fmt: skip
def test_what_a_failure_breaks_is_taken_out_of_use(attempts, answer, core_changes, told):
    tries, pool = attempts(), Pool()
    tries.core_changes = core_changes
    tries.judge_core(pool, SLOT, failure(answer), done(1))
    assert pool.told == told


def test_a_core_is_put_back_where_the_next_one_fails_too(attempts):
    tries, pool, other = attempts(), Pool(), Slot((2,), 2)
    tries.judge_core(pool, SLOT, None, done())
    tries.judge_core(pool, SLOT, failure("another_core"), done(1))
    tries.core_changes = 1
    tries.judge_core(pool, other, failure("another_core"), done(1))
    assert pool.told == [("take_out", SLOT, "name"), ("put_back", SLOT)]


def neighbour(pid):
    return Neighbour(device=0, pid=pid, program="p")


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [(None, None, None), ((), (), ()), ((neighbour(1),), None, (neighbour(1),)), (None, (neighbour(2),), (neighbour(2),)),
     ((neighbour(1), neighbour(2)), (neighbour(2), neighbour(3)), (neighbour(1), neighbour(2), neighbour(3)))],
)  # fmt: skip
def test_neighbours_before_and_after_are_noted_once(attempts, before, after, found):
    tries, pool = attempts(), Pool(after, shared=True)
    tries.look_around(pool, replace(SLOT, neighbours=before))
    assert (tries.neighbours, tries.shared_hbm, tries.instance_type) == (found, True, None)
    pool.host = SimpleNamespace(topology=SimpleNamespace(instance_type="trn2.48xlarge"))
    tries.look_around(pool, SLOT)
    assert tries.instance_type == "trn2.48xlarge"
    simulated = attempts(tool=SIMULATOR)
    simulated.look_around(pool, replace(SLOT, neighbours=before))
    assert (simulated.neighbours, simulated.shared_hbm) == (None, False)


def test_a_trace_is_a_file_that_is_not_empty(attempts):
    tries = attempts(files=["profile_exec_2.ntff", "profile_exec_4.ntff"])
    (tries.work / "profile_exec_4.ntff").write_bytes(b"")
    (tries.work / "profile_exec_6.ntff").symlink_to("profile_exec_2.ntff")
    assert [trace.file for trace in tries.traces()] == ["profile_exec_2.ntff"] and tries.has_result()
    assert not attempts(files=["out"]).has_result()


@pytest.mark.parametrize(
    ("files", "more", "found"),
    [
        (["out"], {}, "out"), (["out.4", "out"], {}, "out.4"), (["out.2", "out"], {}, "out"), (["out.npy", "out.bin"], {}, "out.npy"),
        (["out.bin"], {}, "out.bin"), (["out.must_alias_input"], {}, "out.must_alias_input"), (["said", "out"], {"log": 'saved output "out" as "said"'}, "said"),
        (["said", "out"], {"log": 'saved output "out.must_alias_input" as "said"'}, "said"), (["out"], {"log": 'saved output "out" as "../said"'}, "out"),
        (["out"], {"log": 'saved output "out" as "lost"'}, "out"), ([], {}, None),
    ],
)  # fmt: skip
def test_an_output_is_the_file_that_the_tool_named_else_that_of_a_known_name(attempts, files, more, found):
    tries = attempts(files=files, num_exec=4)
    assert tries._outputs(done(0, **more), 0) == ({"out": found} if found else {})


def test_an_output_that_is_a_link_is_none_and_a_rank_has_its_folder(attempts):
    tries = attempts(files=[])
    (tries.work / "out").symlink_to(__file__)
    assert tries._outputs(done(), 0) == {}
    tries = attempts(files=["output_worker_1/said", "said"], ranks=2)
    log = 'saved output "out" as "/a/output_worker_1/said"'
    assert [tries._outputs(done(0, log), rank) for rank in (0, 1)] == [{}, {"out": "output_worker_1/said"}]


@pytest.mark.parametrize(
    ("files", "ranks", "said"),
    [
        (["profile.ntff", "out"], 1, None), ([], 1, None), (["profile.ntff"], 1, "it saved no output 'out'"),
        (["profile_rank_0.ntff", "output_worker_0/out", "output_worker_1/out"], 2, "it wrote no trace of rank 1"),
        (["profile_rank_1.ntff"], 3, "it wrote no trace of rank 0, 2"),
        (["profile_rank_0.ntff", "profile_rank_1.ntff", "output_worker_0/out"], 2, "it saved no output 'out' on rank 1"),
        (["profile_rank_0.ntff", "profile_rank_1.ntff", "output_worker_0/out", "output_worker_1/out"], 2, None),
    ],
)  # fmt: skip
def test_a_capture_with_a_trace_may_lack_a_rank_or_an_output(attempts, files, ranks, said):
    tries = attempts(files=files, ranks=ranks)
    assert tries.shortcoming(done(), None) == said


def test_an_output_that_is_shorter_than_its_tensor_is_a_shortcoming_and_one_buffer_saves_none(attempts):
    tries = attempts()
    (tries.work / "out").write_bytes(bytes(31))
    assert tries.shortcoming(done(), None) == "it saved 31 of the 32 bytes of output 'out'"
    tries.plan = replace(tries.plan, single_io=True)
    assert tries.shortcoming(done(), None) is None and tries._left(done()) == [runs.RankFiles({}, None)]


def test_an_exit_code_that_nothing_explains_is_a_shortcoming(attempts):
    said = "it wrote a trace, then: exit code 3"
    assert attempts().shortcoming(done(3), None) == said
    assert attempts().shortcoming(done(3), failure("warn")) is None


def times(**changes):
    fields = {"requested_iterations": 2, "iterations": 2, "mean_ms": 1.0, "durations_ms": [1.0, 1.0], **changes}
    return msgspec.json.encode(Times("2.34", warmup_iterations=5, **fields))


def test_times_that_cannot_be_are_a_shortcoming_and_noise_a_remark(attempts):
    for data, said in (
        (times(), None), (times(durations_ms=[]), "it timed no execution"), (b"{", "benchmark.json is not what nrtpy_program.py writes"),
    ):  # fmt: skip
        tries = attempts(files=["benchmark.json", "out"], tool=NRTPY)
        (tries.work / "benchmark.json").write_bytes(data)
        found = tries.shortcoming(done(), None)
        assert found is said or found.startswith(said)
    tries = attempts(files=["benchmark.json", "out"], tool=NRTPY)
    (tries.work / "benchmark.json").write_bytes(times(iterations=1))
    run = tries.outcome(done(), None, SLOT)
    assert (run.status, run.timing, run.executions) == ("viewed", "benchmark.json", ())
    assert run.warnings == ("nrtpy timed 1 of 2 executions",) and run.deterministic is None
    assert (
        attempts(files=["out"], tool=NRTPY).outcome(done(), None, SLOT).reason.startswith("nrtpy capture: no result, ")
    )


@pytest.mark.parametrize(
    ("more", "known", "says"),
    [
        ({"timed_out": True}, None, "no answer in 20 s, ended"), ({"stopped": True}, failure("warn"), "interrupted"),
        ({"exit_code": 1}, failure("fail", kind="core"), "it broke"), ({"exit_code": 1}, failure("fail", kind="device"), "it broke"),
        ({"exit_code": 1}, failure("fail", kind="host"), "it broke"), ({"exit_code": 1}, failure("fail"), None), ({}, None, None),
        ({"exit_code": 1}, None, "it wrote a trace, then: exit code 1 (1 tries)"),
    ],
)  # fmt: skip
def test_a_trace_counts_unless_the_device_was_broken_or_the_tool_was_ended(attempts, more, known, says):
    run = attempts().outcome(done(**more), known, SLOT)
    assert run.reason == (says and f"neuron-explorer capture: {says}")
    assert run.status == ("failed" if says else "captured")
    assert run.warnings == (("it broke, with a trace",) if known and not says else ())
    assert (run.outputs, len(run.executions)) == (({}, 0) if says else ({"out": "out"}, 1))
    assert run.deterministic is (None if says else True)


@pytest.mark.parametrize(
    ("called", "known", "says"),
    [
        (1, failure("fail"), "it broke"), (2, failure("fail"), "it broke (2 tries)"), (1, None, "no trace, exit code 1: last words"),
    ],
)  # fmt: skip
def test_without_a_trace_the_reason_is_what_is_known_else_the_last_words(attempts, called, known, says):
    run = attempts(files=["out"], called=called).outcome(done(1, "first\nlast words"), known, SLOT)
    assert (run.status, run.reason, run.outputs) == ("failed", f"neuron-explorer capture: {says}", {})


def test_a_bad_exit_after_a_trace_of_one_buffer_is_still_a_shortcoming(attempts):
    tries = attempts(called=2)
    tries.plan = replace(tries.plan, single_io=True)
    assert tries.outcome(done(1), None, SLOT).reason.endswith("then: exit code 1 (2 tries)")
    assert tries.outcome(done(0), None, SLOT).outputs == {}


def test_executions_of_the_warm_up_are_removed_and_not_counted(attempts):
    files = [f"profile_exec_{number}.ntff" for number in (1, 2, 3)]
    tries = attempts(files=[*files, "out"], warmup=2, num_exec=3, profile_nth_exec=1)
    run = tries.outcome(done(), None, SLOT)
    assert [(each.execution, each.ntff, each.rank) for each in run.executions] == [(3, files[2], 0)]
    assert [(tries.work / file).exists() for file in files] == [False, False, True]
    assert (run.warmup, run.num_exec, run.profile_nth_exec, run.cores, run.program) == (2, 3, 1, (0,), {"Tensor": 3})


def test_a_measured_run_remembers_its_conditions_and_a_simulated_one_its_findings(attempts):
    tries = attempts()
    tries.neighbours, tries.shared_hbm, tries.instance_type = (neighbour(7),), True, "trn2.48xlarge"
    run = tries.outcome(done(), None, SLOT)
    held = run.conditions
    assert (held.neighbours, held.shared_hbm, held.instance_type) == ((neighbour(7),), True, "trn2.48xlarge")
    assert not held.dge_notifications and not held.dge_compiled_out
    assert run.warnings == ("process 7 (p) used device 0 beside the capture",)
    assert attempts(enable_dge_notifs=True).outcome(done(), None, SLOT).conditions.dge_notifications
    asked = attempts()
    variable = {"NEURON_RT_ENABLE_DGE_NOTIFICATIONS": "1"}
    asked.commands.append(msgspec.structs.replace(asked.commands[0], environment=variable))
    assert asked.outcome(done(), None, SLOT).conditions.dge_notifications
    simulated = attempts(tool=SIMULATOR)
    simulated.neighbours = (neighbour(7),)
    for each in (simulated, tries):
        (each.work / "findings.json").write_text('[{"kind": "race", "text": "two engines"}]')
    run = simulated.outcome(done(), None, SLOT)
    assert (run.conditions, run.warnings, run.kind, run.findings[0].kind) == (None, (), "sim", "race")
    assert tries.outcome(done(), None, SLOT).findings == ()


def shell(script, **changes):
    return replace(PROFILER, argv=("/bin/sh", "-c", script), **changes)


def test_each_try_begins_with_the_logs_alone(attempts):
    tries = attempts(files=["out", "folder/out", "capture.log"], tool=shell("ls; exit 3"))
    (tries.work / "link").symlink_to(tries.bundle.path)
    (tries.work / "gone").symlink_to("nowhere")
    ended = tries.once(SLOT, ())
    assert (ended.exit_code, ended.stdout) == (3, b"capture.log\n") and tries.bundle.path.is_dir()
    assert (tries.work / "capture-2.log").read_bytes() == b"capture.log\n"
    command = tries.commands[-1]
    assert (command.argv[:2], command.log, command.step) == (("neuron-explorer", "capture"), "capture-2.log", "capture")
    assert command.environment["NEURON_RT_VISIBLE_CORES"] == "0"
    first = attempts(called=0, tool=shell("true"))
    first.once(SLOT, ())
    assert [command.log for command in first.commands] == ["capture.log"]


@pytest.mark.parametrize(
    ("tool", "files", "says"),
    [
        (shell("echo x > trace"), ["trace"], None), (shell("true"), None, "no system trace: neuron-explorer capture: exit code 0: it printed nothing"),
        (shell("echo x > trace; echo why; exit 1"), None, "no system trace: neuron-explorer capture: exit code 1: why"),
        (shell("true", version="2.31.0"), None, "no system trace: this release of the Neuron SDK has no flag"), (SIMULATOR, None, "neuron-sim makes no system traces"),
    ],
)  # fmt: skip
def test_a_system_trace_is_kept_whole_or_a_warning(attempts, tool, files, says):
    tries = attempts(tool=tool)
    tries.trace_system(SLOT, ())
    folder = tries.work / "system"
    assert (sorted(path.name for path in folder.iterdir()) if folder.exists() else None) == files
    assert [warning.startswith(says) for warning in tries.warnings] == ([True] if says else [])
    if files:
        command = tries.commands[-1]
        assert (command.step, command.log, command.argv[0]) == ("systrace", "system.log", "neuron-explorer")
        assert (
            command.argv[command.argv.index("--neff") + 1] == "../../../file.neff"
            and command.argv[-1] == "../../../inp-x-000.bin"
        )


def test_an_optional_flag_is_one_that_the_plan_asks_for(attempts):
    plan = attempts().plan
    assert arguments.optional(plan) == ("--save-nth-output", "--write-tensors-per-exec", "--check-output-determinism")
    assert arguments.optional(replace(plan, alias=False))[1:] == ("--check-output-determinism",)


def test_times_of_every_rank_are_a_result(attempts):
    files = ["output_worker_0/benchmark.json", "output_worker_1/benchmark.json"]
    assert (
        attempts(files=files, tool=NRTPY, ranks=2).has_result()
        and not attempts(files=files, tool=NRTPY, ranks=3).has_result()
    )
