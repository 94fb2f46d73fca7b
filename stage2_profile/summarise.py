"""One bundle and one of its runs as a row."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from neffs.bundle import Bundle, Manifest
from parsers.errors import ParseError
from stage2_profile import runs
from stage2_profile.check import Verdict, check_outputs
from stage2_profile.metrics import row_numbers
from stage2_profile.peaks import peak_tflops
from stage2_profile.rows import Row, Source, Status, case_fields

if TYPE_CHECKING:
    from parsers.summary import Summary


def failed_row(bundle: Bundle, reason: str, status: Status = "failed") -> Row:
    """A row without numbers."""
    manifest = bundle.manifest
    return Row(
        case=bundle.name,
        **case_fields(manifest.case),
        status=status,
        model_flops=manifest.model_flops,
        compile_time_s=manifest.compile_time_s,
        reason=" ".join(reason.split()),
    )


def run_row(bundle: Bundle, path: Path, record: runs.Run) -> Row:
    """The row of a run: numbers from its summaries, the check from its outputs, everything else from its record."""
    from parsers.profile_json import read_summary

    manifest = bundle.manifest
    files = [execution.summary for execution in record.executions if execution.summary is not None]
    reason = record.reason
    try:
        summaries = [read_summary(path / file) for file in files]
    except (ParseError, OSError) as error:
        summaries, reason = [], f"profiles/{path.name}: {error}; profile it again with --force"
    if record.status == "failed" or reason is not None or (record.status == "viewed" and not summaries):
        row = failed_row(bundle, reason or "the profile has no execution; profile it again with --force")
        tool = f"{record.tool} {record.tool_version}"
        return replace(row, run=path.name, tool=tool, command=reproduce(bundle, record))
    simulated = record.kind == "sim" or any(summary.is_simulation for summary in summaries)
    verdict = _verdict(bundle, path, record)
    first = summaries[0] if summaries else None
    return Row(
        case=bundle.name,
        **case_fields(manifest.case),
        source=_source(simulated),
        status="profiled" if summaries else "captured",
        check=verdict.check,
        max_abs_error=verdict.max_abs_error,
        compile_time_s=manifest.compile_time_s,
        **_numbers(manifest, summaries),
        run=path.name,
        tool=f"{record.tool} {record.tool_version}",
        model=first.simulator_model if first else None,
        time_error=first.simulator_time_error if first else None,
        command=reproduce(bundle, record),
        warnings=record.warnings,
        reason=verdict.reason,
    )


def without_damage(path: Path, record: runs.Run) -> runs.Run:
    """The record with summaries that can be read; a run that has others counts as not viewed yet."""
    from parsers.profile_json import read_summary

    executions = []
    for execution in record.executions:
        try:
            if execution.summary is not None:
                read_summary(path / execution.summary)
        except ParseError:
            execution = msgspec.structs.replace(execution, summary=None)
        executions.append(execution)
    if tuple(executions) == record.executions:
        return record
    return msgspec.structs.replace(record, status="captured", executions=tuple(executions))


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


def _numbers(manifest: Manifest, summaries: Sequence[Summary]) -> dict[str, Any]:
    case = manifest.case
    if not summaries:
        return {"model_flops": manifest.model_flops}
    peak = peak_tflops(case.target, case.dtype, case.lnc)
    return row_numbers(summaries, model_flops=manifest.model_flops, peak=peak)


def _verdict(bundle: Bundle, path: Path, record: runs.Run) -> Verdict:
    if any("--single-io" in command.argv for command in record.commands if command.step == "capture"):
        return Verdict("unchecked", None, "captured with --single-io: the outputs are invalid")
    return check_outputs(bundle, path, record.outputs)


def _source(simulated: bool) -> Source:
    return "simulated" if simulated else "measured"
