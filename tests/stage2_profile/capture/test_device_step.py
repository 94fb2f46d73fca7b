from __future__ import annotations

import json
import os
import threading

import pytest

from neff_bench.stage2_profile.capture import runs
from neff_bench.stage2_profile.capture.cores import CorePool
from neff_bench.stage2_profile.capture.device_step import capture
from neff_bench.stage2_profile.errors import CaptureFailed


@pytest.fixture
def captured(make_bundle, fake, settings, tmp_path):
    """Capture a bundle with the fake profiler on two simulated cores."""

    def go(bundle=None, cores=(0, 1), **changes):
        bundle = bundle or make_bundle()
        (bundle.path / "profiles").mkdir(exist_ok=True)
        pool = CorePool(cores, directory=tmp_path)
        return capture(bundle, fake, settings(**changes), pool, ())

    return go


def test_a_good_capture_is_published_with_its_trace_outputs_and_record(captured):
    path, run = captured()
    assert run.status == "captured"
    assert [execution.ntff for execution in run.executions] == ["profile_exec_2.ntff"]
    assert run.outputs == {"out": "out"}
    assert run.commands[0].argv[:5] == ("neuron-profile", "capture", "--save-output", "--neff", "../../file.neff")
    assert run.commands[0].argv[5:7] == ("--write-tensors-per-exec", "alias")
    assert run.commands[0].argv[-2:] == ("x", "../../inp-x-000.bin")
    assert runs.read_run(path) == run
    assert (path / "profile_exec_2.ntff").stat().st_size > 0
    assert not list(path.parent.glob(".work-*"))


def test_every_second_execution_is_profiled(captured):
    _, run = captured(num_exec=6)
    assert [execution.execution for execution in run.executions] == [2, 4, 6]


def test_the_tool_is_told_its_core_and_lnc(captured):
    path, run = captured(cores=(1,))
    assert run.cores == (1,)
    assert run.commands[0].environment["NEURON_RT_VISIBLE_CORES"] == "1"
    assert run.commands[0].environment["NEURON_LOGICAL_NC_CONFIG"] == "1"
    assert run.commands[0].environment["NEURON_RT_RESET_CORES"] == "1"
    assert json.loads((path / "profile_exec_2.ntff").read_text())["environment"] == "1"


def test_secrets_of_the_environment_are_not_written_down(captured, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hush-hush")
    monkeypatch.setenv("NEURON_RT_ROOT_COMM_ID", "hush-hush:1")
    path, _ = captured()
    for file in path.iterdir():
        assert b"hush-hush" not in file.read_bytes(), file


def test_a_busy_core_is_waited_for(captured, faults):
    faults("busy", "busy", "none")
    _, run = captured()
    assert run.status == "captured"
    assert [command.exit_code for command in run.commands] == [1, 1, 0]


def test_a_core_that_stays_busy_is_a_reason(captured, faults):
    faults("busy")
    _, run = captured(backoff_s=0.001)
    assert run.status == "failed"
    assert run.reason == "neuron-profile capture: the core is held by another process (8 tries)"


def test_dge_overflow_is_captured_without_notifications(captured, faults):
    faults("dge")
    _, run = captured(enable_dge_notifs=True)
    assert run.status == "captured"
    assert "--enable-dge-notifs" in run.commands[0].argv
    assert "--enable-dge-notifs" not in run.commands[1].argv
    assert run.commands[1].environment["NEURON_RT_ENABLE_DGE_NOTIFICATIONS"] == "0"
    assert "captured without them" in run.warnings[0]


def test_dge_notifications_of_the_users_environment_are_turned_off_too(captured, faults, monkeypatch):
    monkeypatch.setenv("NEURON_RT_ENABLE_DGE_NOTIFICATIONS", "1")
    faults("dge")
    assert captured()[1].status == "captured"


def test_too_little_memory_is_answered_by_single_io_and_no_outputs(captured, faults):
    faults("memory")
    _, run = captured()
    assert run.status == "captured"
    assert ["--single-io" in command.argv for command in run.commands] == [False, False, True]
    assert run.outputs == {}


def test_an_unknown_flag_is_left_out(captured, faults):
    faults("flag")
    _, run = captured()
    assert run.status == "captured"
    assert not any(word.startswith("--save-nth-output") for word in run.commands[1].argv)


def test_nan_with_a_trace_is_a_warning(captured, faults):
    faults("nan")
    _, run = captured()
    assert run.status == "captured"
    assert run.warnings == ("the run completed with a numerical error (NaN), with a trace",)


@pytest.mark.parametrize("fault", ["crash_after", "no_output", "half_output"])
def test_a_capture_that_ended_badly_or_saved_too_little_is_repeated(captured, faults, fault):
    faults(fault, "none")
    _, run = captured()
    assert run.status == "captured"
    assert len(run.commands) == 2


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("crash_after", "it wrote a trace, then: killed by SIGSEGV (2 tries)"),
        ("no_output", "it saved no output 'out' (2 tries)"),
        ("half_output", "it saved 16 of the 32 bytes of output 'out' (2 tries)"),
    ],
)
def test_a_capture_that_stays_bad_is_a_reason(captured, faults, fault, reason):
    faults(fault)
    _, run = captured()
    assert (run.status, run.reason) == ("failed", f"neuron-profile capture: {reason}")


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("crash_before", "no trace, killed by SIGSEGV"),
        ("empty", "no trace, exit code 0"),
        ("driver", "no Neuron driver"),
    ],
)
def test_a_failure_without_an_answer_is_a_reason(captured, faults, fault, reason):
    faults(fault)
    path, run = captured()
    assert run.status == "failed"
    assert reason in run.reason
    assert (path / "capture.log").exists()


def test_a_hanging_tool_is_ended(captured, faults):
    faults("hang")
    _, run = captured(timeout_s=0.5)
    assert run.reason == "neuron-profile capture: no answer in 0.5 s, ended"


def test_a_tool_that_prints_gigabytes_leaves_a_small_log(captured, faults):
    faults("gigabytes")
    path, run = captured()
    assert run.status == "captured"
    assert (path / "capture.log").stat().st_size < 2_000_000


def test_garbage_on_standard_output_does_no_harm(captured, faults):
    faults("garbage")
    assert captured()[1].outputs == {"out": "out"}


def test_a_device_error_takes_the_core_out_and_the_case_goes_on_another(captured, faults):
    faults("device", "none")
    _, run = captured()
    assert run.status == "captured"
    assert [command.environment["NEURON_RT_VISIBLE_CORES"] for command in run.commands] == ["0", "1"]


def test_a_device_error_twice_is_a_reason(captured, faults):
    faults("device")
    _, run = captured()
    assert (
        run.reason
        == "neuron-profile capture: the device reported a hardware error, or the NEFF is for another target (2 tries)"
    )


def test_a_stop_ends_a_capture(captured, make_bundle, faults):
    faults("hang")
    stop = threading.Event()
    threading.Timer(0.3, stop.set).start()
    bundle = make_bundle()
    with pytest.raises(CaptureFailed, match="interrupted"):
        captured(bundle, stop=stop)
    assert os.listdir(bundle.path / "profiles") == []  # it says nothing of the case


def test_a_good_run_replaces_failed_ones_and_keeps_good_ones(captured, make_bundle, faults):
    bundle = make_bundle()
    first, _ = captured(bundle)
    faults("none", "crash_before", "none")
    second, _ = captured(bundle)
    third, _ = captured(bundle)
    assert [first.name, second.name, third.name] == ["1", "2", "3"]
    assert sorted(os.listdir(bundle.path / "profiles")) == sorted([first.name, third.name])
    assert runs.best_run(bundle.path, bundle.manifest.neff_sha256).found[0] == third
    assert second.name not in os.listdir(bundle.path / "profiles")
