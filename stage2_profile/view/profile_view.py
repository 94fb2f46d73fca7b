"""Takes the tool-only steps: from the traces of a run to summary and session files. Needs no device."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import msgspec

from neff_bench.neffs.bundle import Bundle, files_below
from neff_bench.parsers.errors import ParseError
from neff_bench.parsers.system_trace import TABLE, Calls, SystemTrace, read_system_trace
from neff_bench.sdk.words import FlagAbsent
from neff_bench.stage2_profile.capture import arguments as commands
from neff_bench.stage2_profile.capture import runs
from neff_bench.stage2_profile.capture.conditions import with_throttling
from neff_bench.stage2_profile.capture.environment import tool_environment
from neff_bench.stage2_profile.capture.failures import diagnose, last_words
from neff_bench.stage2_profile.capture.process import Finished, Limits, describe_exit, run
from neff_bench.stage2_profile.capture.tools import Tool
from neff_bench.stage2_profile.errors import RunDamaged, ToolMissing, ViewFailed
from neff_bench.stage2_profile.metrics.by_rank import shown_execution
from neff_bench.stage2_profile.options import Options
from neff_bench.system.files import remove, write_whole

STDOUT_LIMIT_BYTES = 64 * 1024 * 1024
TRIES = 2
ITS_OWN_NAME = "system_profile.json"
"""What AWS's pages call the view of a system trace beside --output-file; they do not say which one counts."""


@dataclass(frozen=True)
class Step:
    """A call of the tool on one trace. `file`: where the JSON of its standard output goes, None for a tool that writes a file
    of its own."""

    name: runs.Step
    argv: list[str]
    log: str
    file: str | None = None


@dataclass(frozen=True)
class Viewer:
    """Calls a tool in the directory of a run. `hold`: file descriptors (locks) that stay open until it is gone. `commands`: gets a record of each
    call."""

    path: Path
    tool: Tool
    options: Options
    hold: Sequence[int]
    commands: list[runs.Command]

    def call(self, step: Step) -> None:
        """Run one step, twice if it fails, and keep its JSON under `step.file`. Raises `ViewFailed`."""
        for _attempt in range(TRIES):
            env = tool_environment(self.options.environ, self.path)
            limits = Limits(self.options.timeout_s, self.options.stop, STDOUT_LIMIT_BYTES)
            argv = [*self.tool.argv, *step.argv[1:]]
            done = run(argv, self.path, env, limits, self.hold, self.options.warm)
            write_whole(self.path / step.log, done.stderr)
            self.commands.append(runs.called(step.name, step.argv, env, done, step.log))
            wrong = what_is_wrong(step, done, self.options.timeout_s)
            if wrong is None:
                if step.file is not None:
                    write_whole(self.path / step.file, done.stdout)
                return
            if done.timed_out or done.stopped:
                raise ViewFailed(f"{self.tool.name} {step.name}: {wrong}", trace_may_be_good=True)
            failure = diagnose(done.log) if done.exit_code else None
            if failure is not None and failure.answer == "other_format":
                raise ViewFailed(f"{self.tool.name} {step.name}: {wrong}", format_gone=True)
        raise ViewFailed(f"{self.tool.name} {step.name}: {wrong}")


def view(bundle: Bundle, path: Path, record: runs.Run, tool: Tool, options: Options, hold: Sequence[int]) -> runs.Run:
    """Make the summary and the session of every trace of a run and replace its record; returns the new record. Files that are there are kept.

    A trace that cannot be viewed makes the run a failed one; a time-out or an interruption leaves it captured, with the reason.
    """
    if record.kind != tool.kind:
        raise ToolMissing(f"captured by {record.tool}, which {tool.name} cannot view")
    neff = f"../../{bundle.manifest.neff}"
    viewer = Viewer(path, tool, options, hold, list(record.commands))
    executions, reason = [], None
    status: Literal["viewed", "captured", "failed"] = "viewed"
    warnings = list(record.warnings)
    for number, execution in enumerate(record.executions, start=1):
        try:
            if execution.summary is None:
                file = summarise(viewer, neff, execution.ntff, number)
                execution = msgspec.structs.replace(execution, summary=file)
        except ViewFailed as error:
            reason = str(error)
            status = "captured" if error.trace_may_be_good else "failed"
            break
        try:
            if execution.session is None:
                argv = commands.show_session((tool.name,), execution.ntff, tool.command("show-session"))
                step = Step("show-session", argv, f"session-{number}.log", f"session-{number}.json")
                viewer.call(step)
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
            system_trace = view_system_trace(viewer)
        except ViewFailed as error:
            warnings.append(str(error))
    viewed = msgspec.structs.replace(
        record,
        system_trace=system_trace,
        status=status,
        reason=reason,
        warnings=tuple(dict.fromkeys(warnings)),
        executions=(*executions, *record.executions[len(executions) :]),
        commands=tuple(viewer.commands),
        conditions=with_throttling(record.conditions, [path / each.summary for each in executions if each.summary]),
    )
    written = [*_written(record, viewed), *(files_below(path, system_trace) if system_trace else ())]
    record = runs.with_files(path, viewed, written)
    runs.write_run(path, record)
    return record


def summarise(viewer: Viewer, neff: str, ntff: str, number: int) -> str:
    """Make the summary of a trace as JSON, of a release without it from the Parquet tables; returns its file. Raises `ViewFailed`."""
    path, tool = viewer.path, viewer.tool
    known = tool.command("view")
    file, log = f"summary-{number}.json", f"view-{number}.log"
    if "summary-json" in known.formats:
        try:
            viewer.call(Step("view", commands.view((tool.name,), neff, ntff, "summary-json", known), log, file))
            return file
        except ViewFailed as error:
            if not error.format_gone or "parquet" not in known.formats:
                raise
    tables = f"summary-{number}.parquet"
    remove(path / tables)  # what a killed view left
    viewer.call(Step("view", commands.view((tool.name,), neff, ntff, "parquet", known, tables), log))
    try:
        from neff_bench.parsers.parquet import summary_keys

        summary, metadata = summary_keys(path / tables)
    except ParseError as error:
        raise ViewFailed(f"{tool.name} view: {error}", trace_may_be_good=True) from None
    write_whole(path / file, msgspec.json.encode({"summary": [summary], "metadata": [metadata]}))
    remove(path / tables)
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
    viewer, reasons = Viewer(path, tool, options, hold, list(record.commands)), []
    for form in _whole_forms(tool):
        file = f"profile-{place + 1}.{form}"
        remove(path / file)  # what a killed view left
        neff = f"../../{bundle.manifest.neff}"
        argv = commands.view((tool.name,), neff, last.ntff, form, tool.command("view"), file)
        try:
            viewer.call(Step("view", argv, f"profile-{place + 1}-{form}.log"))
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
    new = viewer.commands[len(record.commands) :]
    others = {name: sums for name, sums in record.files.items() if not name.startswith(f"{file}/")}
    record = msgspec.structs.replace(record, executions=executions, commands=tuple(viewer.commands), files=others)
    record = runs.with_files(path, record, [*files_below(path, file), *(command.log for command in new)])
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


def view_system_trace(viewer: Viewer) -> str:
    """Make a file of the system trace in a run; returns its name. Raises `ViewFailed`."""
    path, tool, reasons = viewer.path, viewer.tool, []
    known = tool.command("view")
    for form in (form for form in ("json", "parquet") if form in known.formats):
        file = f"system-trace.{form}"
        remove(path / file)  # what a killed view left
        try:
            argv = commands.view_system_trace((tool.name,), runs.SYSTEM, form, known, file)
            viewer.call(Step("systrace", argv, f"system-{form}.log"))
            for own in (path / ITS_OWN_NAME, path / runs.SYSTEM / ITS_OWN_NAME):
                if not (path / file).exists() and own.is_file():
                    os.replace(own, path / file)
            read_system(path / file)
            return file
        except (FlagAbsent, ParseError, OSError) as error:
            reasons.append(f"{tool.name} view: {error}")
        except ViewFailed as error:
            reasons.append(str(error))
    raise ViewFailed(f"no system trace: {'; '.join(reasons)}")


def read_system(path: Path) -> SystemTrace:
    """Read the file or the folder of tables that `view_system_trace` left. Raises ParseError."""
    return read_system_trace(path / TABLE if path.is_dir() else path)


def calls_of_case(trace: SystemTrace) -> Calls:
    """Return the NEFF that ran most often: a capture runs one, and the runtime may run small ones of its own."""
    return max(trace.calls, key=lambda calls: len(calls.durations_us))
