"""Says what the events of a timeline add up to: by track, and by source line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from neff_bench.parsers.records import merged
from neff_bench.viewer.critical_path import PathStep
from neff_bench.viewer.page.events import FAMILIES, WAITS, Events


class TrackTotal(NamedTuple):
    """`busy_ns`: the union of its events, waits left out. `bytes`: moved, of a queue alone."""

    title: str
    letter: str
    family: str
    events: int
    busy_ns: float
    bytes: int | None


class LineTotal(NamedTuple):
    """`line`: index into `Events.lines`. Times are summed over what runs at the same time: `own_ns` of its own events, `with_calls_ns` also of what it
    calls; `path_ns`: of its own on the critical path."""

    line: int
    events: int
    own_ns: float
    with_calls_ns: float
    path_ns: float


def track_totals(events: Events) -> list[TrackTotal]:
    """Return the total of each track but the semaphores', from top to bottom."""
    waits = np.array([name in WAITS for name in events.names], bool)
    found = []
    for track in events.tracks:
        if track.kind == "semaphore":
            continue
        works = ~waits[events.name[track.span]]
        start, end = events.start[track.span][works], events.end[track.span][works]
        opened, closed = merged(start, end, "stable")
        moved = int(events.amount[track.span].sum()) if track.kind == "dma" else None
        count = track.span.stop - track.span.start
        found.append(TrackTotal(track.title, track.letter, track.family, count, float((closed - opened).sum()), moved))
    return found


def engine_shares(events: Events, letter: str, known: Mapping[str, float]) -> dict[str, float]:
    """Return the part of the time of one side in which each family of tracks works, the mean over its cores. `known`: of some families."""
    waits = np.array([name in WAITS for name in events.names], bool)
    tracks = [track for track in events.tracks if track.letter == letter and track.family != "wait"]
    whole = max((float(events.end[track.span].max()) for track in tracks), default=0.0)
    cores = {track.core for track in tracks if track.kind == "engine"} or {""}
    families = [family for family in FAMILIES if any(track.family == family for track in tracks)]
    busy = {family: known.get(family, 0.0) for family in families}
    for family, core in {(track.family, track.core) for track in tracks if track.family not in known}:
        spans = [np.r_[track.span] for track in tracks if (track.family, track.core) == (family, core)]
        works = np.concatenate(spans)
        works = works[~waits[events.name[works]]]
        opened, closed = merged(events.start[works], events.end[works], "stable")
        busy[family] += float((closed - opened).sum()) / len(cores) / whole if whole else 0.0
    return busy


def total_ns(events: Events) -> float:
    """Return the end of the last event."""
    return float(events.end.max()) if len(events) else 0.0


def line_totals(events: Events, path: Sequence[PathStep], letter: str | None = None) -> list[LineTotal]:
    """Return the total of each source line that an event names, the longest on the path, then the longest, first. `letter`: of one side alone."""
    counts, times = np.zeros((2, len(events.stacks)))
    for track in events.tracks:
        if track.kind != "semaphore" and letter in (None, track.letter):
            stacks = events.stack[track.span]
            counts += np.bincount(stacks, minlength=len(counts))
            times += np.bincount(stacks, events.duration[track.span], minlength=len(counts))
    stacks = events.stack[events.instruction[np.array([step.index for step in path], np.int64)]]
    on_path = np.bincount(stacks, [step.end_ns - step.begin_ns for step in path], len(counts))
    found = [[0.0] * 4 for _ in events.lines]
    for stack, count, time_ns, path_ns in zip(events.stacks, counts.tolist(), times.tolist(), on_path.tolist()):
        for depth, line in enumerate(dict.fromkeys(stack)):
            own = (count, time_ns, time_ns, path_ns) if depth == 0 else (0.0, 0.0, time_ns, 0.0)
            found[line] = [sum(pair) for pair in zip(found[line], own)]
    lines = [LineTotal(line, int(count), *rest) for line, (count, *rest) in enumerate(found) if any((count, *rest))]
    return sorted(lines, key=lambda one: (-one.path_ns, -one.with_calls_ns, one.line))
