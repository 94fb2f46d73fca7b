"""Profiles on disk: `profiles/<run>/` inside a bundle.

run.json             the record below
profile*.ntff        the traces, under the names that the tool chose
<output>             captured output tensors, under the names that the tool chose
summary-<n>.json     `view --output-format=summary-json` of each trace
session-<n>.json     `show-session -j` of each trace
profile-<n>.json     `view --output-format=json` of the last trace, when its hot spots were asked for
capture.log view-<n>.log ...   what the tools printed

A run appears whole (written beside, fsynced, renamed) after the device step; the tool-only steps add their files and
replace `run.json` last. Paths in it are relative to the run's directory, so a bundle can be moved.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import msgspec

from neff_bench.neffs.lock import try_lock, unlock

PROFILES = "profiles"
RECORD = "run.json"
PLAIN_NAME = re.compile(r"[^-./][^/\0]*")
"""No path, no option: what a run may name lies beside its record."""
SCHEMA = 1


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a tool. `argv`: as called in the run's directory; `environment`: the variables that matter."""

    step: Literal["capture", "view", "show-session"]
    argv: tuple[str, ...]
    environment: dict[str, str]
    exit_code: int
    timed_out: bool
    seconds: float
    log: str


class Execution(msgspec.Struct, frozen=True, kw_only=True):
    """One profiled execution: its trace, and what `view` and `show-session` made of it (None: not yet). `detail`:
    the whole-profile JSON, which is made only when it is asked for."""

    rank: int
    execution: int
    ntff: str
    summary: str | None = None
    session: str | None = None
    detail: str | None = None


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """What `run.json` says.

    `status`: `captured` (the device step is done), `viewed` (the numbers are there), `failed` with a `reason`.
    `cores`: physical cores. `outputs`: tensor name → file; empty when they are not to be trusted.
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
    schema: int = SCHEMA


def read_run(directory: Path) -> Run | None:
    """The record of a run, None when it is absent or damaged (such a run counts as none)."""
    try:
        run = msgspec.json.decode((directory / RECORD).read_bytes(), type=Run)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    files = [*run.outputs.values()]
    for execution in run.executions:
        named = (execution.ntff, execution.summary, execution.session, execution.detail)
        files += [file for file in named if file is not None]
    return run if run.schema <= SCHEMA and all(PLAIN_NAME.fullmatch(file) for file in files) else None


def write_run(directory: Path, run: Run) -> None:
    """Replace `run.json` in one step."""
    write_file(directory / RECORD, msgspec.json.format(msgspec.json.encode(run), indent=2) + b"\n")


def write_file(path: Path, data: bytes) -> None:
    """Write beside, fsync, rename."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with beside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def runs(bundle: Path) -> list[tuple[Path, Run]]:
    """The readable runs of a bundle, newest first."""
    try:
        names = sorted(
            (entry.name for entry in os.scandir(bundle / PROFILES) if not entry.name.startswith(".")), reverse=True
        )
    except (FileNotFoundError, NotADirectoryError):
        return []
    found = ((bundle / PROFILES / name, read_run(bundle / PROFILES / name)) for name in names)
    return [(path, run) for path, run in found if run is not None]


def best_run(bundle: Path, neff_sha256: str | None) -> tuple[Path, Run] | None:
    """The newest run of this NEFF that has numbers, else the newest captured, else the newest that failed."""
    order = {"viewed": 0, "captured": 1, "failed": 2}
    mine = [(path, run) for path, run in runs(bundle) if run.neff_sha256 == neff_sha256]
    return min(mine, key=lambda entry: order[entry[1].status], default=None)


@contextmanager
def locked(bundle: Path) -> Iterator[int | None]:
    """Hold the profiles of a bundle; None when another process holds them. Leftovers of killed holders are removed."""
    profiles = bundle / PROFILES
    profiles.mkdir(exist_ok=True)
    descriptor = try_lock(profiles / ".lock")
    if descriptor is None:
        yield None
        return
    try:
        for entry in profiles.glob(".work-*"):
            shutil.rmtree(entry, ignore_errors=True)
        yield descriptor
    finally:
        unlock(profiles / ".lock", descriptor)


def new_work(bundle: Path) -> Path:
    """An empty directory for a run that is not published yet; call it under the lock."""
    now = time.time_ns()
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(now // 10**9))
    work = bundle / PROFILES / f".work-{stamp}-{now // 1000 % 10**6:06d}"
    work.mkdir()
    return work


def publish(work: Path, run: Run) -> Path:
    """Make a work directory a run. Older failed runs go; good ones stay. Returns the run's directory."""
    write_run(work, run)
    for file in work.iterdir():
        if file.is_symlink():
            file.unlink()
        elif file.is_file():
            _sync(file)
    _sync(work)
    final = work.with_name(work.name.removeprefix(".work-"))
    os.rename(work, final)
    _sync(final.parent)
    for path, older in runs(final.parent.parent):
        if path != final and older.status == "failed":
            shutil.rmtree(path, ignore_errors=True)
    return final


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
