"""Finds the chain of instructions that the duration of an execution hangs on, from a timeline that tells what depends on what.

It is followed back from the last instruction that does work. The step before is what was done last: the instruction before it on its engine, or one of
those that it depends on. A DMA is done with its last packet where the file tells which packets are its own; elsewhere it is taken for what was waited for
when nothing else was done shortly before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np

from neff_bench.parsers.event_columns import Columns, IdIndex, coded, field_of, links, numbers
from neff_bench.parsers.event_rows import InstructionRow, LinkedInstructionRow, Timeline
from neff_bench.parsers.formats.opcodes import SETUP

SIGNAL_NS = 200.0
"""A wait that ends longer than this after all that is known to be done was for a DMA. Signals between engines take 36 to 41 ns on inf2 (chips/trn2.py)."""
DMA = "DMA"


class PathStep(msgspec.Struct, frozen=True, gc=False):
    """One instruction of the path. It is on the path from its begin to that of the next step, or to the end of the last. `spent_on`: its engine, or `DMA`
    where the next step waited for its packets. `index`: of its row in the timeline."""

    index: int
    begin_ns: float
    end_ns: float
    spent_on: str


def critical_path(timeline: Timeline) -> tuple[PathStep, ...]:
    """Return the steps in order of time; none for a timeline that does not tell what depends on what."""
    rows = _Rows(timeline)
    if not rows.linked or rows.last is None:
        return ()
    (index, until), waited = rows.last, True
    starts, is_dma, latest, on_engine, engine = rows.start, rows.is_dma, rows.latest, rows.on_engine, rows.engine
    steps: list[PathStep] = []
    start = starts[index]
    while True:
        if until > start:
            spent_on = DMA if waited and is_dma[index] else rows.engines[engine[index]]
            steps.append(PathStep(index, start, until, spent_on))
        found = latest[index]
        if found < 0 or (begun := starts[found]) < rows.first_ns:
            return tuple(reversed(steps))
        until, start, waited, index = start, begun, found != on_engine[index], found


class _Rows:
    """The instructions of a timeline as columns, whose elements are Python's own numbers: each step of the path asks for a few. `on_engine`: for each
    the one that began before it on its engine, -1 for the first. `engine`: as an index into `engines`. `latest`: what each started after, -1 for the first of all. `linked`: whether the
    timeline tells what depends on what. `first_ns`: when the first work begins. `last`: the work that is done last, and when; None where none is done."""

    def __init__(self, timeline: Timeline) -> None:
        rows = timeline.instructions
        start = numbers(rows, "timestamp")
        end = start + numbers(rows, "duration")
        works, is_dma = (
            _marks(rows, test) for test in (lambda name: name not in SETUP, lambda name: name.startswith("DMA_"))
        )
        ids = IdIndex(rows)
        done = np.where(is_dma, _last_packets(timeline, ids, len(rows)), end)
        engines = coded(rows, ("subgroup",), str)
        self.engines = engines.values
        on_engine = _on_engine(coded(rows, ("subgraph", "subgroup"), lambda *both: both).codes, start)
        at, before, _ = links(rows)
        before = ids.find(before)
        at, before = at[before >= 0], before[before >= 0]
        self.linked = _is_linked(rows, len(before))
        self.first_ns, self.last = _ends(works, start, np.fmax(end, done))
        columns: Any = (start, is_dma, on_engine, _latest(start, end, done, on_engine, at, before), engines.codes)
        views: Any = map(memoryview, columns)
        self.start, self.is_dma, self.on_engine, self.latest, self.engine = views


def _latest(
    start: np.ndarray, end: np.ndarray, done: np.ndarray, on_engine: np.ndarray, at: np.ndarray, before: np.ndarray
) -> np.ndarray:
    """Return what each row started after, -1 for the first of all. `done`: when the result of each was there; NaN for a DMA whose packets are not
    known. `at`, `before`: each row with one that it depends on."""
    earlier = start[before] < start[at]
    known = np.flatnonzero(earlier & (done[before] <= start[at]))
    second = np.flatnonzero(on_engine >= 0)
    what = np.concatenate([before[known], on_engine[second]])
    after = np.concatenate([at[known], second])
    # An engine takes its next instruction before the result of the last one is there.
    over = np.concatenate([done[before[known]], np.minimum(end[on_engine[second]], start[second])])
    order = np.lexsort((what, over))
    latest, since = np.full(len(start), -1), np.full(len(start), -np.inf)
    latest[after[order]], since[after[order]] = what[order], over[order]  # of several the last one counts
    unknown = np.flatnonzero(earlier & np.isnan(done[before]))[::-1]
    unknown = unknown[np.argsort(start[before[unknown]], kind="stable")]
    unknown = unknown[start[at[unknown]] - since[at[unknown]] > SIGNAL_NS]
    latest[at[unknown]] = before[unknown]
    return latest


def _last_packets(timeline: Timeline, ids: IdIndex, count: int) -> np.ndarray:
    """Return the end of the last packet that each row started; NaN where none is known."""
    packets = timeline.dma
    trigger = ids.find(field_of(packets, "trigger", -1))
    end = (numbers(packets, "timestamp") + numbers(packets, "duration"))[trigger >= 0]
    last = np.full(count, -np.inf)
    np.maximum.at(last, trigger[trigger >= 0], np.maximum(end, 0.0))
    return np.where(np.isinf(last), np.nan, last)


def _on_engine(engine: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return the row that began before each on its engine; -1 for the first."""
    order = np.lexsort((start, engine))
    before = np.full(len(order), -1)
    same = engine[order[1:]] == engine[order[:-1]]
    before[order[1:][same]] = order[:-1][same]
    return before


def _ends(works: np.ndarray, start: np.ndarray, over: np.ndarray) -> tuple[float, tuple[int, float] | None]:
    """Return when the first work begins, and the row and the time of the work that is over last."""
    if not works.any():
        return 0.0, None
    last = int(np.where(works, over, -np.inf).argmax())
    return float(start[works].min()), (last, float(over[last]))


def _marks(rows: Sequence[InstructionRow], test: Callable[[str], bool]) -> np.ndarray:
    """Return for each row whether its opcode passes a test."""
    found = coded(rows, ("opcode",), test)
    marks: np.ndarray = np.array(found.values, bool)[found.codes]
    return marks


def _is_linked(rows: Sequence[InstructionRow], predecessors: int) -> bool:
    """Say whether the rows tell what depends on what."""
    return predecessors > 0 and (
        isinstance(rows, Columns) or all(isinstance(row, LinkedInstructionRow) for row in rows)
    )
