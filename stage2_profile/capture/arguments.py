"""Argument lists of the profiler. Pure functions: they start nothing and know no file system.

The lists are those that AWS's own harness uses (aws-neuron/nki-library @ d2ad3a57, test/utils/profiler_utils.py and
test_orchestrator.py), with flags as documented in the AWS Neuron docs, tools/neuron-explorer/how-to-profile-workload.rst.
`neuron-explorer`, `neuron-profile` and `neuron-sim` take the same lists. Long flags are joined by `=`, names and files
of inputs come last as positional pairs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from neff_bench.parsers.formats.ntff import SUFFIX, trace_name

SAVED_OUTPUT = re.compile(r'saved output "([^"]+)" as "([^"]+)"')


@dataclass(frozen=True)
class CapturePlan:
    """What one capture asks for.

    `num_exec`: executions; `profile_nth_exec`: every how many of them one is profiled (the first is cold, so 2 or more).
    `inputs`: (tensor name, file) pairs; an input that is not named is filled with zeros by the tool.
    `alias`: write the inputs again before each execution, for kernels that write into their inputs.
    `save_nth_output`: ask for the outputs of the last execution by number (undocumented; older tools lack it).
    `single_io`: one buffer for all tensors: less device memory, wrong outputs.
    `dge_notifications`: trace dynamic DMAs (may overflow the notification queue).
    """

    neff: str
    inputs: tuple[tuple[str, str], ...]
    num_exec: int = 2
    profile_nth_exec: int = 2
    alias: bool = False
    save_nth_output: bool = True
    single_io: bool = False
    dge_notifications: bool = False


def capture(tool: Sequence[str], plan: CapturePlan) -> list[str]:
    """`capture`: run the NEFF and write NTFF files and outputs into the working directory."""
    argv = [*tool, "capture", "--save-output", "--neff", plan.neff]
    if plan.alias:
        argv += ["--write-tensors-per-exec", "alias"]
    argv.append(f"--num-exec={plan.num_exec}")
    if plan.profile_nth_exec > 1:
        argv.append(f"--profile-nth-exec={plan.profile_nth_exec}")
    if plan.save_nth_output and plan.num_exec > 1:
        argv.append(f"--save-nth-output={plan.num_exec}")
    if plan.single_io:
        argv.append("--single-io")
    if plan.dge_notifications:
        argv.append("--enable-dge-notifs")
    for name, file in plan.inputs:
        argv += [name, file]
    return argv


def show_session(tool: Sequence[str], ntff: str) -> list[str]:
    """`show-session`: cycle counts and hardware errors of an NTFF as JSON on standard output."""
    return [*tool, "show-session", "-s", ntff, "--show-errors", "-j"]


def view_summary(tool: Sequence[str], neff: str, ntff: str) -> list[str]:
    """`view`: the summary as JSON on standard output."""
    return [*tool, "view", "-n", neff, "-s", ntff, "--output-format=summary-json"]


def view_json(tool: Sequence[str], neff: str, ntff: str, output: str) -> list[str]:
    """`view`: the whole profile, one record for each instruction and DMA, into a file."""
    return [*tool, "view", "-n", neff, "-s", ntff, "--output-format=json", f"--output-file={output}"]


def view_parquet(tool: Sequence[str], neff: str, ntff: str, directory: str) -> list[str]:
    """`view`: the whole profile as Parquet tables into a directory, with no server after it. neuron-profile has no such format;
    from SDK 2.34 on it is the only one."""
    return [
        *(*tool, "view", "-n", neff, "-s", ntff),
        *("--output-format=parquet", f"--output-file={directory}", "--ingest-only"),
    ]


@dataclass(frozen=True, order=True)
class Trace:
    """An NTFF file that a capture left: its worker rank and number of execution, both as the name says."""

    rank: int
    execution: int
    file: str


def traces(files: Sequence[str], stem: str = "profile") -> list[Trace]:
    """The NTFF files among names, by rank and execution.

    The tool chooses the names (`profile.ntff`, `profile_exec_2.ntff`, `profile_rank_0_exec_2.ntff`), so they are read
    from the directory, not foretold.
    """
    found = []
    for file in files:
        name = trace_name(PurePath(file).stem)
        if file.endswith(SUFFIX) and name.stem == stem:
            found.append(Trace(name.rank or 0, name.execution or 1, file))
    return sorted(found)


def saved_outputs(log: str) -> dict[str, str]:
    """Tensor name → file, from the lines `saved output "out" as "out.2"`; the last line of a tensor counts."""
    return dict(SAVED_OUTPUT.findall(log))
