"""Holds timelines as columns: one event for each instruction, DMA packet and semaphore update, in tracks whose events do not overlap."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np

from neff_bench.parsers.event_columns import IdIndex, Numbering, coded, field_of, links, new_numbering, numbers
from neff_bench.parsers.event_rows import Dependence, Timeline, core_name

Kind = Literal["dma", "engine", "semaphore"]
KINDS: tuple[Kind, ...] = ("dma", "engine", "semaphore")
ENGINES = ("Sync", "Tensor", "TensorMatrix", "Vector", "Scalar", "GpSimd")
"""From top to bottom, as AWS's viewer has them. The matrix unit runs MATMUL beside the loads of its weights."""
FAMILIES = {
    "dma": "DMA",
    "sync": "Sync",
    "tensor": "Tensor",
    "vector": "Vector",
    "scalar": "Scalar",
    "gpsimd": "GpSimd",
    "wait": "wait",
}
"""What has a colour of its own, with its name for people."""
DEPENDENCES = tuple(Dependence)
WAITS = frozenset({"EVENT_SEMAPHORE"})
"""Opcodes that only wait: their time is no work."""


class Side(NamedTuple):
    """A timeline and the letter that its tracks and lines carry, empty where there is only one. `texts`: source files by the name that the profile has
    for them."""

    letter: str
    timeline: Timeline
    texts: Mapping[str, str] = MappingProxyType({})


class Track(NamedTuple):
    """`rows`: first event and the one after the last, of each row; the events of a row follow each other in time."""

    name: str
    core: str
    kind: Kind
    letter: str
    rows: tuple[tuple[int, int], ...]

    @property
    def title(self) -> str:
        """`A Tensor core 0`."""
        return " ".join(filter(None, (self.letter, self.name, self.core)))

    @property
    def family(self) -> str:
        """One of FAMILIES, which it is coloured by: its engine, `dma`, or `wait` for what does no work."""
        if self.kind == "engine" and self.name in ENGINES:
            return self.name.removesuffix("Matrix").lower()
        return "dma" if self.kind == "dma" else "wait"

    @property
    def span(self) -> slice:
        """Its events."""
        return slice(self.rows[0][0], self.rows[-1][1])


@dataclass(frozen=True, eq=False)
class Events:
    """Columns (n,) in the order of the tracks, row by row. Times in ns from the start of the execution.

    `name`, `stack`, `detail`: index into `names`, `stacks`, `details`. A stack has the numbers of `lines`, the innermost first; stack 0 is empty. `letters`: the side that each of `lines` is of. `amount`: ns that an instruction waited, bytes of a packet, value of a semaphore.
    `pc`: place in the engine's stream plus 1, 0 for what has none. `before`, `reason`: for each event its predecessors, as index of an event and of
    DEPENDENCES; those of event i are `[before_start[i], before_start[i + 1])`. `instruction`: the event of each instruction of the first timeline.
    """

    tracks: tuple[Track, ...]
    start: Any
    duration: Any
    name: Any
    stack: Any
    amount: Any
    detail: Any
    pc: Any
    before_start: Any
    before: Any
    reason: Any
    instruction: Any
    names: tuple[str, ...]
    lines: tuple[str, ...]
    letters: tuple[str, ...]
    stacks: tuple[tuple[int, ...], ...]
    details: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.start)

    @cached_property
    def end(self) -> Any:
        """(n,) ns."""
        return self.start + self.duration


def events_of(sides: Sequence[Side]) -> Events:
    """Return the events of one timeline, or of several whose tracks stand over each other."""
    names, details, stacks = new_numbering(), new_numbering(), new_numbering()
    stacks[()]  # what has no line comes first
    tracks: dict[tuple[Any, ...], tuple[int, Kind, str, str, str]] = {}
    parts: list[_Columns] = []
    edges: list[tuple[Any, ...]] = []
    first = 0
    for side in sides:
        edges.append(_edges(side.timeline, first))
        for rows in _tables(side.timeline):
            parts.append(_columns(rows, side.letter, tracks, names, stacks, details))
            first += len(rows.rows)
    columns = _Columns(*map(np.concatenate, zip(*parts))) if parts else _Columns(*[np.zeros(0, np.int32)] * 8)
    order, placed = _placed(columns, tracks)
    moved = np.empty(len(order), np.int64)
    moved[order] = np.arange(len(order))
    before_start, before, reason = _linked(edges, moved)
    instruction = moved[: len(sides[0].timeline.instructions)] if sides else moved
    lines = new_numbering()
    numbers_ = tuple(tuple(lines[line] for line in lines_) for lines_ in stacks)
    return Events(
        placed, columns.start[order], columns.duration[order], columns.name[order], columns.stack[order],
        columns.amount[order], columns.detail[order], columns.pc[order], before_start, before, reason, instruction,
        tuple(names), tuple(line for _, line in lines), tuple(letter for letter, _ in lines), numbers_, tuple(details),
    )  # fmt: skip


class _Table(NamedTuple):
    """Rows of one kind, and how each of the columns of an event follows from some of their fields. `amount`: the name of a field."""

    rows: Sequence[Any]
    place: tuple[Sequence[str], Callable[..., tuple[Kind, str, str]]]
    name: tuple[Sequence[str], Callable[..., str]]
    detail: tuple[Sequence[str], Callable[..., str]]
    amount: str


_LINES = ("nki_source_location", "nki_call_stack", "hlo_name")


def _tables(timeline: Timeline) -> tuple[_Table, ...]:
    return (
        _Table(
            timeline.instructions,
            (("subgraph", "subgroup", "opcode"), lambda core, *rest: ("engine", core_name(core), engine_of(*rest))),
            (("opcode",), lambda opcode: opcode or "(no opcode)"),
            (("bir_instruction_name", "hlo_name", "operands", "alignment"), _detail),
            "evt_wait_time",
        ),
        _Table(
            timeline.dma,
            (
                ("subgraph", "queue_name", "subgroup", "queue_type"),
                lambda core, *rest: ("dma", core_name(core), queue_of(*rest)),
            ),
            (("variable", "queue_type"), _moved_by),
            (("subgroup", "queue_type"), lambda *fields: "\n".join((*fields, ""))),
            "transfer_size",
        ),
        _Table(
            timeline.semaphores,
            (("subgraph",), lambda core: ("semaphore", core_name(core), "Semaphores")),
            (("id",), str),
            (("subgraph",), lambda _: ""),
            "value",
        ),
    )


class _Columns(NamedTuple):
    """Events (n,) in the order of their tables."""

    track: Any
    start: Any
    duration: Any
    name: Any
    stack: Any
    amount: Any
    detail: Any
    pc: Any


def _columns(
    table: _Table,
    letter: str,
    tracks: dict[tuple[Any, ...], tuple[int, Kind, str, str, str]],
    names: Numbering,
    stacks: Numbering,
    details: Numbering,
) -> _Columns:
    rows = table.rows
    place = coded(rows, *table.place)

    def track(kind: Kind, core: str, name: str) -> int:
        key = (core, KINDS.index(kind), _order(kind, name), name, letter)
        return tracks.setdefault(key, (len(tracks), kind, core, name, letter))[0]

    def stack(*fields: Any) -> tuple[tuple[str, str], ...]:
        return tuple((letter, line) for line in _stack(*fields))

    return _Columns(
        np.array([track(*one) for one in place.values], np.int32)[place.codes],
        numbers(rows, "timestamp"),
        numbers(rows, "duration"),
        coded(rows, *table.name, names).codes,
        coded(rows, _LINES, stack, stacks).codes,
        numbers(rows, table.amount),
        coded(rows, *table.detail, details).codes,
        field_of(rows, "pc", -1) + 1,
    )


def _stack(line: str | None, calls: Sequence[str], hlo_name: str) -> tuple[str, ...]:
    """Return the lines of a row, the innermost first; the operation of a graph that has no lines."""
    innermost = line or hlo_name
    return (innermost, *reversed(calls)) if innermost else ()


def engine_of(engine: str, opcode: str) -> str:
    """Return the track of an instruction."""
    return "TensorMatrix" if (engine, opcode) == ("Tensor", "MATMUL") else engine or "(no engine)"


def queue_of(name: str, subgroup: str, kind: str) -> str:
    """Return the track of a packet: the name of its queue, else number and kind."""
    return name or " ".join(filter(None, (subgroup.split("-")[0], kind))) or "DMA"


def _order(kind: Kind, name: str) -> int:
    return ENGINES.index(name) if kind == "engine" and name in ENGINES else len(ENGINES)


def _detail(name: str, hlo_name: str, operands: str, alignment: str) -> str:
    return f"{name}\n{hlo_name}\n{operands.strip()}\n{'' if alignment == 'compiled' else alignment}"


def _moved_by(variable: str, kind: str) -> str:
    return (variable if variable != "unknown" else "") or kind or "packet"


def _placed(
    columns: _Columns, tracks: dict[tuple[Any, ...], tuple[int, Kind, str, str, str]]
) -> tuple[Any, tuple[Track, ...]]:
    """Return the order of the events, and the tracks from top to bottom."""
    parts: list[Any] = []
    found: list[Track] = []
    of_track, start, duration = columns[:3]
    by_track = np.argsort(of_track, kind="stable")
    bounds = np.searchsorted(of_track[by_track], np.arange(len(tracks) + 1))
    at = 0
    for _, (number, kind, core, name, letter) in sorted(tracks.items()):
        mine = by_track[bounds[number] : bounds[number + 1]]
        mine = mine[_by_start(start[mine], duration[mine])]
        levels = _levels(start[mine], duration[mine])
        mine = mine[np.argsort(levels, kind="stable")]
        ends = at + np.cumsum(np.bincount(levels))
        rows = tuple(zip([at, *ends[:-1].tolist()], ends.tolist()))
        found.append(Track(name, core, kind, letter, rows))
        parts.append(mine)
        at += len(mine)
    return np.concatenate(parts) if parts else np.zeros(0, np.int64), tuple(found)


def _by_start(start: Any, duration: Any) -> Any:
    """Return the order by start, the longest first of those that start together. Most starts are in order already, and few are the same."""
    order = np.argsort(start, kind="stable")
    same = np.diff(start[order]) == 0
    places = np.flatnonzero(np.append(same, False) | np.append(False, same))
    together = order[places]
    order[places] = together[np.lexsort((-duration[together], start[together]))]
    return order


def _levels(start: Any, duration: Any) -> Any:
    """Return for each event, by start, the first row on which it overlaps nothing. The first row is filled from begin to end, then the second."""
    count, end = len(start), start + duration
    if not (start[1:] < np.maximum.accumulate(end)[:-1]).any():
        return np.zeros(count, np.int64)
    levels: list[int] = []
    ends: list[float] = []
    for begins, until in zip(start.tolist(), end.tolist()):
        for level, busy in enumerate(ends):
            if busy <= begins:
                ends[level] = until
                break
        else:
            level = len(ends)
            ends.append(until)
        levels.append(level)
    return np.array(levels)


def _edges(timeline: Timeline, first: int) -> tuple[Any, ...]:
    """Return (event, predecessor, reason) of a linked timeline whose first event has the number `first`. What comes after an instruction that
    starts a DMA comes after the last packet of it."""
    count, flow, ordered = (
        len(timeline.instructions),
        DEPENDENCES.index(Dependence.FLOW),
        DEPENDENCES.index(Dependence.ORDERED),
    )
    ids = IdIndex(timeline.instructions)
    packets = timeline.dma
    trigger = ids.find(field_of(packets, "trigger", -1))
    known = np.flatnonzero(trigger >= 0)
    end = numbers(packets, "timestamp")[known] + numbers(packets, "duration")[known]
    done = np.arange(count)  # the last packet of what starts a DMA, else the instruction itself
    latest = np.lexsort((known, end))
    done[trigger[known][latest]] = count + known[latest]  # of several the last one counts
    at, before, reason = links(timeline.instructions)
    before = ids.find(before)
    kept = (before >= 0) & (reason != ordered)
    events = np.concatenate([count + known, at[kept]])
    befores = np.concatenate([trigger[known], done[before[kept]]])
    reasons = np.concatenate([np.full(len(known), flow), reason[kept]])
    return events + first, befores + first, reasons


def _linked(edges: Sequence[tuple[Any, ...]], place: Any) -> tuple[Any, Any, Any]:
    """Return the predecessors by event. `place`: where each event stands in the order of the tracks."""
    event, before, reason = (np.concatenate(column) for column in zip(*edges)) if edges else (np.zeros(0, int),) * 3
    event, before = place[event], place[before]
    order = np.lexsort((before, event))
    counts = np.bincount(event, minlength=len(place))
    return np.concatenate([[0], np.cumsum(counts)]), before[order], reason[order]
