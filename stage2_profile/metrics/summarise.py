"""One bundle and one of its runs as a row."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from neff_bench.neffs.bundle import Bundle, Manifest
from neff_bench.parsers.errors import ParseError
from neff_bench.stage2_profile.capture import runs
from neff_bench.stage2_profile.errors import RunDamaged
from neff_bench.stage2_profile.metrics.check import Verdict, check_outputs, checked, kept_verdict
from neff_bench.stage2_profile.metrics.peaks import peak_tflops
from neff_bench.stage2_profile.metrics.rows import Row, Status, built_fields
from neff_bench.stage2_profile.metrics.summaries import row_numbers, trace_notes, trace_numbers

if TYPE_CHECKING:
    from neff_bench.parsers.summary import Summary

UNVERIFIED = "not verified: written by an older version, which kept no checksums"


def failed_row(bundle: Bundle, reason: str, status: Status = "failed") -> Row:
    """A row without numbers."""
    manifest = bundle.manifest
    return Row(
        case=bundle.name,
        **built_fields(manifest),
        status=status,
        model_flops=manifest.model_flops,
        reason=" ".join(reason.split()),
    )


def run_row(bundle: Bundle, path: Path, record: runs.Run, *, read_traces: bool = False) -> Row:
    """The row of a run: numbers from its summaries, the check from its outputs, everything else from its record.

    `read_traces`: where no tool has viewed the traces, take what our own reader can tell from them.
    """
    reason = record.reason
    try:
        summaries = read_summaries(path, record)
        others = [read_summaries(*other) for other in runs.series(bundle.path, record) if other[0] != path]
        numbers, warnings = _numbers(bundle.manifest, record, path, [summaries, *others], read_traces)
        verdict = _verdict(bundle, path, record)
    except RunDamaged as error:
        return _failed_run(bundle, path, record, f"{error}; profile it again with --force")
    except (ParseError, OSError) as error:
        return _failed_run(bundle, path, record, f"profiles/{path.name}: {error}; profile it again with --force")
    if record.status == "failed" or reason is not None or (record.status == "viewed" and not summaries):
        return _failed_run(
            bundle, path, record, reason or "the profile has no execution; profile it again with --force"
        )
    first = summaries[0] if summaries else None
    return Row(
        case=bundle.name,
        **built_fields(bundle.manifest),
        source="simulated" if record.kind == "sim" or (first and first.is_simulation) else "measured",
        status="profiled" if summaries else "captured",
        check=verdict.check,
        max_abs_error=verdict.max_abs_error,
        **numbers,
        run=path.name,
        tool=_tool(record),
        model=first.simulator_model if first else None,
        time_error=first.simulator_time_error if first else None,
        command=reproduce(bundle, record),
        warnings=(*record.warnings, *warnings, *_unverified(bundle, record)),
        reason=verdict.reason,
    )


def without_damage(path: Path, record: runs.Run) -> runs.Run:
    """The record with summaries that can be read; a run that has others counts as not viewed yet."""
    executions = []
    for execution in record.executions:
        try:
            if execution.summary is not None and record.verified:
                runs.check_file(path, record, execution.summary)
            elif execution.summary is not None:
                _summary(path, record, execution.summary)
        except (ParseError, RunDamaged):
            execution = msgspec.structs.replace(execution, summary=None)
        executions.append(execution)
    if tuple(executions) == record.executions:
        return record
    return msgspec.structs.replace(record, status="captured", executions=tuple(executions))


def with_verdict(bundle: Bundle, path: Path, record: runs.Run) -> runs.Run:
    """The record with the verdict on its outputs, which is computed and kept unless it is there."""
    if record.status == "failed" or _single_io(record) or kept_verdict(bundle, record) is not None:
        return record
    verdict = checked(bundle, path, record)
    if verdict is not None:
        record = msgspec.structs.replace(record, checked=verdict)
        runs.write_run(path, record)
    return record


def is_complete(bundle: Bundle, record: runs.Run) -> bool:
    """Whether a run has all that its row needs, so that nothing has to be run or written for it."""
    if record.status != "viewed":
        return False
    return _single_io(record) or not record.verified or kept_verdict(bundle, record) is not None


def missing_output(bundle: Bundle, record: runs.Run) -> str | None:
    """The name of an output that the capture did not save although it should have, None when there is none."""
    if _single_io(record):
        return None
    names = [tensor.name for tensor in bundle.manifest.outputs if tensor.name not in record.outputs]
    return names[0] if names else None


def reproduce(bundle: Bundle, record: runs.Run) -> str | None:
    """One shell line that repeats a run in a directory beside it: its last capture, and what followed.

    It works from the directory above the bundle and overwrites nothing of the run.
    """
    again = shlex.quote(f"{bundle.name}/profiles/again")
    last: dict[tuple[str, ...], str] = {}
    for command in record.commands:
        variables = [f"{name}={shlex.quote(value)}" for name, value in command.environment.items()]
        key = ("capture",) if command.step == "capture" else command.argv
        last[key] = " ".join([*variables, shlex.join(command.argv)])
    return f"(mkdir -p {again} && cd {again} && {' && '.join(last.values())})" if last else None


def _numbers(
    manifest: Manifest, record: runs.Run, path: Path, captures: Sequence[Sequence[Summary]], read_traces: bool
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The numbers of a row, and what must be said about them."""
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
    traces = [read_ntff(path / execution.ntff) for execution in record.executions]
    return trace_numbers(traces, model_flops=flops, peak=peak), trace_notes(traces)


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
    return kept_verdict(bundle, record) or check_outputs(bundle, path, record)


def _single_io(record: runs.Run) -> bool:
    return any("--single-io" in command.argv for command in record.commands if command.step == "capture")


def _unverified(bundle: Bundle, record: runs.Run) -> tuple[str, ...]:
    return () if bundle.verified and record.verified else (UNVERIFIED,)


def read_summaries(path: Path, record: runs.Run) -> list[Summary]:
    """Of every profiled execution of a run. Raises `RunDamaged` and `ParseError`."""
    if record.timing is not None:
        return _timed(path, record, record.timing)
    return [_summary(path, record, execution.summary) for execution in record.executions if execution.summary]


def _timed(path: Path, record: runs.Run, file: str) -> list[Summary]:
    """Of every execution that nrtpy timed: the time alone."""
    from neff_bench.parsers.summary import Summary
    from neff_bench.stage2_profile.capture.nrtpy import read_times

    try:
        times = read_times(runs.read_file(path, record, file))
    except ValueError as error:
        raise ParseError(file, None, str(error)) from None
    return [Summary(total_time_s=duration_ms / 1e3) for duration_ms in times.durations_ms]


def _summary(path: Path, record: runs.Run, file: str) -> Summary:
    from neff_bench.parsers.profile_json import read_summary

    data = runs.read_file(path, record, file)
    try:
        return read_summary(data)
    except ParseError as error:
        raise ParseError(file, error.offset, error.what) from None
