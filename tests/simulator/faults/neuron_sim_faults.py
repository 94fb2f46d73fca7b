"""Plays a toolchain that misbehaves on purpose, for tests of what drives it: `sitecustomize.py` beside this file puts it into neuron-sim.

The environment variable NEURON_SIM_FAULTS names a JSON file (or is the JSON itself): a list of rules, tried in order.

    [{"command": "capture", "match": "*mlp*", "calls": [1, 2], "fault": "busy"},
     {"command": "view", "every": 3, "fault": "crash"}]

`command`: capture, view, show-session or compile (absent: any). `match`: a glob on the absolute path of the NEFF (of the NTFF for
show-session, of the input for compile). `calls`: which matching invocations fail, counted from 1; `every`: each n-th.
Neither: all. Counting over processes needs `state`, a directory where the counters are kept, given as
{"state": "/dir", "rules": [...]}; without it each process counts from 1. `seconds`: for hang and slow_start.

Faults: busy, no_device, dge_overflow, oom, nan, ntff_version, device_error, arch, crash_before, crash_after, crash, hang,
partial, empty_ntff, garbage, flood, slow_start, timeout, error.

Messages are those of real tools: AWS docs nrt-troubleshoot.rst, issues 1007 and 820 of github aws-neuron/aws-neuron-sdk.
"""

from __future__ import annotations

import fnmatch
import functools
import os
import signal
import sys
import time
from dataclasses import dataclass
from typing import Annotated, Any

import click
import msgspec

from neff_bench.simulator.errors import SimulatorError

VARIABLE = "NEURON_SIM_FAULTS"
SUBJECTS = {"compile": "model", "capture": "neff", "view": "neff", "show-session": "session_file"}
"""The parameter of each command that a rule's `match` is asked of."""


@dataclass(frozen=True)
class Fault:
    """Holds what to do wrong. `seconds`: how long, for the faults that take time."""

    name: str
    seconds: float = 3600.0


class Rule(msgspec.Struct, frozen=True):
    """One rule of a plan, as above."""

    fault: str
    command: str | None = None
    match: str = "*"
    calls: tuple[int, ...] | None = None
    every: Annotated[int, msgspec.Meta(ge=1)] = 1
    seconds: float = 3600.0


class Plan(msgspec.Struct, frozen=True):
    """A plan whose calls are counted in the directory `state`."""

    rules: tuple[Rule, ...] = ()
    state: str | None = None


@dataclass(frozen=True)
class Failure:
    """Lines for stderr and the exit status of a fault that stops a capture before it runs."""

    lines: tuple[str, ...]
    status: int = 1


FAILURES: dict[str, Failure] = {
    "busy": Failure((
        "NRT:nrt_allocate_neuron_cores               NeuronCore(s) not available - Requested:nc1-nc1 Available:0",
        "NRT:nrt_init                                Failed to initialize: NRT_FAILURE (1)",
    )),
    "no_device": Failure((
        "NRT:nrt_init      Unable to determine Neuron Driver version. Please check aws-neuron-dkms package is installed.",
    )),
    "dge_overflow": Failure((
        "execution timeout (30000 ms) on model file.neff potentially caused by DGE notifications enabled. Please disable it"
        " (set NEURON_RT_ENABLE_DGE_NOTIFICATIONS to 0) and try again.",
        "nrt_execute failed with NRT_EXEC_SW_NQ_OVERFLOW (1204)",
    )),
    "oom": Failure((
        "neuron:mc_alloc: device mempool [0:0] total 1073741568 occupied 960539030 needed 1272 available 768",
        "nrt_load failed with NRT_RESOURCE (4)",
    )),
    "device_error": Failure(("nrt_execute failed with NRT_EXEC_UNIT_UNRECOVERABLE (101)",)),
    "arch": Failure((
        "Loading a NEFF compiled for a different arch is not allowed, NEFF arch: v4, instance arch: v3",
        "nrt_load failed with NRT_UNSUPPORTED_NEFF_VERSION (10)",
    )),
    "timeout": Failure(("nrt_execute failed with NRT_TIMEOUT (5)",)),
    "error": Failure(("nrt_execute failed with NRT_FAILURE (1)",)),
    "ntff_version": Failure((
        "NTFF version 7 is not supported in this version of the tool (supported: 1 - 6). Please upgrade aws-neuronx-tools.",
    )),
}  # fmt: skip
"""Faults that are only a message and an exit status."""

_NAMES = frozenset(FAILURES) | {
    "nan", "crash_before", "crash_after", "crash", "hang", "partial", "empty_ntff", "garbage", "flood", "slow_start"
}  # fmt: skip


def play_in(commands: click.Group) -> None:
    """Let the commands of neuron-sim play what is planned for each of their calls."""
    for name, subject in SUBJECTS.items():
        command = commands.commands[name]
        command.callback = _playing(name, subject, command.callback)


def _playing(name: str, subject: str, callback: Any) -> Any:
    @functools.wraps(callback)
    def call(**words: Any) -> Any:
        fault = planned_fault(name, words[subject])
        if name == "capture":
            fault = _of_capture(fault, words)
            _play_after_traces(fault)
        before_work(fault)
        result = callback(**words)
        if name == "capture":
            after_work(fault)
        return result

    return call


def _of_capture(fault: Fault | None, words: dict[str, Any]) -> Fault | None:
    """Return the planned fault; None for one that cannot happen in this call."""
    notifications = words["enable_dge_notifs"] or os.environ.get("NEURON_RT_ENABLE_DGE_NOTIFICATIONS") == "1"
    impossible = {*(() if notifications else ("dge_overflow",)), *(("oom",) if words["single_io"] else ())}
    return None if fault is None or fault.name in impossible else fault


def _play_after_traces(fault: Fault | None) -> None:
    from neff_bench.simulator.files import ntff

    write = ntff.write_ntff

    def written(neff: Any, schedule: Any, timeline: Any, path: str, first_core: int) -> None:
        write(neff, schedule, timeline, path, first_core)
        after_trace(fault, path)

    ntff.write_ntff = written


def planned_fault(command: str, subject: str) -> Fault | None:
    """Return the fault planned for this invocation, counted; None where nothing is planned. Raises SimulatorError on a bad plan."""
    text = os.environ.get(VARIABLE)
    if not text:
        return None
    plan = _plan(text)
    for number, rule in enumerate(plan.rules):
        if rule.command not in (None, command) or not fnmatch.fnmatch(os.path.abspath(subject), rule.match):
            continue
        call = _count(plan.state, f"{number}-{command}")
        if (rule.calls is not None and call not in rule.calls) or call % rule.every:
            continue
        if rule.fault not in _NAMES:
            raise SimulatorError(
                f"{VARIABLE}: unknown fault {rule.fault!r}: expected one of {', '.join(sorted(_NAMES))}"
            )
        return Fault(rule.fault, rule.seconds)
    return None


def before_work(fault: Fault | None) -> None:
    """Play the faults that come before anything is done: exits, hangs, waits or litters standard output."""
    if fault is None:
        return
    if fault.name in FAILURES:
        failure = FAILURES[fault.name]
        for line in failure.lines:
            print(line, file=sys.stderr)
        raise SystemExit(failure.status)
    if fault.name in ("crash_before", "crash"):
        _die()
    if fault.name == "hang":
        time.sleep(fault.seconds)
    elif fault.name == "slow_start":
        time.sleep(fault.seconds if fault.seconds < 3600 else 5.0)
    elif fault.name == "garbage":
        sys.stdout.write("\x00\xff{]garbage\n" * 20)
        sys.stdout.flush()
    elif fault.name == "flood":
        line = "x" * 1023 + "\n"
        for _ in range(1 << 20):
            sys.stdout.write(line)


def after_trace(fault: Fault | None, path: str) -> None:
    """Play the faults that come once the trace is on disk."""
    if fault is None:
        return
    if fault.name == "partial":
        with open(path, "r+b") as file:
            file.truncate(os.path.getsize(path) // 2)
    elif fault.name == "empty_ntff":
        with open(path, "wb"):
            pass
    elif fault.name == "crash_after":
        _die()


def after_work(fault: Fault | None) -> None:
    """Play the faults of a finished run: a NaN ends with status 1003 of the runtime, the trace stays."""
    if fault is not None and fault.name == "nan":
        print("nrt_execute: execution completed with numerical error (NaN) NRT_EXEC_COMPLETED_WITH_NUM_ERR (1003)",
              file=sys.stderr)  # fmt: skip
        raise SystemExit(1)


def _die() -> None:
    sys.stdout.flush()
    os.kill(os.getpid(), signal.SIGKILL)


def _plan(text: str) -> Plan:
    try:
        if not text.lstrip().startswith(("[", "{")):
            with open(text, encoding="utf-8") as file:
                text = file.read()
        found = msgspec.json.decode(text, type=Plan | tuple[Rule, ...])
    except (OSError, ValueError, RecursionError) as error:
        raise SimulatorError(f"{VARIABLE}: cannot read the fault plan: {error}") from None
    return found if isinstance(found, Plan) else Plan(found)


_COUNTS: dict[str, int] = {}


def _count(state: str | None, key: str) -> int:
    """Return the running number of this rule's invocation. With `state`, over all processes: one byte appended for each."""
    if state is None:
        _COUNTS[key] = _COUNTS.get(key, 0) + 1
        return _COUNTS[key]
    os.makedirs(state, exist_ok=True)
    descriptor = os.open(os.path.join(state, f"{key}.count"), os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o644)
    try:
        os.write(descriptor, b".")
        return os.lseek(descriptor, 0, os.SEEK_CUR)
    finally:
        os.close(descriptor)
