"""The chain of instructions that the duration of an execution hangs on, from a timeline that tells what depends on what.

It is followed back from the last instruction that does work to the first. The step before is what the instruction started after: the instruction before it on its
engine, or one of those that it depends on, whichever was done last. A DMA is done with its last packet where the file tells which packets are its own;
elsewhere it is taken for what was waited for when nothing else was done shortly before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from neff_bench.parsers.event_rows import InstructionRow, LinkedDmaRow, LinkedInstructionRow, Timeline
from neff_bench.parsers.formats.opcodes import SETUP

SIGNAL_NS = 200.0
"""A wait that ends longer than this after all that is known to be done was for a DMA. Signals between engines take 36 to 41 ns on inf2 (chips/trn2.py)."""
DMA = "DMA"


@dataclass(frozen=True)
class PathStep:
    """One instruction of the path. It is on the path from its begin to that of the next step, or to the end of the last. `spent_on`: its engine, or `DMA`
    where the next step waited for its packets. `index`: of its row in the timeline."""

    index: int
    begin_ns: float
    end_ns: float
    spent_on: str


def critical_path(timeline: Timeline) -> tuple[PathStep, ...]:
    """The steps in order of time; none for a timeline that does not tell what depends on what."""
    rows = [row for row in timeline.instructions if isinstance(row, LinkedInstructionRow)]
    if len(rows) != len(timeline.instructions) or not any(row.predecessors for row in rows):
        return ()
    number = {row.id: index for index, row in enumerate(rows)}
    before, done = _before_on_engine(rows), _done_ns(timeline, rows)
    work = [index for index, row in enumerate(rows) if row.opcode not in SETUP]
    if not work:
        return ()
    first = min(rows[index].timestamp for index in work)
    ends = {index: max(done[index] or 0.0, _end(rows[index])) for index in work}
    index = max(work, key=ends.__getitem__)
    until, waited = ends[index], True
    steps: list[PathStep] = []
    while True:
        row = rows[index]
        spent_on = DMA if waited and row.opcode.startswith("DMA_") else row.subgroup
        if until > row.timestamp:
            steps.append(PathStep(index, row.timestamp, until, spent_on))
        known = [number[one.id] for one in row.predecessors if one.id in number]
        found = _latest(rows, row, before[index], known, done)
        if found is None or rows[found].timestamp < first:
            return tuple(reversed(steps))
        until, waited, index = row.timestamp, found != before[index], found


def _latest(
    rows: Sequence[LinkedInstructionRow],
    row: LinkedInstructionRow,
    on_engine: int,
    known: Sequence[int],
    done: Sequence[float | None],
) -> int | None:
    """What the row started after; None for the first of all."""
    # An engine takes its next instruction before the result of the last one is there.
    ended = [(min(_end(rows[on_engine]), row.timestamp), on_engine)] if on_engine >= 0 else []
    for index in known:
        at = done[index]
        if at is not None and at <= row.timestamp and rows[index].timestamp < row.timestamp:
            ended.append((at, index))
    last = max(ended, default=None)
    unknown = [index for index in known if done[index] is None and rows[index].timestamp < row.timestamp]
    if unknown and (last is None or row.timestamp - last[0] > SIGNAL_NS):
        return max(unknown, key=lambda index: rows[index].timestamp)
    return last[1] if last else None


def _end(row: InstructionRow) -> float:
    return row.timestamp + row.duration


def _done_ns(timeline: Timeline, rows: Sequence[LinkedInstructionRow]) -> list[float | None]:
    """When the result of each instruction was there; None for a DMA whose packets are not known."""
    last: dict[int, float] = {}
    for packet in timeline.dma:
        if isinstance(packet, LinkedDmaRow) and packet.trigger >= 0:
            last[packet.trigger] = max(last.get(packet.trigger, 0.0), packet.timestamp + packet.duration)
    return [last.get(row.id) if row.opcode.startswith("DMA_") else _end(row) for row in rows]


def _before_on_engine(rows: Sequence[LinkedInstructionRow]) -> list[int]:
    """For each row the one that began before it on its engine, -1 for the first."""
    before = [-1] * len(rows)
    by_engine: dict[tuple[str, str], list[int]] = defaultdict(list)
    for index, row in enumerate(rows):
        by_engine[row.subgraph, row.subgroup].append(index)
    for mine in by_engine.values():
        mine.sort(key=lambda index: rows[index].timestamp)
        for earlier, later in pairwise(mine):
            before[later] = earlier
    return before
