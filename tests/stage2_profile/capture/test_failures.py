"""What follows from what the runtime says. Which message is which is held by `tests/sdk`."""

from __future__ import annotations

import re

import pytest

from neff_bench.sdk.release import Message
from neff_bench.stage2_profile.capture.cores import CorePool
from neff_bench.stage2_profile.capture.device_step import capture
from neff_bench.stage2_profile.capture.failures import (
    Failure,
    diagnose,
    failure_of,
    known_failures,
    last_words,
    refused_flag,
)
from neff_bench.stage2_profile.errors import CaptureFailed
from tests.sdk.documented import LINES


@pytest.mark.parametrize(
    "text", ["exit status 4", "exit status 6", "view: exit status 5", "exit status 1006", "error 4 of 9"]
)
def test_a_status_of_a_program_is_none_of_the_runtime(text):
    assert diagnose(text) is None


def test_a_line_that_is_no_error_is_neither_found_nor_the_reason():
    harmless = "\n".join(line for line, _, kind in LINES if kind == "none")
    assert diagnose(harmless) is None
    assert last_words(f"cannot open file.neff\n{harmless}") == "cannot open file.neff"


def test_what_harms_the_device_comes_before_what_follows_from_it():
    log = "NMGR:dlr_infer Inference completed with err: 5\nUncorrectable HBM memory error is detected. Please terminate"
    assert diagnose(log).name == "HBM error"


def test_the_runtime_s_own_words_stay_where_it_gives_no_reason():
    assert diagnose("nrt_load failed: NRT_FAILURE (1)") is None


@pytest.fixture
def on_cores(make_bundle, fake, settings, tmp_path, faults):
    """Capture a bundle on simulated cores while these faults happen in turn; returns the run, the pool and what it said."""
    said = []

    def go(*names, cores=(0, 1), bundle=None):
        faults(*names)
        bundle = bundle or make_bundle()
        (bundle.path / "profiles").mkdir(exist_ok=True)
        pool = go.pool = getattr(go, "pool", None) or CorePool(cores, directory=tmp_path, say=said.append)
        return capture(bundle, fake, settings(), pool, ())[1], pool, said

    return go


@pytest.mark.parametrize("fault", ["SRAM error", "HBM error", "DMA abort", "hardware error in dmesg"])
def test_a_broken_host_captures_nothing_more(on_cores, make_bundle, fault):
    run, _, said = on_cores(fault)
    assert (run.status, len(run.commands)) == ("failed", 1)
    assert said[-1].startswith("nothing more is captured on this host: ")
    with pytest.raises(CaptureFailed, match="nothing more is captured on this host: .*instance"):
        on_cores("none", bundle=make_bundle())


@pytest.mark.parametrize("fault", ["HBM error until a reload", "device left running"])
def test_a_device_that_needs_a_reload_is_out_for_good(on_cores, make_bundle, fault):
    run, _, _ = on_cores(fault, cores=(0,))
    assert (run.status, len(run.commands)) == ("failed", 1)
    assert "rmmod neuron" in run.reason
    with pytest.raises(CaptureFailed, match="no working core is left"):
        on_cores("none", bundle=make_bundle())


def test_a_kernel_that_hangs_on_two_cores_takes_none_of_them_out(on_cores):
    run, pool, said = on_cores("hang in a collective")
    assert (run.status, len(run.commands)) == ("failed", 2)
    assert [command.environment["NEURON_RT_VISIBLE_CORES"] for command in run.commands] == ["0", "1"]
    assert pool.out == {}
    assert "is put back" in said[-1]


def test_a_core_on_which_alone_a_kernel_hangs_is_taken_out(on_cores):
    run, pool, _ = on_cores("hang in a collective", "none")
    assert run.status == "captured"
    assert list(pool.out) == [0]


def test_a_core_that_cannot_recover_gets_a_new_process_and_then_no_more(on_cores):
    run, pool, _ = on_cores("core cannot recover", cores=(0,))
    assert (run.status, len(run.commands)) == ("failed", 2)
    assert list(pool.out) == [0]
    assert "rmmod neuron" in run.reason


def test_what_the_driver_reports_is_said(on_cores):
    _, _, said = on_cores("hardware error in dmesg")
    assert said[-1] == (
        "nothing more is captured on this host: the driver reports SRAM_UNCORRECTABLE_ERROR; terminate this instance"
    )


def test_an_error_of_the_user_is_tried_once(on_cores):
    run, pool, _ = on_cores("out of bounds")
    assert (run.status, len(run.commands), pool.out) == ("failed", 1, {})
    assert "check the inputs" in run.reason


def failure(answer, pattern="unknown flag (.*)", advice="it does not know {0}"):
    return Failure("name", re.compile(pattern), answer, advice)


@pytest.mark.parametrize(
    ("log", "known", "asked", "flag"),
    [
        ("unknown flag --b", failure("drop_flag"), ("--a", "--b"), "--b"), ("--a: unknown flag --b", failure("drop_flag"), ("--a", "--b"), "--b"),
        ("--a: unknown flag --c", failure("drop_flag"), ("--a", "--b"), "--a"), ("unknown flag --b", failure("wait"), ("--a", "--b"), None),
        ("unknown option: b", None, ("--a", "--b"), "--b"), ("a and b", None, ("--b", "--a"), "--b"), ("x", None, ("--a",), None), ("--a", None, (), None),
    ],
)  # fmt: skip
def test_the_flag_that_a_tool_refused_is_the_one_it_names(log, known, asked, flag):
    log = log.replace("a and b", "--a and --b")
    assert refused_flag(log, known, asked) == flag


@pytest.mark.parametrize(
    ("log", "words"),
    [
        ("", "it printed nothing"), (" \n\n", "it printed nothing"), ("one\ntwo \n\n", "two"), ("first error\nlast", "first error"), ("a failure\na panic: x\nend", "a panic: x"),
        ("e" + "x" * 400, "e" + "x" * 299),
    ],
)  # fmt: skip
def test_the_last_words_are_the_last_line_of_an_error_else_the_last_line(log, words):
    assert last_words(log) == words


def message(**changes):
    return Message(
        **{"kind": "core", "answer": "wait", "advice": "it is busy", "sure": "+", "source": "s", "read": "d", **changes}
    )


@pytest.mark.parametrize(
    ("told", "log", "found"),
    [
        (message(pattern="busy|held"), "it is held", True), (message(pattern="^busy"), "x\nbusy", True), (message(pattern="busy"), "free", False), (message(), "busy", False), (message(), "", False),
        (message(statuses={"NRT_BUSY": 9}), "x NRT_BUSY y", True), (message(statuses={"NRT_BUSY": 9}), "NRT_BUSY_NOT", False), (message(statuses={"NRT_BUSY": 9}), "error 9", False),
        (message(statuses={"NRT_BUSY": 9}), "NRT error 9", True), (message(statuses={"NRT_BUSY": 99}), "error 99", False), (message(statuses={"NRT_BUSY": 100}), "status=100", True),
        (message(statuses={"NRT_BUSY": 100}), "exit status 100", False), (message(statuses={"NRT_BUSY": 100}), "status=1001", False), (message(pattern="a", statuses={"NRT_BUSY": 100}), "a", True),
    ],
)  # fmt: skip
def test_a_message_is_found_by_its_words_its_status_or_a_number_that_says_enough(told, log, found):
    made = failure_of("name", told)
    assert (made.pattern.search(log) is not None) == found
    assert (made.name, made.answer, made.advice, made.kind) == ("name", "wait", "it is busy", "core")


def test_advice_says_what_the_log_says():
    assert failure("drop_flag").explain("unknown flag -x") == "it does not know -x"
    assert failure("fail", advice="no driver").explain("nothing of it") == "no driver"


def test_what_is_no_error_and_what_gives_no_reason_are_no_failures():
    assert {each.answer for each in known_failures()}.isdisjoint({"ignore"}) and {
        each.kind for each in known_failures()
    }.isdisjoint({"unknown"})
    assert len(known_failures()) > 10
