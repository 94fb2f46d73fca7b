"""Reads system traces: which NEFF ran when, and what lay between.

Four forms are read: neuron-explorer's `view -d DIR --output-format json`, its table SystemProfileEvents, the events of nrtpy's `SystemTraceSession`, and the
Chrome trace of `torch.profiler`.
"""

from __future__ import annotations

import json
import os
import re
import statistics
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from neff_bench.parsers.errors import ParseError, guarded

RUNNING = "nc_exec_running"
"""The event of a NEFF that executes on a core."""
TABLE = "SystemProfileEvents.parquet"
KEYS = ("trace_events", "trace_event", "events", "traceEvents")
"""The tables of events, of the JSON forms."""
DROPPED = re.compile(r"(\d+) trace events were dropped")
UNSEEN = "layout not seen: no public file of this kind was found, it is read as AWS documents it"
NAMES = ("model_name", "neff_name", "model_id", "nn_id")


@dataclass(frozen=True)
class Launch:
    """An execution of a NEFF on a logical core: from the first of its physical cores that begins to the last that ends."""

    neff: str
    core: Hashable
    start_ns: float
    end_ns: float


@dataclass(frozen=True)
class Calls:
    """The executions of one NEFF. `gaps_us`: what lay between each and the one before it on its core, of any NEFF; none before the first."""

    neff: str
    durations_us: tuple[float, ...]
    gaps_us: tuple[float, ...]

    @property
    def gap_us(self) -> float | None:
        """The median gap."""
        return statistics.median(self.gaps_us) if self.gaps_us else None


@dataclass(frozen=True)
class SystemTrace:
    """`dropped`: events that the trace's ring buffer lost; `unfinished`: executions without a beginning or an end."""

    calls: tuple[Calls, ...]
    dropped: int
    unfinished: int

    @property
    def remarks(self) -> tuple[str, ...]:
        """What must be said of its numbers."""
        lost = [f"{self.dropped} events were dropped while it was captured"] if self.dropped else []
        lost += [f"{self.unfinished} executions have no beginning or no end"] if self.unfinished else []
        return (*lost, UNSEEN)


@guarded
def read_system_trace(path: str | os.PathLike[str]) -> SystemTrace:
    """Read a system trace. Raises ParseError for a file that cannot be read, or holds no execution."""
    if Path(path).name == TABLE:
        from neff_bench.parsers.parquet import open_table

        with open_table(Path(path)) as table:
            events, said = table.read().to_pylist(), ""
    else:
        from neff_bench.parsers.json_text import read_json

        document = _decoded(path, read_json(path)[0])
        events = next((document[key] for key in KEYS if isinstance(document.get(key), list)), [])
        said = json.dumps([document.get("warnings"), document.get("metadata")])
    launches, unfinished = _checked(path, [event for event in events if isinstance(event, dict)])
    if not launches:
        raise ParseError(path, None, f"no whole event {RUNNING}")
    lost = DROPPED.search(said)
    return SystemTrace(tuple(_calls(launches)), int(lost[1]) if lost else 0, unfinished)


def durations_ns(events: Sequence[Mapping[str, Any]]) -> list[float]:
    """Return the durations of the executions in nrtpy's events, in their order. Raises ParseError."""
    launches, _ = _checked("events", events)
    return [each.end_ns - each.start_ns for each in sorted(launches, key=lambda each: each.start_ns)]


def _checked(path: str | os.PathLike[str], events: Sequence[Mapping[str, Any]]) -> tuple[list[Launch], int]:
    try:
        return _launches(events)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ParseError(path, None, f"an event {RUNNING} is not as AWS documents it: {error!r}") from None


def has_executions(events: memoryview) -> bool:
    """Return whether a table of events may be that of a system trace."""
    return re.search(RUNNING.encode(), events) is not None


def _decoded(path: str | os.PathLike[str], text: memoryview) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        raise ParseError(path, None, str(error)) from None
    if not isinstance(found, dict):
        raise ParseError(path, None, "no object")
    return found


def _launches(events: Sequence[Mapping[str, Any]]) -> tuple[list[Launch], int]:
    """Return the executions, those of the physical cores of a logical one joined by their `exec_id`; and how many lack an end."""
    pieces: dict[Hashable, list[Launch]] = defaultdict(list)
    open_: dict[Hashable, Mapping[str, Any]] = {}
    unfinished = 0
    for number, event in enumerate(events):
        if event.get("name", event.get("event_type")) != RUNNING:
            continue
        known = {**_extra(event), **event}
        core = (known.get("process_id", known.get("pid")), known.get("nc_idx", known.get("lnc_idx")))
        if "phase" in known:  # nrtpy: a beginning and an end with one id
            key = (core, known["tracking_id"])
            if known["phase"] == "start":
                unfinished += key in open_
                open_[key] = known
                continue
            first = open_.pop(key, None)
            if first is None:
                unfinished += 1
                continue
            start, end = _of_one_clock(first, known)
            known = {**known, **first}
        else:
            start, end = _span_ns(known)
        if end < start:
            raise ValueError(f"it ends {start - end:g} ns before it begins")
        execution = known.get("exec_id")
        pieces[number if execution is None else (core, execution)].append(Launch(_neff(known), core, start, end))
    joined = [
        Launch(each[0].neff, each[0].core, min(one.start_ns for one in each), max(one.end_ns for one in each))
        for each in pieces.values()
    ]
    return joined, unfinished + len(open_)


def _extra(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the forms put deeper: `data` of nrtpy, `args` of a Chrome trace, the JSON in a column of the table."""
    text = event.get("extra_attributes_json")
    inner = json.loads(text) if text else event.get("data") or event.get("args") or {}
    return inner if isinstance(inner, dict) else {}


def _of_one_clock(first: Mapping[str, Any], last: Mapping[str, Any]) -> tuple[float, float]:
    """Return beginning and end by the clock that all cores share, where both have it; else by that of the core."""
    name = "timestamp_ns" if "timestamp_ns" in first and "timestamp_ns" in last else "nc_timestamp_ns"
    return float(first[name]), float(last[name])


def _span_ns(event: Mapping[str, Any]) -> tuple[float, float]:
    if "start_ts" in event:
        return float(event["start_ts"]), float(event["end_ts"])
    if "ts" in event:  # a Chrome trace counts in us
        return float(event["ts"]) * 1e3, (float(event["ts"]) + float(event["dur"])) * 1e3
    return float(event["timestamp"]), float(event["timestamp"]) + float(event["duration"])


def _neff(event: Mapping[str, Any]) -> str:
    found = next((str(event[name]) for name in NAMES if event.get(name) not in (None, "")), "unknown")
    return Path(found).name or "unknown"


def _calls(launches: Sequence[Launch]) -> Iterator[Calls]:
    durations: dict[str, list[float]] = defaultdict(list)
    gaps: dict[str, list[float]] = defaultdict(list)
    ended: dict[Hashable, float] = {}
    for launch in sorted(launches, key=lambda each: each.start_ns):
        durations[launch.neff].append((launch.end_ns - launch.start_ns) / 1e3)
        if launch.core in ended:
            gaps[launch.neff].append(max(0.0, launch.start_ns - ended[launch.core]) / 1e3)
        ended[launch.core] = max(launch.end_ns, ended.get(launch.core, launch.end_ns))
    for neff, times in durations.items():
        yield Calls(neff, tuple(times), tuple(gaps[neff]))
