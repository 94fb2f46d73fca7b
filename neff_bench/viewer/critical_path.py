"""Finds the chain of instructions that the duration of an execution hangs on, from a timeline that tells what depends on what.

It is followed back from the last instruction that does work. The step before is what the instruction could not start without for longest: the one before
it on its engine, or one of those that it depends on. A result is there for another engine a little after its instruction ends, and a DMA's a little after
its last packet, by the constants of the chip. Where the file does not tell which packets belong to a DMA, the DMA is taken for what was waited for when
nothing else was done shortly before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from neff_bench.chips import CHIPS, Chip
from neff_bench.parsers.event_columns import Columns, IdIndex, coded, field_of, links, numbers
from neff_bench.parsers.event_rows import InstructionRow, LinkedInstructionRow, Timeline
from neff_bench.parsers.formats.ntff import family_of
from neff_bench.parsers.formats.opcodes import SETUP

SIGNAL_NS = 200.0
"""A wait that ends longer than this after all that is known to be done was for a DMA. Signals between engines take 36 to 41 ns on inf2 (chips/trn2.py)."""
ROUNDING_NS = 2.0
"""Times of a timeline are whole nanoseconds: a sum of two may be off by so much."""
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
    starts, is_dma, latest, by_signal, engine = rows.start, rows.is_dma, rows.latest, rows.by_signal, rows.engine
    steps: list[PathStep] = []
    start = starts[index]
    while True:
        if until > start:
            spent_on = DMA if waited and is_dma[index] else rows.engines[engine[index]]
            steps.append(PathStep(index, start, until, spent_on))
        found = latest[index]
        if found < 0 or (begun := starts[found]) < rows.first_ns:
            return tuple(reversed(steps))
        until, start, waited, index = start, begun, by_signal[index], found


def chip_of(timeline: Timeline) -> Chip | None:
    """Return the chip of the instance that a timeline is from; None where it is not told or not known."""
    family = family_of(str(timeline.summary.get("instance_type", "")))
    return CHIPS[family] if family else None


class Done(NamedTuple):
    """When the work of each row is over, and when another engine knows of it, in ns; NaN for a DMA whose packets are not known."""

    over_ns: np.ndarray
    told_ns: np.ndarray


class _Rows:
    """The instructions of a timeline as columns, whose elements are Python's own numbers: each step of the path asks for a few. `engine`: as an index
    into `engines`. `latest`: what each started after, -1 for the first of all. `by_signal`: whether it waited for the result of that. `linked`: whether
    the timeline tells what depends on what. `first_ns`: when the first work begins. `last`: the work that is done last, and when; None where none is
    done."""

    def __init__(self, timeline: Timeline) -> None:
        rows = timeline.instructions
        start = numbers(rows, "timestamp")
        end = start + numbers(rows, "duration")
        works = _marks(rows, lambda name: name not in SETUP)
        ids = IdIndex(rows)
        packets = _last_packets(timeline, ids, len(rows))
        is_dma = _marks(rows, lambda name: name.startswith("DMA_")) | ~np.isnan(packets)  # a WRITE starts static DMAs
        over = np.where(is_dma, packets, end)
        done = Done(over, over + _signal_ns(timeline, is_dma))
        engines = coded(rows, ("subgroup",), str)
        self.engines = engines.values
        on_engine = _on_engine(coded(rows, ("subgraph", "subgroup"), lambda *both: both).codes, start)
        free = _free(timeline, start, end[on_engine])
        at, before, _ = links(rows)
        before = ids.find(before)
        at, before = at[before >= 0], before[before >= 0]
        self.linked = _is_linked(rows, len(before))
        self.first_ns, self.last = _ends(works, start, np.where(is_dma, np.fmax(end, done.told_ns), end))
        latest, by_signal = _latest(start, free, done, on_engine, at, before)
        columns: Any = (start, is_dma, latest, by_signal, engines.codes)
        views: Any = map(memoryview, columns)
        self.start, self.is_dma, self.latest, self.by_signal, self.engine = views


def _signal_ns(timeline: Timeline, is_dma: np.ndarray) -> np.ndarray:
    """Return how long after its end each row is known to be done; 0 where the chip is not known."""
    chip = chip_of(timeline)
    cores = len(coded(timeline.dma, ("subgraph",), str).values)
    if chip is None:
        return np.zeros(len(is_dma))
    return np.where(is_dma, chip.dma_done_ns(cores), chip.semaphore_ns)


def _free(timeline: Timeline, start: np.ndarray, end_before: np.ndarray) -> np.ndarray:
    """Return when the engine of each row was free for it, to be held against when signals came. An engine takes an instruction at the latest when
    the instruction begins, and need not wait for the result of the one before. The simulator tells which instructions waited: for these a signal at
    their begin comes after the engine, for the others before it. A device leaves any number in the waits of instructions that did not wait."""
    free: np.ndarray = np.minimum(end_before, start)
    if timeline.simulated:
        waited = numbers(timeline.instructions, "evt_wait_time") > 0
        free = np.where(waited, start - ROUNDING_NS, start + ROUNDING_NS)
    return free


def _latest(
    start: np.ndarray, free: np.ndarray, done: Done, on_engine: np.ndarray, at: np.ndarray, before: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return what each row started after, -1 for the first of all, and whether it waited for its result. `free`: when the engine of each could have
    taken it. `at`, `before`: each row with one that it depends on."""
    earlier = start[before] < start[at]
    known = np.flatnonzero(earlier & (done.over_ns[before] <= start[at]))
    second = np.flatnonzero(on_engine >= 0)
    what = np.concatenate([before[known], on_engine[second]])
    after = np.concatenate([at[known], second])
    signal = np.arange(len(what)) < len(known)
    over = np.concatenate([np.minimum(done.told_ns[before[known]], start[at[known]]), free[second]])
    order = np.lexsort((signal, what, over))
    latest, by_signal, since = np.full(len(start), -1), np.zeros(len(start), bool), np.full(len(start), -np.inf)
    for column, values in ((latest, what), (by_signal, signal), (since, over)):
        column[after[order]] = values[order]  # of several the last one counts
    unknown = np.flatnonzero(earlier & np.isnan(done.over_ns[before]))[::-1]
    unknown = unknown[np.argsort(start[before[unknown]], kind="stable")]
    unknown = unknown[start[at[unknown]] - since[at[unknown]] > SIGNAL_NS]
    latest[at[unknown]], by_signal[at[unknown]] = before[unknown], True
    return latest, by_signal


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
