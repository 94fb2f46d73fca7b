"""Declares `neff-bench inspect`, which shows what is in a file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neff_bench.terminal import streams
from neff_bench.terminal.command import command
from neff_bench.terminal.options import PATH, OutputOptions, argument, takes
from neff_bench.terminal.output import write_answer

HELP = """Show what is in a NEFF, an NTFF, an HLO module or a profile JSON, with no AWS tool installed.

PATH is a file, a Parquet profile of neuron-explorer, or a directory to look through: a directory is shown as lists, NEFF sizes against
shapes. What an NTFF says is marked: exact (equal to what AWS's profiler reads: version 6 on trn2), calibrated (times within 0.5 % of
that: version 5 on inf2), unverified (never compared), or simulated. A trace that lies
beside a NEFF, or is named together with one, is checked to be of that program. A profile's derived figures are recomputed from its counters.

\b
neff-bench inspect graph.neff
neff-bench inspect profile_exec_2.ntff file.neff
neff-bench inspect ntff.json --format json | jq .summary.total_time_s
neff-bench inspect graph.hlo
neff-bench inspect ./captures

\b
JSON is one object for a file, a list for several files or a directory.
  NEFF     compiler_version target lnc uuid inputs outputs (name shape dtype bytes) engines.*.instruction_count
  NTFF     version certainty total_time_s neuroncore_cycle_count event_count matmul_instruction_count
           engines.{tensor,scalar,vector,gpsimd,sync}.{instruction_count,instruction_time_s,active_time_s}
           dma.{packets,bytes,active_time_s} dma_kinds.{static,software_dynamic,hardware_dynamic}.{packets,bytes,active_time_s}
           dma_queue_count total_active_time_s trace_count target
  HLO      name flops parameters results (shape dtype) computations (name instruction_count flops opcodes dots)
  profile  summary (the profiler's keys: X_time is X_time_s, X_percent is X_fraction) self_check

Exit status: 0 done, 1 a file cannot be read or a trace is of another program, 2 wrong call.
"""


@dataclass(frozen=True, kw_only=True)
class InspectOptions(OutputOptions):
    """Holds what is looked at."""

    paths: tuple[Path, ...] = argument(required=True, metavar="PATH...", nargs=-1, type=PATH)


@command("inspect", help=HELP)
@takes(InspectOptions)
def inspect(options: InspectOptions) -> int:
    """Describe each file; returns the exit code."""
    from neff_bench.parsers.tables import answer

    paths, format = options.paths, options.format
    several = len(paths) > 1 or (paths[0].is_dir() and not (paths[0] / "Summary.parquet").is_file())
    found: list[dict[str, Any]] = []
    failed = False
    for one in _look_at(paths):
        if "error" in one:
            streams.error(one["error"])
        failed |= "error" in one or _other_program(one)
        found.append(one)
    if several or (found and "error" not in found[0]):
        write_answer(answer(found, lists=several), format, options.output)
    return 1 if failed else 0


def _look_at(paths: tuple[Path, ...]) -> Iterator[dict[str, Any]]:
    """Yield a description of each file; `{"path": ..., "error": ...}` for one that cannot be read."""
    from neff_bench.parsers.describe import describe, files_under
    from neff_bench.parsers.errors import ParseError

    unreadable: list[OSError] = []
    files = {path: files_under(path, unreadable) for path in paths}
    for closed in unreadable:
        yield {"path": closed.filename, "error": f"{closed.filename}: cannot be looked through: {closed.strerror}"}
    named = [path for path in paths if path.suffix == ".neff"]
    for path in paths:
        for file in files[path]:
            try:
                one = describe(file, named)
            except ParseError as error:
                yield {"path": str(file), "error": str(error)}
                continue
            if one is not None:
                yield one
            elif not path.is_dir():
                yield {"path": str(file), "error": f"{file}: JSON, but no profile"}


def _other_program(one: dict[str, Any]) -> bool:
    program = one.get("neff")
    if not program or program["same_program"] is not False:
        return False
    streams.error(f"{one['path']}: not a trace of {program['path']}: the uuids differ")
    return True
