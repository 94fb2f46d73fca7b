"""Makes a row of one bundle and one of its runs."""

from __future__ import annotations

import shlex
import statistics
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from neff_bench.chips import peak_tflops
from neff_bench.neffs.bundle import Bundle, Manifest
from neff_bench.parsers.errors import ParseError
from neff_bench.stage2_profile.capture import runs
from neff_bench.stage2_profile.errors import RunDamaged
from neff_bench.stage2_profile.metrics.by_rank import read_summaries, read_summary, slowest
from neff_bench.stage2_profile.metrics.check import (
    Compare,
    Verdict,
    check_outputs,
    checked,
    kept_verdict,
    suspected,
    with_findings,
)
from neff_bench.stage2_profile.metrics.plausible import beside_traces, suspicions
from neff_bench.stage2_profile.metrics.rows import Clock, Row, Status, built_fields
from neff_bench.stage2_profile.metrics.summaries import row_numbers, trace_notes

if TYPE_CHECKING:
    from neff_bench.parsers.summary import Summary

INPUTS_CHANGED = (
    "the kernel writes into its inputs, and the tool did not write them again before each execution: the outputs are those of "
    "a later one; --num-exec 1 --profile-nth-exec 1 checks the first"
)
UNVERIFIED = "not verified: written by an older version, which kept no checksums"


def failed_row(bundle: Bundle, reason: str, status: Status = "failed") -> Row:
    """Return a row without numbers."""
    manifest = bundle.manifest
    return Row(
        case=bundle.name,
        **built_fields(manifest),
        status=status,
        model_flops=manifest.model_flops,
        reason=" ".join(reason.split()),
    )


def run_row(bundle: Bundle, path: Path, record: runs.Run, *, read_traces: bool = False) -> Row:
    """Return the row of a run: numbers from its summaries, of several ranks those of the slowest, the check from its outputs, all else from its record.

    `read_traces`: where no tool has viewed the traces, take what our own reader can tell from them.
    """
    row = _row_of(bundle, path, record, None, read_traces)
    ranks = bundle.manifest.case.ranks
    if ranks == 1 or row.status == "failed":
        return row
    every = tuple(_row_of(bundle, path, record, rank, read_traces) for rank in range(ranks))
    totals = {
        each.rank: each.total_time_us for each in every if each.rank is not None and each.total_time_us is not None
    }
    found = slowest(totals) if totals else None
    return replace(row, slowest_rank=found, by_rank=tuple(replace(each, slowest_rank=found) for each in every))


def _row_of(bundle: Bundle, path: Path, record: runs.Run, rank: int | None, read_traces: bool) -> Row:
    """Return the row of a rank, None for that of the case."""
    reason = record.reason
    try:
        summaries = read_summaries(path, record, rank)
        others = [read_summaries(*other, rank) for other in runs.series(bundle.path, record) if other[0] != path]
        numbers, warnings = _numbers(bundle.manifest, record, path, rank, [summaries, *others], read_traces)
        gap, notes = _system_trace(path, record)
        verdict = _verdict(bundle, path, record)
        if rank is not None and rank < len(verdict.ranks):
            verdict = verdict.ranks[rank]
        verdict = with_findings(verdict, record.findings)
        executions = _numbered(record, summaries)
        # Numbers that cannot all be true make the row suspect, and are shown all the same.
        impossible = suspicions(executions, numbers, bundle.manifest.case.dtype, record.program, record.loaded)
        if impossible := (*impossible, *beside_traces(executions, _traced(record, rank))):
            verdict = suspected(verdict, impossible)
    except RunDamaged as error:
        return _failed_run(bundle, path, record, f"{error}; profile it again with --force")
    except (ParseError, OSError) as error:
        return _failed_run(bundle, path, record, f"profiles/{path.name}: {error}; profile it again with --force")
    # A run that was viewed has summaries; one that was only captured has none yet, and is no failure.
    if record.status == "failed" or reason is not None or (record.status == "viewed" and not summaries):
        return _failed_run(
            bundle, path, record, reason or "the profile has no execution; profile it again with --force"
        )
    first = summaries[0] if summaries else None
    clock: Clock = "execution" if record.tool == runs.UNTRACED else "profile"
    # Without a trace the tool's time is that of one launch, so that both columns hold it.
    if clock == "execution":
        numbers = {**numbers, "execution_time_us": numbers["total_time_us"]}
    return Row(
        case=bundle.name if rank is None else f"{bundle.name}.rank{rank}",
        rank=rank,
        **built_fields(bundle.manifest),
        source="simulated" if record.kind == "sim" or (first and first.is_simulation) else "measured",
        status="profiled" if summaries else "captured",
        check=verdict.check,
        max_abs_error=verdict.max_abs_error,
        deterministic=record.deterministic,
        **numbers,
        gap_us=gap,
        run=path.name,
        tool=_tool(record),
        clock=clock,
        model=first.simulator_model if first else None,
        time_error=first.simulator_time_error if first else None,
        uncompared_operations=first.simulator_uncompared_operations if first else None,
        command=reproduce(bundle, record),
        # The warnings are of the case: the rows of its ranks would repeat them.
        warnings=(
            *bundle.manifest.warnings,
            *record.warnings,
            *warnings,
            *notes,
            *(() if bundle.verified and record.verified else (UNVERIFIED,)),
        )
        if rank is None
        else (),
        findings=record.findings,
        reason=verdict.reason,
    )


def _system_trace(path: Path, record: runs.Run) -> tuple[float | None, tuple[str, ...]]:
    """Return the time between two executions, and what the system trace tells beside it."""
    if record.system_trace is None:
        return None, ()
    from neff_bench.stage2_profile.view.profile_view import calls_of_case, read_system

    runs.check_file(path, record, record.system_trace)
    trace = read_system(path / record.system_trace)
    calls = calls_of_case(trace)
    device_us = statistics.median(calls.durations_us)
    said = (f"{len(calls.durations_us)} executions of {device_us:.2f} us", *trace.remarks)
    return calls.gap_us, (f"system trace: {'; '.join(said)}",)


def _numbered(record: runs.Run, summaries: Sequence[Summary]) -> list[tuple[int, Summary]]:
    """Return the summaries with the numbers of their executions; nrtpy times them after a warm-up, so none of them is the first."""
    viewed = sorted({each.execution for each in record.executions if each.summary is not None})
    numbers = viewed if len(viewed) == len(summaries) else range(2, len(summaries) + 2)
    return list(zip(numbers, summaries))


def _traced(record: runs.Run, rank: int | None) -> dict[int, list[float]]:
    """Return the times that the traces state themselves, by execution; of all ranks where none is named."""
    found: dict[int, list[float]] = {}
    for each in record.executions:
        if each.traced_s is not None and rank in (None, each.rank):
            found.setdefault(each.execution, []).append(each.traced_s)
    return found


def without_damage(path: Path, record: runs.Run) -> runs.Run:
    """Return the record with summaries that can be read; a run that has others counts as not viewed yet."""
    executions = []
    for execution in record.executions:
        try:
            if execution.summary is not None and record.verified:
                runs.check_file(path, record, execution.summary)
            elif execution.summary is not None:
                read_summary(path, record, execution.summary)
        except (ParseError, RunDamaged):
            execution = msgspec.structs.replace(execution, summary=None)
        executions.append(execution)
    if tuple(executions) == record.executions:
        return record
    return msgspec.structs.replace(record, status="captured", executions=tuple(executions))


def with_verdict(bundle: Bundle, path: Path, record: runs.Run, compare: Compare | None = None) -> runs.Run:
    """Return the record with the verdict on its outputs, which is computed and kept unless it is there. `compare`: see `check_outputs`."""
    if record.status == "failed" or _single_io(record) or kept_verdict(bundle, record) is not None:
        return record
    verdict = checked(bundle, path, record, compare)
    if verdict is not None:
        record = msgspec.structs.replace(record, checked=verdict)
        runs.write_run(path, record)
    return record


def is_complete(bundle: Bundle, record: runs.Run) -> bool:
    """Return whether a run has all that its row needs, so that nothing has to be run or written for it."""
    if record.status != "viewed":
        return False
    return _single_io(record) or not record.verified or kept_verdict(bundle, record) is not None


def missing_output(bundle: Bundle, record: runs.Run) -> str | None:
    """Return the name of an output that the capture did not save although it should have, None when there is none."""
    if _single_io(record):
        return None
    saved = [*record.by_rank, *[runs.RankFiles()] * (bundle.manifest.case.ranks - len(record.by_rank))]
    names = [tensor.name for rank in saved for tensor in bundle.manifest.outputs if tensor.name not in rank.outputs]
    return names[0] if names else None


def reproduce(bundle: Bundle, record: runs.Run) -> str | None:
    """Return one shell line that repeats a run in a directory beside it, from the directory above the bundle: its last capture, and what followed."""
    again = shlex.quote(f"{bundle.name}/profiles/again")
    last: dict[tuple[str, ...], str] = {}
    for command in record.commands:
        if command.step == "systrace":  # tells what lies between executions, and nothing of one
            continue
        variables = [f"{name}={shlex.quote(value)}" for name, value in command.environment.items()]
        key = ("capture",) if command.step == "capture" else command.argv
        last[key] = " ".join([*variables, shlex.join(command.argv)])
    return f"(mkdir -p {again} && cd {again} && {' && '.join(last.values())})" if last else None


def _numbers(
    manifest: Manifest,
    record: runs.Run,
    path: Path,
    rank: int | None,
    captures: Sequence[Sequence[Summary]],
    read_traces: bool,
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the numbers of a row, and what must be said about them. `rank`: None for the slowest."""
    case, flops = manifest.case, manifest.model_flops
    peak = peak_tflops(case.target, case.dtype, case.lnc)
    if captures[0]:
        every = [summary for capture in captures for summary in capture]
        several = captures if len(captures) > 1 else ()
        return row_numbers(every, model_flops=flops, peak=peak, captures=several), ()
    if not read_traces or record.status != "captured":
        return {"model_flops": flops}, ()
    from neff_bench.parsers.ntff import read_ntff

    for execution in record.executions:
        runs.check_file(path, record, execution.ntff)
    read = {execution: read_ntff(path / execution.ntff) for execution in record.executions}
    totals = {execution.rank: trace.total_time_s or 0.0 for execution, trace in read.items()}
    chosen = slowest(totals) if rank is None else rank
    traces = [trace for execution, trace in read.items() if execution.rank == chosen]
    return row_numbers(traces=traces, model_flops=flops, peak=peak), trace_notes(traces)


def _failed_run(bundle: Bundle, path: Path, record: runs.Run, reason: str) -> Row:
    row = failed_row(bundle, reason)
    return replace(row, run=path.name, tool=_tool(record), command=reproduce(bundle, record))


def _tool(record: runs.Run) -> str:
    return f"{record.tool} {record.tool_version}"


def _verdict(bundle: Bundle, path: Path, record: runs.Run) -> Verdict:
    if record.status == "failed":
        return Verdict("unchecked")
    if _single_io(record):
        return Verdict("unchecked", None, "captured with --single-io: the outputs are invalid")
    if bundle.manifest.writes_inputs and not _inputs_rewritten(record):
        return Verdict("unchecked", None, INPUTS_CHANGED)
    return kept_verdict(bundle, record) or check_outputs(bundle, path, record)


def _inputs_rewritten(record: runs.Run) -> bool:
    """Return whether every execution found the inputs of the case. nrtpy makes them again before each of its calls."""
    last = next((command.argv for command in reversed(record.commands) if command.step == "capture"), ())
    return record.num_exec == 1 or record.tool == runs.UNTRACED or "--write-tensors-per-exec" in last


def _single_io(record: runs.Run) -> bool:
    return any("--single-io" in command.argv for command in record.commands if command.step == "capture")
