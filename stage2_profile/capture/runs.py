"""Keeps profiles on disk: `profiles/<number>/` inside a bundle.

run.json             the record below, with a checksum of itself and of every other file of the run
profile*.ntff        the traces, under the names that the tool chose
<output>             captured output tensors, under the names that the tool chose
summary-<n>.json     `view --output-format=summary-json` of each trace
session-<n>.json     `show-session -j` of each trace
profile-<n>.parquet/ `view --output-format=parquet` of the last trace, when its hot spots or its page were asked for
profile-<n>.json     `view --output-format=json` in its place, from a tool that writes no Parquet
system/              what `capture -t systrace` left, when a system trace was asked for
system-trace.json    `view --output-format=json` of it (or system-trace.parquet/)
capture.log view-<n>.log ...   what the tools printed
benchmark.json      the times of a run by nrtpy, which has no trace and nothing to view

A run appears whole (written beside, fsynced, renamed) after the device step; the tool-only steps add their files and
replace `run.json` last. Paths in it are relative to the run's directory, so a bundle can be moved.

Runs are ordered by their numbers, never by a clock. Runs of older versions are named after the time of their capture and
have no checksums; they come before all numbered ones.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Literal

import msgspec

from neff_bench.neffs.bundle import LOCK, PROFILES, files_below
from neff_bench.neffs.checksums import FileSum, Unsealed, check_seal, plain_status, seal, sum_file, wrong_file
from neff_bench.neffs.findings import Finding
from neff_bench.stage2_profile.capture.conditions import Conditions
from neff_bench.stage2_profile.capture.environment import recorded
from neff_bench.stage2_profile.capture.process import Finished
from neff_bench.stage2_profile.errors import RunDamaged
from neff_bench.system.decoding import decoder
from neff_bench.system.files import sync, write_whole
from neff_bench.system.lock import try_lock, unlock

RECORD = "run.json"
WORK = ".work-"
PLAIN_NAME = re.compile(r"(output_worker_[0-9]+/)?[^-./][^/\0]*")
"""No option and no path, except into the folders that tools make for ranks: what a run may name lies beside its record."""
SYSTEM = "system"
"""The folder of a run that has the system trace as the tool left it."""
UNTRACED = "nrtpy"
"""The tool whose runs have times and no trace."""
SCHEMA = 2
"""1 had no checksums."""

_NUMBER = re.compile(r"[1-9][0-9]{0,17}")
_TIME = re.compile(r"[0-9]{8}T[0-9]{6}-[0-9]{6}")


Step = Literal["capture", "view", "show-session", "systrace"]


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a tool. `argv`: as called in the run's directory; `environment`: the variables that matter."""

    step: Step
    argv: tuple[str, ...]
    environment: dict[str, str]
    exit_code: int
    timed_out: bool
    seconds: float
    log: str


def called(step: Step, argv: Sequence[str], env: Mapping[str, str], done: Finished, log: str) -> Command:
    """Return the record of a call that is done."""
    return Command(
        step=step,
        argv=tuple(argv),
        environment=recorded(env),
        exit_code=done.exit_code,
        timed_out=done.timed_out,
        seconds=round(done.seconds, 3),
        log=log,
    )


class Execution(msgspec.Struct, frozen=True, kw_only=True):
    """One profiled execution: its trace, the time that the trace states, and what `view` and `show-session` made of it (None: not yet). `detail`:
    the whole profile, a JSON file or a directory of Parquet tables, which is made only when it is asked for."""

    rank: int
    execution: int
    ntff: str
    traced_s: float | None = None
    summary: str | None = None
    session: str | None = None
    detail: str | None = None


KeptCheck = Literal["passed", "wrong", "not built", "suspect", "unchecked", "failed", "zero"]
"""Earlier versions wrote `failed` and `zero` for what is `wrong`."""


class CheckedRank(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on the outputs of one rank."""

    check: KeptCheck
    max_abs_error: float | None = None
    reason: str | None = None


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on the outputs, the worst of all ranks. `compared`: sha256 over everything that it depends on (outputs,
    references, tolerance), so that it counts only as long as these are the same. `ranks`: of each rank, where there are several."""

    compared: str
    check: KeptCheck
    max_abs_error: float | None = None
    reason: str | None = None
    ranks: tuple[CheckedRank, ...] = ()


class RankFiles(msgspec.Struct, frozen=True):
    """Holds what a capture left of one rank: tensor name → file of the output, and the file of nrtpy's times."""

    outputs: dict[str, str] = {}
    timing: str | None = None


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """Holds what `run.json` says.

    `status`: `captured` (the device step is done), `viewed` (the numbers are there), `failed` with a `reason`.
    `cores`: physical cores. `outputs`: tensor name → file; empty when they are not to be trusted. `files`: size and sha256
    of every other file of the run, by its path in it. `series`: the number of the first of the captures that were taken for
    one median, None for a capture by itself. `warmup`: executions before the first that counts. `timing`: the file of nrtpy's
    times. `conditions`: of a measured run. `findings`: of a simulated one. `program`: instructions of the NEFF by engine, of the streams
    in which each one runs; `loaded`: with those of the loader, by the trace. `deterministic`: whether all executions had the same outputs; None where the tool did not compare them.
    `system_trace`: what `view` made of the system trace, None where there is none.
    With several ranks `outputs` and `timing` are those of rank 0, and `other_ranks` has the others.
    """

    status: Literal["captured", "viewed", "failed"]
    neff_sha256: str | None
    tool: str
    tool_version: str
    kind: Literal["neuron", "sim"]
    num_exec: int
    profile_nth_exec: int
    lnc: int
    created: str
    cores: tuple[int, ...] = ()
    reason: str | None = None
    warnings: tuple[str, ...] = ()
    outputs: dict[str, str] = {}
    executions: tuple[Execution, ...] = ()
    commands: tuple[Command, ...] = ()
    checked: Checked | None = None
    files: dict[str, FileSum] = {}
    series: str | None = None
    warmup: int = 0
    timing: str | None = None
    conditions: Conditions | None = None
    other_ranks: tuple[RankFiles, ...] = ()
    findings: tuple[Finding, ...] = ()
    program: dict[str, int] = {}
    loaded: dict[str, int] = {}
    deterministic: bool | None = None
    system_trace: str | None = None
    schema: int = SCHEMA

    @property
    def by_rank(self) -> tuple[RankFiles, ...]:
        """The outputs and times of every rank."""
        return (RankFiles(self.outputs, self.timing), *self.other_ranks)

    @property
    def verified(self) -> bool:
        """Whether the run has checksums; those of schema 1 have none."""
        return self.schema >= 2


_DECODER = decoder(Run)
_ENCODER = msgspec.json.Encoder()


def read_run(directory: Path) -> Run:
    """Return the record of a run. Raises `RunDamaged` when it is absent, damaged, or of a newer version."""
    try:
        if plain_status(directory / RECORD) is None:
            raise RunDamaged(directory, f"{RECORD} is not a plain file")
        data = (directory / RECORD).read_bytes()
        run = _DECODER.decode(data)
        check_seal(data)
    except Unsealed as error:
        if not error.absent or run.verified:
            raise RunDamaged(directory, f"{RECORD} is damaged ({error})") from None
    except OSError as error:
        raise RunDamaged(directory, f"cannot read {RECORD}: {error.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RunDamaged(directory, f"{RECORD} is damaged ({error})") from None
    if run.schema > SCHEMA:
        raise RunDamaged(directory, f"{RECORD} has schema {run.schema}, newer than {SCHEMA}; update neff-bench")
    if not all(PLAIN_NAME.fullmatch(name) for name in named_files(run)):
        raise RunDamaged(directory, f"{RECORD} names a file that is outside the run")
    return run


def named_files(run: Run) -> Iterator[str]:
    """Yield the outputs, traces and JSON files that the record names; logs aside."""
    yield from rank_files(run)
    if run.system_trace is not None:
        yield run.system_trace
    for execution in run.executions:
        named = (execution.ntff, execution.summary, execution.session, execution.detail)
        yield from (name for name in named if name is not None)


def rank_files(run: Run) -> Iterator[str]:
    """Yield the outputs of all ranks, and the files of nrtpy's times."""
    for rank in run.by_rank:
        yield from rank.outputs.values()
        if rank.timing is not None:
            yield rank.timing


def number_files(run: Run) -> Iterator[str]:
    """Yield the files that the numbers of a row come from."""
    yield from (execution.summary for execution in run.executions if execution.summary is not None)
    yield from (rank.timing for rank in run.by_rank if rank.timing is not None)


def write_run(directory: Path, run: Run) -> None:
    """Replace `run.json` in one step."""
    document = msgspec.json.format(_ENCODER.encode(run), indent=2) + b"\n"
    write_whole(directory / RECORD, seal(document) if run.verified else document)


def with_files(directory: Path, run: Run, names: Iterable[str]) -> Run:
    """Return the record with size and sha256 of these files as they are now; a run of an older version stays without."""
    if not run.verified:
        return run
    found = {name: sum_file(directory / name) for name in names if (directory / name).is_file()}
    return msgspec.structs.replace(run, files={**run.files, **found})


def check_file(directory: Path, run: Run, name: str) -> None:
    """Compare a file of a run, or each file of a directory, with its sha256. Raises `RunDamaged`; a run of an older version passes."""
    if run.verified:
        recorded = {file: sums for file, sums in run.files.items() if file == name or file.startswith(f"{name}/")}
        expected = recorded or {name: FileSum(None, "")}
        wrong = wrong_file(directory, expected)
        if wrong is not None:
            raise RunDamaged(directory, wrong)


def read_file(directory: Path, run: Run, name: str) -> bytes:
    """Return the content of a file of a run, compared with its sha256. Raises `RunDamaged`."""
    try:
        data = (directory / name).read_bytes()
    except OSError as error:
        raise RunDamaged(directory, f"cannot read {name}: {error.strerror}") from None
    if run.verified and (name not in run.files or sha256(data).hexdigest() != run.files[name].sha256):
        raise RunDamaged(directory, f"{name} was changed after it was written")
    return data


def order(name: str) -> tuple[int, int, str] | None:
    """Return the place of a run among the runs of its bundle, by its name; None for the name of anything else."""
    if _NUMBER.fullmatch(name):
        return (1, int(name), name)
    return (0, 0, name) if _TIME.fullmatch(name) else None


def run_directories(bundle: Path) -> list[Path]:
    """Return the directories of the runs of a bundle, newest first."""
    try:
        names = os.listdir(bundle / PROFILES)
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [bundle / PROFILES / name for name in sorted(filter(order, names), key=order, reverse=True)]  # type: ignore[arg-type]


def readable(bundle: Path, damaged: list[str] | None = None) -> Iterator[tuple[Path, Run]]:
    """Yield the runs of a bundle that can be read, newest first. `damaged`: gets what is wrong with the others."""
    for path in run_directories(bundle):
        try:
            yield path, read_run(path)
        except RunDamaged as error:
            if damaged is not None:
                damaged.append(str(error))


@dataclass(frozen=True)
class Best:
    """The run that speaks for a bundle. `damaged`: what is wrong with runs that may have been better."""

    found: tuple[Path, Run] | None
    damaged: tuple[str, ...] = ()


def best_run(bundle: Path, neff_sha256: str | None, *, traced: bool | None = None) -> Best:
    """Return the newest run of this NEFF that has numbers, else the newest captured, else the newest that failed.

    `traced`: only those of a profiler, or only those of nrtpy.
    """
    others: dict[str, tuple[Path, Run]] = {}
    damaged: list[str] = []
    for path, run in readable(bundle, damaged):
        if run.neff_sha256 != neff_sha256 or traced not in (None, run.tool != UNTRACED):
            continue
        if run.status == "viewed":
            return Best((path, run), tuple(damaged))
        others.setdefault(run.status, (path, run))
    return Best(others.get("captured") or others.get("failed"), tuple(damaged))


def series(bundle: Path, run: Run) -> list[tuple[Path, Run]]:
    """Return the runs with numbers of the series of a run, newest first; none for a run that belongs to no series. Damaged ones are
    left out: the others give the median."""
    if run.series is None:
        return []
    asked = (run.series, run.neff_sha256, "viewed")
    return [
        (path, other) for path, other in readable(bundle) if (other.series, other.neff_sha256, other.status) == asked
    ]


@contextmanager
def locked(bundle: Path) -> Iterator[int | None]:
    """Hold the profiles of a bundle; None when another process holds them. Leftovers of killed holders are removed."""
    profiles = bundle / PROFILES
    profiles.mkdir(exist_ok=True)
    descriptor = try_lock(profiles / LOCK)
    if descriptor is None:
        yield None
        return
    try:
        for entry in profiles.glob(f"{WORK}*"):
            shutil.rmtree(entry, ignore_errors=True)
        for directory in run_directories(bundle):
            for unwritten in directory.glob(".*"):  # a file of a run has no such name
                if not unwritten.is_dir():
                    unwritten.unlink(missing_ok=True)
        yield descriptor
    finally:
        unlock(profiles / LOCK, descriptor)


def remove_left_lock(bundle: Path) -> None:
    """Remove the lock of a holder that was killed when its run was whole, which no other capture may come to remove. Nothing
    happens to one that a process holds, and to what cannot be locked."""
    try:
        if (bundle / PROFILES / LOCK).is_file():
            with locked(bundle):
                pass
    except OSError:
        pass  # the bundle's row says it


def new_work(bundle: Path) -> Path:
    """Return an empty directory for a run that is not published yet; call it under the lock."""
    taken = [place[1] for name in os.listdir(bundle / PROFILES) if (place := order(name)) is not None]
    work = bundle / PROFILES / f"{WORK}{max(taken, default=0) + 1}"
    work.mkdir()
    return work


def publish(work: Path, run: Run) -> tuple[Path, Run]:
    """Make a work directory a run. Older failed runs go; good ones stay. Returns the run's directory and its record."""
    for file in list(work.rglob("*")):
        if file.is_symlink() or (file.name.startswith(".") and file.is_file()):
            file.unlink()
        elif file.is_file():
            sync(file)
    run = with_files(work, run, files_below(work))
    write_run(work, run)
    sync(work)
    final = work.with_name(work.name.removeprefix(WORK))
    os.rename(work, final)
    sync(final.parent)
    for path, old in readable(final.parent.parent):
        if path != final and old.status == "failed":
            remove(path)
    return final, run


def remove(path: Path) -> None:
    """Remove a run, first out of sight: what is left of a removal that was killed is swept away with other leftovers."""
    leftover = path.with_name(f"{WORK}{path.name}")
    os.rename(path, leftover)
    shutil.rmtree(leftover, ignore_errors=True)
