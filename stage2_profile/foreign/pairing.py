"""Says which NEFF, trace and profile belong together, by tables.

A trace goes with the NEFF whose uuid it carries, else with one that lies near and shares its name. A profile goes with the trace that it names, or whose
duration it states, or whose name or number its own name holds.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from neff_bench.parsers.container import UUID_BYTES_TELLING, same_program
from neff_bench.parsers.formats.ntff import trace_name
from neff_bench.parsers.kinds import JsonProfile
from neff_bench.stage2_profile.foreign.survey import NeffFile, ProfileFile, TraceFile

NUMBERED = re.compile(r"_(\d+)$")
WORDS = re.compile(r"[^0-9A-Za-z]+")
HASH_LENGTH_MIN = 8
FEW = 64
"""So many traces of a directory are looked at one by one."""

SAME_TIME = 1e-4
"""Two statements of one duration agree this well."""
TIME_CONTRADICTS = 0.02
"""Tools from 2.29 on count up to 0.6 % more than the trace says; beyond this it is another execution."""


def same_time(one: float | None, other: float | None, tolerance: float = SAME_TIME) -> bool:
    """Return whether two durations, in one unit, are the same; False when one is not known."""
    return one is not None and other is not None and abs(one - other) <= tolerance * max(one, other)


class Nearest:
    """Paths under keys, and of several under one key the nearest to a place."""

    def __init__(self) -> None:
        self._best: dict[tuple[str, Path], tuple[int, str, Path]] = {}

    def add(self, key: str, path: Path) -> None:
        """Note a file under `key`, at its own directory and all above it."""
        for depth, above in enumerate(path.parents):
            at = key, above
            self._best[at] = min(self._best.get(at, (depth, str(path), path)), (depth, str(path), path))

    def find(self, key: str, near: Path) -> Path | None:
        """Return the path that the fewest steps through directories lead to from the file `near`."""
        found = [
            (up + best[0], best[1], best[2])
            for up, above in enumerate(near.parents)
            if (best := self._best.get((key, above))) is not None
        ]
        return min(found)[2] if found else None


class Neffs:
    """NEFFs by uuid, and by directory those that a uuid cannot tell."""

    def __init__(self, neffs: Iterable[NeffFile]) -> None:
        self._nearest = Nearest()
        self._beside: dict[Path, list[NeffFile]] = defaultdict(list)
        self._untold: dict[Path, list[NeffFile]] = defaultdict(list)
        self._all: dict[Path, list[NeffFile]] = defaultdict(list)
        for neff in neffs:
            if neff.problem is not None:
                continue  # a row of its own says what is wrong with it; a good trace must not fail with it
            self._all[neff.path.parent].append(neff)
            if neff.uuid is None or len(_told(neff.uuid)) < 2 * UUID_BYTES_TELLING:
                self._untold[neff.path.parent].append(neff)
            if neff.uuid is not None:
                self._beside[neff.path.parent].append(neff)
                self._nearest.add(neff.uuid, neff.path)
                if (told := _told(neff.uuid)) != neff.uuid:
                    self._nearest.add(f"{told}..", neff.path)

    def of_trace(self, trace: TraceFile) -> tuple[Path | None, str, str | None]:
        """Return the trace's NEFF, what tells so (`uuid`, `name` or nothing), and what is wrong."""
        if trace.uuid and (certain := self._certain(trace.uuid, trace.path)):
            return certain, "uuid", None
        # A trace that carries no uuid may be of any NEFF that lies near.
        pool = self._untold if trace.uuid else self._all
        near = [neff for parent in _up(trace.path) for neff in pool[parent]]
        # Where both have a uuid it says yes or no, or not enough.
        possible = [
            neff.path for neff in near if not (trace.uuid and neff.uuid) or same_program(trace.uuid, neff.uuid) is None
        ]
        by_name = _sharing_a_name(trace.path, possible) or possible
        if len(by_name) == 1:
            return by_name[0], "name", None
        beside = self._beside[trace.path.parent]
        if trace.uuid and beside and not possible:
            return None, "", f"{beside[0].path.name} beside it is another program: its uuid is not the trace's"
        return None, "", None

    def of_profile(self, profile: ProfileFile) -> tuple[Path | None, str]:
        """Return the NEFF of a profile without a trace."""
        uuid = profile.profile.neff_uuid if profile.profile else None
        if uuid:
            found = self._nearest.find(uuid, profile.path)
            return found, "uuid" if found else ""
        near = [neff for parent in _up(profile.path) for neff in self._all[parent]]
        return (near[0].path, "name") if len(near) == 1 else (None, "")

    def _certain(self, uuid: str, path: Path) -> Path | None:
        """Return whether two uuids agree: versions 4 and 5 keep one up to its first zero byte, and perhaps stray bytes after that."""
        keys = [uuid]
        if len(uuid) < 32:
            keys = [f"{uuid[:end]}.." for end in range(len(uuid), 2 * UUID_BYTES_TELLING - 2, -2)]
        return next((found for key in keys if (found := self._nearest.find(key, path))), None)


def _told(uuid: str) -> str:
    """Return what a C string keeps of a uuid, in hex."""
    return bytes.fromhex(uuid).split(b"\0", 1)[0].hex()


def _up(path: Path) -> tuple[Path, ...]:
    """Return the directory of a file, and the one above."""
    return tuple(path.parents[:2])


def _sharing_a_name(trace: Path, others: Sequence[Path]) -> list[Path]:
    """Return the same stem, or the same hash as the runtime's inspect mode puts into both names."""
    stems = {trace.stem, trace_name(trace.stem).stem}
    hashes = {word for word in WORDS.split(trace.stem) if len(word) >= HASH_LENGTH_MIN}
    return [path for path in others if path.stem in stems or hashes & set(WORDS.split(path.stem))]


class _Directory:
    """The traces of one directory, by name, by order and by time."""

    def __init__(self, traces: list[TraceFile]) -> None:
        self.traces = traces
        self.by_name = {trace.path.name: trace for trace in traces}
        self.by_stem = {trace.path.stem: trace for trace in traces}
        self.timed = sorted((t.total_time_s, n) for n, t in enumerate(traces) if t.total_time_s is not None)

    def of_time(self, time_s: float) -> list[TraceFile]:
        first = bisect_left(self.timed, (time_s * (1 - 2 * SAME_TIME), -1))
        last = bisect_right(self.timed, (time_s * (1 + 2 * SAME_TIME), len(self.traces)))
        return [self.traces[n] for _, n in self.timed[first : min(last, first + FEW)]]


class Traces:
    """Traces by directory and by name, for the profiles that were made of them."""

    def __init__(self, traces: Iterable[TraceFile]) -> None:
        by_directory: dict[Path, list[TraceFile]] = defaultdict(list)
        self._by_path: dict[Path, TraceFile] = {}
        self._nearest = Nearest()
        for trace in traces:
            by_directory[trace.path.parent].append(trace)
            self._by_path[trace.path] = trace
            self._nearest.add(trace.path.name, trace.path)
            if trace.uuid:
                self._nearest.add(f"{trace.path.name}/{trace.uuid}", trace.path)
        self._directories = {parent: _Directory(found) for parent, found in by_directory.items()}
        self._below: dict[Path, list[Path]] = defaultdict(list)
        for parent in self._directories:
            self._below[parent.parent].append(parent)

    def of_profile(self, profile: ProfileFile) -> TraceFile | None:
        """Return the trace that the profile was made of: the one with the best evidence; None when two have it or it contradicts all."""
        path, found = profile.path, profile.profile
        if found is None:
            return None
        evidence = {
            trace.path: _evidence(path, found, trace, position)
            for trace, position in self._candidates(path, found)
            if _may_belong(found, trace)
        }
        best = [place for place, told in evidence.items() if told == max(evidence.values())]
        if len(best) == 1:
            return self._by_path[best[0]]
        return self._elsewhere(path, found) if not evidence else None

    def _candidates(self, path: Path, found: JsonProfile) -> Iterator[tuple[TraceFile, int]]:
        """Traces near the profile that it may be of, with their number among those near. A trace may come twice."""
        below = self._below[path.parent]
        places = [path.parent, *(below if len(below) <= FEW else ()), path.parent.parent]
        near = [self._directories[place] for place in places if place in self._directories]
        number, words = NUMBERED.search(path.stem), WORDS.split(path.stem)
        start = 0
        for directory in near:
            count = len(directory.traces)
            if count <= FEW:
                yield from ((trace, start + n) for n, trace in enumerate(directory.traces))
            else:
                if number and start <= int(number[1]) < start + count:
                    yield directory.traces[int(number[1]) - start], int(number[1])
                named = [directory.by_name.get(Path(found.ntff_name or "").name)]
                named += [directory.by_stem.get(stem) for stem in _runs(path.stem, words)]
                yield from ((trace, -1) for trace in named if trace is not None)
                if found.total_time_s is not None:
                    yield from ((trace, -1) for trace in directory.of_time(found.total_time_s))
            start += count

    def _elsewhere(self, near: Path, found: JsonProfile) -> TraceFile | None:
        """Return a trace of the name that the profile states, in another part of the tree: of the same program, or with no word against it."""
        if not found.ntff_name:
            return None
        name = Path(found.ntff_name).name
        keys = [f"{name}/{found.neff_uuid}", name] if found.neff_uuid else [name]
        for key in keys:
            path = self._nearest.find(key, near)
            if path is not None and _may_belong(found, self._by_path[path]):
                return self._by_path[path]
        return None


def _runs(stem: str, words: Sequence[str]) -> set[str]:
    """Return the parts of a name that begin and end with whole words: `profile_exec_2` of `profile_exec_2_summary`."""
    starts, ends, at = [], [], 0
    for word in words[:16]:
        at = stem.index(word, at)
        starts.append(at)
        at += len(word)
        ends.append(at)
    return {stem[start:end] for start in starts for end in ends if end > start}


def _evidence(path: Path, found: JsonProfile, trace: TraceFile, position: int) -> tuple[bool, ...]:
    """Return the evidence, strongest first: it names the trace, it states the trace's duration, its file name fits, it lies beside it."""
    number = NUMBERED.search(path.stem)
    return (
        os.path.basename(found.ntff_name or "") == trace.path.name,
        same_time(found.total_time_s, trace.total_time_s),
        trace.path.stem in path.stem or (number is not None and int(number[1]) == position),
        path.parent == trace.path.parent,
    )


def _may_belong(found: JsonProfile, trace: TraceFile) -> bool:
    if trace.problem is not None:
        return False
    if found.neff_uuid and trace.uuid and same_program(trace.uuid, found.neff_uuid) is False:
        return False
    known = found.total_time_s is not None and trace.total_time_s is not None
    return not known or same_time(found.total_time_s, trace.total_time_s, TIME_CONTRADICTS)
