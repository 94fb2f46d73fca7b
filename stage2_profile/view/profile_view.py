"""Takes the tool-only steps: from the traces of a run to summary and session files. Needs no device."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import msgspec

from neff_bench.neffs.bundle import Bundle
from neff_bench.parsers.errors import ParseError
from neff_bench.stage2_profile.capture import arguments as commands
from neff_bench.stage2_profile.capture import runs
from neff_bench.stage2_profile.capture.conditions import with_throttling
from neff_bench.stage2_profile.capture.environment import recorded, tool_environment
from neff_bench.stage2_profile.capture.failures import diagnose, last_words
from neff_bench.stage2_profile.capture.process import Finished, Limits, describe_exit, run
from neff_bench.stage2_profile.capture.tools import Tool
from neff_bench.stage2_profile.errors import RunDamaged, ToolMissing, ViewFailed
from neff_bench.stage2_profile.metrics.by_rank import shown_execution
from neff_bench.stage2_profile.options import Options
from neff_bench.stage2_profile.view.system_view import Step, view_system_trace
from neff_bench.system.files import write_whole

STDOUT_LIMIT_BYTES = 64 * 1024 * 1024
TRIES = 2


def view(bundle: Bundle, path: Path, record: runs.Run, tool: Tool, options: Options, hold: Sequence[int]) -> runs.Run:
    """Make the summary and the session of every trace of a run and replace its record; returns the new record. Files that are there are kept.

    A trace that cannot be viewed makes the run a failed one; a time-out or an interruption leaves it captured, with the reason.
    """
    if record.kind != tool.kind:
        raise ToolMissing(f"captured by {record.tool}, which {tool.name} cannot view")
    neff = f"../../{bundle.manifest.neff}"
    executions, done_commands, reason = [], list(record.commands), None
    status: Literal["viewed", "captured", "failed"] = "viewed"
    warnings = list(record.warnings)
    for number, execution in enumerate(record.executions, start=1):
        try:
            if execution.summary is None:
                call_view = partial(call, path=path, tool=tool, options=options, hold=hold, record=done_commands)
                file = summarise(tool, neff, execution.ntff, number, path, call_view)
                execution = msgspec.structs.replace(execution, summary=file)
        except ViewFailed as error:
            reason = str(error)
            status = "captured" if error.trace_may_be_good else "failed"
            break
        try:
            if execution.session is None:
                argv = commands.show_session((tool.name,), execution.ntff, tool.command("show-session"))
                step = Step("show-session", argv, f"session-{number}.log", f"session-{number}.json")
                call(step, path, tool, options, hold, done_commands)
                execution = msgspec.structs.replace(execution, session=step.file)
        except ViewFailed as error:
            if options.stop.is_set():
                status, reason = "captured", str(error)
                executions.append(execution)  # its summary is made
                break
            warnings.append(str(error))  # not documented by AWS, and no column depends on it
        executions.append(execution)
    # The system trace is an addition: without it the profile is as good.
    system_trace = record.system_trace
    if system_trace is None and status == "viewed" and (path / runs.SYSTEM).is_dir():
        try:
            call_view = partial(call, path=path, tool=tool, options=options, hold=hold, record=done_commands)
            system_trace = view_system_trace(path, tool, call_view)
        except ViewFailed as error:
            warnings.append(str(error))
    viewed = msgspec.structs.replace(
        record,
        system_trace=system_trace,
        status=status,
        reason=reason,
        warnings=tuple(dict.fromkeys(warnings)),
        executions=(*executions, *record.executions[len(executions) :]),
        commands=tuple(done_commands),
        conditions=with_throttling(record.conditions, [path / each.summary for each in executions if each.summary]),
    )
    written = [*_written(record, viewed), *(runs.files_below(path, system_trace) if system_trace else ())]
    record = runs.with_files(path, viewed, written)
    runs.write_run(path, record)
    return record


def summarise(tool: Tool, neff: str, ntff: str, number: int, path: Path, call_view: Callable[[Step], None]) -> str:
    """Make the summary of a trace as JSON, of a release without it from the Parquet tables; returns its file. Raises `ViewFailed`."""
    known = tool.command("view")
    file, log = f"summary-{number}.json", f"view-{number}.log"
    if "summary-json" in known.formats:
        try:
            call_view(Step("view", commands.view((tool.name,), neff, ntff, "summary-json", known), log, file))
            return file
        except ViewFailed as error:
            if not error.format_gone or "parquet" not in known.formats:
                raise
    tables = f"summary-{number}.parquet"
    shutil.rmtree(path / tables, ignore_errors=True)  # what a killed view left
    call_view(Step("view", commands.view((tool.name,), neff, ntff, "parquet", known, tables), log, None))
    try:
        from neff_bench.parsers.parquet import summary_keys

        summary, metadata = summary_keys(path / tables)
    except ParseError as error:
        raise ViewFailed(f"{tool.name} view: {error}", trace_may_be_good=True) from None
    write_whole(path / file, msgspec.json.encode({"summary": [summary], "metadata": [metadata]}))
    shutil.rmtree(path / tables)
    return file


def view_detail(
    bundle: Bundle, path: Path, record: runs.Run, tool: Tool, options: Options, hold: Sequence[int]
) -> runs.Run:
    """Make the whole profile of the last trace, of the slowest rank's where there are several, unless it is there; returns the new
    record. Raises `ViewFailed`."""
    place = shown_execution(path, record) or 0
    last = record.executions[place]
    if last.detail is not None and _is_good(path, record, last.detail):
        return record
    if record.kind != tool.kind:
        raise ToolMissing(f"captured by {record.tool}, which {tool.name} cannot view")
    number, done_commands = place + 1, list(record.commands)
    reasons = []
    for form in _whole_forms(tool):
        file = f"profile-{number}.{form}"
        shutil.rmtree(path / file, ignore_errors=True)  # what a killed view left of its tables
        neff = f"../../{bundle.manifest.neff}"
        argv = commands.view((tool.name,), neff, last.ntff, form, tool.command("view"), file)
        try:
            step = Step("view", argv, f"profile-{number}-{form}.log", None)
            call(step, path, tool, options, hold, done_commands)
        except ViewFailed as error:
            if error.trace_may_be_good:
                raise
            reasons.append(f"{form}: {error}")
            continue
        if _kind(path / file) == form:
            break
        reasons.append(f"{form}: {tool.name} view wrote no {file}")
    else:
        raise ViewFailed("; ".join(reasons))
    detailed = msgspec.structs.replace(last, detail=file)
    executions = (*record.executions[:place], detailed, *record.executions[place + 1 :])
    new = done_commands[len(record.commands) :]
    others = {name: sums for name, sums in record.files.items() if not name.startswith(f"{file}/")}
    record = msgspec.structs.replace(record, executions=executions, commands=tuple(done_commands), files=others)
    record = runs.with_files(path, record, [*runs.files_below(path, file), *(command.log for command in new)])
    runs.write_run(path, record)
    return record


def _whole_forms(tool: Tool) -> list[str]:
    """Return the forms of the whole profile to ask for, the best first, of those that the tool's release writes. Parquet is read with
    pyarrow only; our own simulator writes JSON in less time."""
    if tool.kind == "sim":
        return ["json"]
    forms = ("parquet", "json") if find_spec("pyarrow") is not None else ("json", "parquet")
    return [form for form in forms if form in tool.command("view").formats]


def _kind(path: Path) -> str | None:
    """Return what a tool wrote at a path; None for nothing, and for what is no profile."""
    from neff_bench.parsers.kinds import kind_of

    try:
        return kind_of(path)
    except ParseError:
        return None


def _written(before: runs.Run, after: runs.Run) -> list[str]:
    """Return what was made between two records: the JSON of executions that had none, and the logs of the calls."""
    files = [command.log for command in after.commands[len(before.commands) :]]
    for old, new in zip(before.executions, after.executions, strict=True):
        files += [name for name in (new.summary, new.session) if name not in (None, old.summary, old.session)]
    return files


def _is_good(path: Path, record: runs.Run, file: str) -> bool:
    try:
        runs.check_file(path, record, file)
    except RunDamaged:
        return False
    return (path / file).exists()


def call(step: Step, path: Path, tool: Tool, options: Options, hold: Sequence[int], record: list[runs.Command]) -> None:
    """Run one step, twice if it fails, keep its JSON under `step.file` and append to `record`. Raises `ViewFailed`."""
    for _attempt in range(TRIES):
        env = tool_environment(options.environ, path)
        limits = Limits(options.timeout_s, options.stop, STDOUT_LIMIT_BYTES)
        done = run([*tool.argv, *step.argv[1:]], path, env, limits, hold, options.warm)
        write_whole(path / step.log, done.stderr)
        record.append(
            runs.Command(
                step=step.name,
                argv=tuple(step.argv),
                environment=recorded(env),
                exit_code=done.exit_code,
                timed_out=done.timed_out,
                seconds=round(done.seconds, 3),
                log=step.log,
            )
        )
        wrong = what_is_wrong(step, done, options.timeout_s)
        if wrong is None:
            if step.file is not None:
                write_whole(path / step.file, done.stdout)
            return
        if done.timed_out or done.stopped:
            raise ViewFailed(f"{tool.name} {step.name}: {wrong}", trace_may_be_good=True)
        failure = diagnose(done.log) if done.exit_code else None
        if failure is not None and failure.answer == "other_format":
            raise ViewFailed(f"{tool.name} {step.name}: {wrong}", format_gone=True)
    raise ViewFailed(f"{tool.name} {step.name}: {wrong}")


def what_is_wrong(step: Step, done: Finished, timeout_s: float) -> str | None:
    """Return why the output of a step is of no use, None when it is."""
    if done.exit_code != 0 or done.timed_out or done.stopped or done.overflowed:
        how = describe_exit(done, timeout_s)
        if done.timed_out or done.stopped or done.overflowed:
            return how
        text = done.stderr.decode("utf-8", "replace")
        failure = diagnose(text)
        return failure.explain(text) if failure else f"{how}: {last_words(text)}"
    if step.file is None:
        return None
    try:
        if step.name == "view":
            from neff_bench.parsers.profile_json import read_summary

            if read_summary(done.stdout).total_time_s is None:
                return "its summary has no total_time"
        else:
            from neff_bench.parsers.json_text import read_json

            msgspec.json.decode(read_json(done.stdout)[0])  # the runtime's log lines may come before it
    except (ParseError, msgspec.DecodeError, UnicodeDecodeError) as error:
        return f"its output is not the JSON that was asked for ({error})"
    return None
