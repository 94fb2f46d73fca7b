"""Says what lies in a tree of files from elsewhere: each NEFF, trace and profile with what tells which program and execution it is of."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from neff_bench.parsers.container import read_container
from neff_bench.parsers.errors import ParseError
from neff_bench.parsers.kinds import JsonProfile, describe_json
from neff_bench.parsers.neff import read_uuid
from neff_bench.parsers.system_trace import TABLE

OURS = "case.json"
PROFILE_NAME = re.compile(r"ntff|profile|summary|show_session", re.IGNORECASE)
"""A broken JSON is reported under such a name, and passed over under any other: trees are full of unrelated JSON."""


@dataclass(frozen=True)
class NeffFile:
    """`uuid`: 32 hex digits; None where the header cannot be read or holds none."""

    path: Path
    uuid: str | None
    problem: str | None = None


@dataclass(frozen=True)
class TraceFile:
    """`uuid`: of its NEFF, hex, possibly cut short. `identity`: equal for copies of one file."""

    path: Path
    uuid: str | None
    total_time_s: float | None
    identity: bytes | None = None
    problem: str | None = None


@dataclass(frozen=True)
class ProfileFile:
    """A profile JSON or a Parquet directory. `size_bytes`: of the file, 0 for a directory."""

    path: Path
    profile: JsonProfile | None
    size_bytes: int = 0
    problem: str | None = None


@dataclass(frozen=True)
class Found:
    """`unreadable`: directories that could not be looked through, with the reason."""

    neffs: tuple[NeffFile, ...]
    traces: tuple[TraceFile, ...]
    profiles: tuple[ProfileFile, ...]
    unreadable: tuple[tuple[Path, str], ...]


def survey(root: Path) -> Found:
    """Look at everything below `root`. Reads headers, metadata and summaries; a file that cannot be read keeps its `problem`."""
    neffs: list[NeffFile] = []
    traces: list[TraceFile] = []
    profiles: list[ProfileFile] = []
    unreadable: list[OSError] = []
    for path, is_directory in _files(root, unreadable):
        suffix = path.suffix.lower()
        if is_directory:
            profiles.append(_parquet(path))
        elif suffix == ".neff":
            neffs.append(_neff(path))
        elif suffix == ".ntff":
            traces.append(_trace(path))
        elif path.name == TABLE:
            profiles.append(ProfileFile(path, JsonProfile("system", None, None, None)))
        elif suffix == ".json":
            profiles += _json(path)
    reasons = tuple((Path(error.filename or root), error.strerror or str(error)) for error in unreadable)
    return Found(tuple(neffs), tuple(traces), tuple(profiles), reasons)


def _files(root: Path, unreadable: list[OSError]) -> Iterator[tuple[Path, bool]]:
    """Yield files in order, and Parquet profiles as directories; without our bundles, hidden directories and what links lead to."""
    for directory, names, files in os.walk(root, onerror=unreadable.append):
        here = Path(directory)
        if OURS in files:
            names.clear()
            continue
        if "Summary.parquet" in files:
            names.clear()
            yield here, True
            continue
        names[:] = sorted(name for name in names if not name.startswith("."))
        yield from ((here / name, False) for name in sorted(files))


def _neff(path: Path) -> NeffFile:
    try:
        uuid = read_uuid(path)
    except ParseError as error:
        return NeffFile(path, None, str(error))
    return NeffFile(path, uuid if uuid.strip("0") else None)


def _trace(path: Path) -> TraceFile:
    try:
        container = read_container(path)
    except ParseError as error:
        return TraceFile(path, None, None, problem=str(error))
    time_ps = container.total_time_ps
    time_s = None if time_ps is None else time_ps / 1e12
    return TraceFile(path, container.uuid.hex() or None, time_s, container.identity)


def _json(path: Path) -> list[ProfileFile]:
    try:
        profile = describe_json(path)
        size_bytes = path.stat().st_size
    except (ParseError, OSError) as error:
        return [ProfileFile(path, None, problem=str(error))] if PROFILE_NAME.search(path.name) else []
    return [ProfileFile(path, profile, size_bytes)] if profile else []


def _parquet(path: Path) -> ProfileFile:
    from neff_bench.parsers.profile_json import read_summary

    try:
        return ProfileFile(path, JsonProfile("summary", read_summary(path).total_time_s, None, None))
    except ParseError as error:
        return ProfileFile(path, None, problem=str(error))
