"""Timelines as columns: one event for each instruction, DMA packet and semaphore update, in tracks whose events do not overlap."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np

from neff_bench.parsers.event_rows import Dependence, DmaRow, InstructionRow, SemaphoreRow, Timeline

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
        """`A Tensor sg00`."""
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

    @property
    def end(self) -> Any:
        """(n,) ns."""
        return self.start + self.duration


Key = TypeVar("Key")


class _Numbered(dict[Key, int]):
    """Each thing once, with its number."""

    def __missing__(self, key: Key) -> int:
        self[key] = number = len(self)
        return number


def events_of(sides: Sequence[Side]) -> Events:
    """The events of one timeline, or of several whose tracks stand over each other."""
    names: _Numbered[str] = _Numbered()
    details: _Numbered[str] = _Numbered()
    stacks: _Numbered[tuple[tuple[str, str], ...]] = _Numbered({(): 0})
    tracks: dict[tuple[Any, ...], tuple[int, Kind, str, str, str]] = {}
    columns: list[tuple[Any, ...]] = []
    edges: list[tuple[Any, ...]] = []
    first = 0
    for side in sides:
        for row, place, cells in _rows(side):
            kind, core, track_name = place
            key = (core, KINDS.index(kind), _order(kind, track_name), track_name, side.letter)
            track = tracks.setdefault(key, (len(tracks), kind, core, track_name, side.letter))[0]
            opcode, amount, detail, pc = cells
            timing = (row.timestamp, getattr(row, "duration", 0))
            columns.append(
                (
                    track,
                    *timing,
                    names[opcode],
                    stacks[tuple((side.letter, line) for line in _stack(row))],
                    amount,
                    details[detail],
                    pc,
                )
            )
        edges.append(_edges(side.timeline, first))
        first = len(columns)
    matrix = np.array(columns, np.float64).reshape(-1, 8)
    order, placed = _placed(matrix, tracks)
    moved = np.empty(len(order), np.int64)
    moved[order] = np.arange(len(order))
    sorted_ = matrix[order]
    name, stack, detail, pc = (sorted_[:, column].astype(np.int64) for column in (3, 4, 6, 7))
    start, before, reason = _linked(edges, moved)
    instruction = moved[: len(sides[0].timeline.instructions)] if sides else moved
    lines: _Numbered[tuple[str, str]] = _Numbered()
    numbers = tuple(tuple(lines[line] for line in lines_) for lines_ in stacks)
    return Events(
        placed, sorted_[:, 1], sorted_[:, 2], name, stack, sorted_[:, 5], detail, pc, start, before, reason, instruction,
        tuple(names), tuple(line for _, line in lines), tuple(letter for letter, _ in lines), numbers, tuple(details),
    )  # fmt: skip


def _stack(row: Any) -> tuple[str, ...]:
    """The lines of a row, the innermost first; the operation of a graph that has no lines."""
    innermost = getattr(row, "nki_source_location", None) or getattr(row, "hlo_name", "")
    return (innermost, *reversed(getattr(row, "nki_call_stack", ()))) if innermost else ()


def _rows(side: Side) -> Iterator[tuple[Any, tuple[Kind, str, str], tuple[str, float, str, int]]]:
    """Each row, its track, and (name, amount, detail, pc)."""
    timeline = side.timeline
    for row in timeline.instructions:
        yield row, ("engine", row.subgraph, engine_of(row)), _instruction(row)
    for packet in timeline.dma:
        yield packet, ("dma", packet.subgraph, queue_of(packet)), _packet(packet)
    for update in timeline.semaphores:
        yield update, ("semaphore", update.subgraph, "Semaphores"), _update(update)


def engine_of(row: InstructionRow) -> str:
    """The track of an instruction."""
    return "TensorMatrix" if row.subgroup == "Tensor" and row.opcode == "MATMUL" else row.subgroup or "(no engine)"


def queue_of(row: DmaRow) -> str:
    """The track of a packet: the name of its queue, else number and kind."""
    return row.queue_name or " ".join(filter(None, (row.subgroup.split("-")[0], row.queue_type))) or "DMA"


def _order(kind: Kind, name: str) -> int:
    return ENGINES.index(name) if kind == "engine" and name in ENGINES else len(ENGINES)


def _instruction(row: InstructionRow) -> tuple[str, float, str, int]:
    placed = "" if row.alignment == "compiled" else row.alignment
    detail = f"{row.bir_instruction_name}\n{row.hlo_name}\n{row.operands.strip()}\n{placed}"
    return row.opcode or "(no opcode)", row.evt_wait_time, detail, row.pc + 1


def _packet(row: DmaRow) -> tuple[str, float, str, int]:
    variable = row.variable if row.variable != "unknown" else ""
    return variable or row.queue_type or "packet", row.transfer_size, f"{row.subgroup}\n{row.queue_type}\n", 0


def _update(row: SemaphoreRow) -> tuple[str, float, str, int]:
    return str(row.id), row.value, "", 0


def _placed(
    matrix: Any, tracks: dict[tuple[Any, ...], tuple[int, Kind, str, str, str]]
) -> tuple[Any, tuple[Track, ...]]:
    """The order of the events, and the tracks from top to bottom."""
    parts: list[Any] = []
    found: list[Track] = []
    by_track = np.argsort(matrix[:, 0], kind="stable")
    bounds = np.searchsorted(matrix[by_track, 0], np.arange(len(tracks) + 1))
    at = 0
    for _, (number, kind, core, name, letter) in sorted(tracks.items()):
        mine = by_track[bounds[number] : bounds[number + 1]]
        mine = mine[np.lexsort((-matrix[mine, 2], matrix[mine, 1]))]
        levels = _levels(matrix[mine, 1], matrix[mine, 2]) if kind != "semaphore" else np.zeros(len(mine), np.int64)
        mine = mine[np.argsort(levels, kind="stable")]
        ends = at + np.cumsum(np.bincount(levels))
        rows = tuple(zip([at, *ends[:-1].tolist()], ends.tolist()))
        found.append(Track(name, core, kind, letter, rows))
        parts.append(mine)
        at += len(mine)
    return np.concatenate(parts) if parts else np.zeros(0, np.int64), tuple(found)


def _levels(start: Any, duration: Any) -> Any:
    """For each event, by start, the first row on which it overlaps nothing."""
    end = start + duration
    levels = np.zeros(len(start), np.int64)
    if not (start[1:] < np.maximum.accumulate(end)[:-1]).any():
        return levels
    busy: list[tuple[float, int]] = []
    free: list[int] = []
    rows = 0
    for at, (begin, stop) in enumerate(zip(start.tolist(), end.tolist())):
        while busy and busy[0][0] <= begin:
            heappush(free, heappop(busy)[1])
        if free:
            level = heappop(free)
        else:
            level, rows = rows, rows + 1
        heappush(busy, (stop, level))
        levels[at] = level
    return levels


def _edges(timeline: Timeline, first: int) -> tuple[Any, ...]:
    """(event, predecessor, reason) of a linked timeline whose first event has the number `first`.

    What comes after an instruction that starts a DMA comes after the last packet of it.
    """
    ids = (getattr(row, "id", -1) for row in timeline.instructions)
    places = {number: at for at, number in enumerate(ids, first) if number >= 0}
    done: dict[int, tuple[float, int]] = {}
    found: list[tuple[int, int, int]] = []
    flow = DEPENDENCES.index(Dependence.FLOW)
    for at, packet in enumerate(timeline.dma, first + len(timeline.instructions)):
        trigger = places.get(getattr(packet, "trigger", -1))
        if trigger is not None:
            found.append((at, trigger, flow))
            done[trigger] = max(done.get(trigger, (0.0, at)), (packet.timestamp + packet.duration, at))
    for at, row in enumerate(timeline.instructions, first):
        for link in getattr(row, "predecessors", ()):
            place = places.get(link.id)
            if place is not None and link.type is not Dependence.ORDERED:
                found.append((at, done[place][1] if place in done else place, DEPENDENCES.index(link.type)))
    return tuple(np.array(found, np.int64).reshape(-1, 3).T)


def _linked(edges: Sequence[tuple[Any, ...]], place: Any) -> tuple[Any, Any, Any]:
    """Predecessors by event. `place`: where each event stands in the order of the tracks."""
    event, before, reason = (np.concatenate(column) for column in zip(*edges)) if edges else (np.zeros(0, int),) * 3
    event, before = place[event], place[before]
    order = np.lexsort((before, event))
    return np.searchsorted(event[order], np.arange(len(place) + 1)), before[order], reason[order]
