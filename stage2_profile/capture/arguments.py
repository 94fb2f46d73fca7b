"""Writes argument lists of the profiler, those of AWS's own harness (aws-neuron/nki-library, test/utils/profiler_utils.py). Pure functions.

Which flags there are says the contract of the SDK's release (`sdk/`), as the subcommand `known`. Inputs come last as pairs of name and file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

from neff_bench.parsers.formats.ntff import SUFFIX, trace_name
from neff_bench.parsers.system_trace import RUNNING
from neff_bench.sdk.release import Command
from neff_bench.sdk.words import Asked, knows, words

OUTPUTS_OF_RANK = "output_worker_{rank}/"
"""Where outputs of a rank of several go."""
DETERMINISM = "--check-output-determinism"
"""Compares checksums of the outputs of every execution with those of the first."""
OPTIONAL = {
    "--save-nth-output": "save_nth_output",
    "--write-tensors-per-exec": "alias",
    DETERMINISM: "compare_executions",
}
"""Flags without which a capture is good too, and the part of the plan that asks for each."""
SYSTEM_EXECUTIONS = 20
"""The executions of a system trace, which tells what lies between executions."""
SAVED_OUTPUT = re.compile(r'saved output "([^"]+)" as "([^"]+)"')


@dataclass(frozen=True)
class CapturePlan:
    """Holds what one capture asks for.

    `num_exec`: executions; `profile_nth_exec`: every how many of them one is profiled (the first is cold, so 2 or more).
    `inputs`: (tensor name, file) pairs; an input that is not named is filled with zeros by the tool.
    `ranks`: workers that run the NEFF together; `multi_input`: with several, the file that has the inputs of each.
    `alias`: write the inputs again before each execution, for kernels that write into their inputs.
    `compare_executions`: fail where the outputs of two executions differ.
    `save_nth_output`: ask for the outputs of the last execution by number (undocumented; older tools lack it).
    `single_io`: one buffer for all tensors: less device memory, wrong outputs.
    `dge_notifications`: trace dynamic DMAs (may overflow the notification queue).
    """

    neff: str
    inputs: tuple[tuple[str, str], ...]
    num_exec: int
    profile_nth_exec: int
    alias: bool = False
    compare_executions: bool = False
    save_nth_output: bool = True
    single_io: bool = False
    dge_notifications: bool = False
    ranks: int = 1
    multi_input: str | None = None


def capture(tool: Sequence[str], plan: CapturePlan, known: Command) -> list[str]:
    """Return the arguments of `capture`: run the NEFF and write NTFF files and outputs into the working directory. Raises `FlagAbsent`."""
    asked: list[Asked] = [("--save-output", None), ("--neff", plan.neff)]
    if plan.alias and knows(known, "--write-tensors-per-exec"):
        asked.append(("--write-tensors-per-exec", "alias"))
    asked.append(("--num-exec", str(plan.num_exec)))
    if plan.profile_nth_exec > 1:
        asked.append(("--profile-nth-exec", str(plan.profile_nth_exec)))
    if plan.save_nth_output and plan.num_exec > 1 and knows(known, "--save-nth-output"):
        asked.append(("--save-nth-output", str(plan.num_exec)))
    if compares(plan, known):
        asked.append((DETERMINISM, None))
    if plan.single_io:
        asked.append(("--single-io", None))
    if plan.dge_notifications:
        asked.append(("--enable-dge-notifs", None))
    if plan.ranks > 1:
        asked += [("--collectives-workers-per-node", str(plan.ranks)), ("--collectives-profile-id", "all")]
        if plan.multi_input is not None:
            asked.append(("--multi-input", plan.multi_input))
    pairs = [word for pair in plan.inputs for word in pair] if plan.multi_input is None else []
    return [*tool, "capture", *words(known, asked), *pairs]


def system_trace(tool: Sequence[str], plan: CapturePlan, known: Command) -> list[str]:
    """Return the words of `capture -t systrace`: the runtime's record of further executions, into the working directory. Ranks get zeros for inputs,
    since --multi-input names files by paths from elsewhere. Raises `FlagAbsent`."""
    asked: list[Asked] = [
        ("--neff", plan.neff),
        ("--num-exec", str(SYSTEM_EXECUTIONS)),
        ("--capture-type", "systrace"),
        ("--systrace-event-filter", RUNNING),
    ]
    if plan.ranks > 1:
        asked.append(("--collectives-workers-per-node", str(plan.ranks)))
    pairs = [word for pair in plan.inputs for word in pair] if plan.multi_input is None else []
    return [*tool, "capture", *words(known, asked), *pairs]


def view_system_trace(tool: Sequence[str], folder: str, format: str, known: Command, output: str) -> list[str]:
    """Return the words of `view` for the folder that `capture -t systrace` left. Raises `FlagAbsent`."""
    asked: list[Asked] = [("-d", folder), ("--output-format", format), ("--output-file", output)]
    asked += [("--ignore-device-profile", None), *((flag, None) for flag in known.formats[format].needs)]
    return [*tool, "view", *words(known, asked)]


def optional(plan: CapturePlan) -> tuple[str, ...]:
    """Return the flags that are asked for without which a capture is good too."""
    return tuple(flag for flag, part in OPTIONAL.items() if getattr(plan, part))


def without(plan: CapturePlan, flag: str, writes_inputs: bool) -> CapturePlan:
    """Return the plan without an optional flag. Where a kernel writes into its inputs, executions differ without `alias`: each finds other ones."""
    left = replace(plan, **dict[str, Any]({OPTIONAL[flag]: False}))
    return left if left.alias or not writes_inputs else replace(left, compare_executions=False)


def compares(plan: CapturePlan, known: Command) -> bool:
    """Return whether the tool compares the outputs of the executions."""
    return plan.compare_executions and not plan.single_io and knows(known, DETERMINISM)


def show_session(tool: Sequence[str], ntff: str, known: Command) -> list[str]:
    """Return the words of `show-session`: cycle counts and hardware errors of an NTFF as JSON on standard output. Raises `FlagAbsent`."""
    return [*tool, "show-session", *words(known, [("-s", ntff), ("--show-errors", None), ("-j", None)])]


def view(
    tool: Sequence[str], neff: str, ntff: str, format: str, known: Command, output: str | None = None
) -> list[str]:
    """Return `view` in an output format of the release, to standard output or into a file or directory. Raises `FlagAbsent`."""
    asked: list[Asked] = [("-n", neff), ("-s", ntff), ("--output-format", format)]
    if output is not None:
        asked.append(("--output-file", output))
    asked += [(flag, None) for flag in known.formats[format].needs]
    return [*tool, "view", *words(known, asked)]


@dataclass(frozen=True, order=True)
class Trace:
    """An NTFF file that a capture left: its worker rank and number of execution, both as the name says."""

    rank: int
    execution: int
    file: str


def traces(files: Sequence[str], stem: str = "profile") -> list[Trace]:
    """Return the NTFF files among names, by rank and execution. The tool chooses the names (`profile.ntff`, `profile_rank_0_exec_2.ntff`)."""
    found = []
    for file in files:
        name = trace_name(PurePath(file).stem)
        if file.endswith(SUFFIX) and name.stem == stem:
            found.append(Trace(name.rank or 0, name.execution or 1, file))
    return sorted(found)


def saved_outputs(log: str) -> dict[str, str]:
    """Return the file of each tensor, from the lines `saved output "out" as "out.2"`; the last line of a tensor counts."""
    return dict(SAVED_OUTPUT.findall(log))
