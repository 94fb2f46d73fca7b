"""Finds the chain of instructions that the duration of an execution hangs on, from a timeline that tells what depends on what.

It is followed back from the last instruction that does work. The step before is what the instruction could not start without for longest: the one before
it on its engine, or one of those that it depends on. A result is there for another engine a little after its instruction ends, and a DMA's a little after
its last packet, by the constants of the chip. Where the last packets of a DMA stood behind those of another DMA in a queue of their DMA engine, that other
DMA is the step before. Where the file does not tell which packets belong to a DMA, the DMA is taken for what was waited for when nothing else was done
shortly before.

What a step is spent on is said in the classes of `BOUNDS`, which `neff-bench explain` has too. A measured profile does not say when the packets of a DMA
could begin, and what set their pace: there the wait for a DMA is one class.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, dropwhile
from typing import Any, NamedTuple

import msgspec
import numpy as np

from neff_bench.chips import CHIPS, Chip
from neff_bench.chips.engines import ENGINES, TITLES
from neff_bench.parsers.event_columns import Columns, IdIndex, coded, field_of, links, numbers
from neff_bench.parsers.event_rows import InstructionRow, LinkedInstructionRow, Timeline
from neff_bench.parsers.formats.ntff import family_of
from neff_bench.parsers.formats.opcodes import SETUP
from neff_bench.viewer.packets import Packets

SIGNAL_NS = 200.0
"""A wait that ends longer than this after all that is known to be done was for a DMA. Signals between engines take 36 to 41 ns on inf2 (chips/trn2.py)."""
ROUNDING_NS = 2.0
"""Times of a timeline are whole nanoseconds: a sum of two may be off by so much."""
BOUNDS: dict[str, str] = {
    **dict(zip(ENGINES, TITLES)),
    "hbm": "HBM bandwidth",
    "dma": "DMA",
    "issue": "DMA issue",
    "latency": "latency",
    "dma_wait": "DMA with its latency",
}
"""Where time on the critical path goes, and what a kernel is called that it bounds. `dma_wait`: of measured profiles alone."""
IDLE = ("EVENT_SEMAPHORE", "CORE_BARRIER")
"""Instructions that only wait, for an engine or for the other core."""


class PathStep(msgspec.Struct, frozen=True, gc=False):
    """One instruction of the path. It is on the path from its begin, or that of its packets where they stood behind others, to the begin of the next step,
    or to the end of the last. `spent_ns`: on what, as titles of `BOUNDS`, one after the other. `for_packets`: the next step waited for the packets of this
    DMA. `index`: of its row in the timeline."""

    index: int
    begin_ns: float
    end_ns: float
    spent_ns: tuple[tuple[str, float], ...]
    for_packets: bool = False


def critical_path(timeline: Timeline) -> tuple[PathStep, ...]:
    """Return the steps in order of time; none for a timeline that does not tell what depends on what."""
    rows = _Rows(timeline)
    if not rows.linked or rows.last is None:
        return ()
    (index, until), waited, packet = rows.last, True, -1
    steps: list[PathStep] = []
    while True:
        start, before = rows.since(index, waited, packet)
        if until > start:
            spent = tuple(_pieces(rows.marks(index, waited, packet), start, until))
            steps.append(PathStep(index, start, until, spent, waited and rows.is_dma[index]))
        until, packet = start, before
        found = rows.latest[index] if packet < 0 else rows.trigger[packet]
        if found < 0:
            return tuple(dropwhile(lambda step: not rows.works[step.index], reversed(steps)))
        if packet < 0:
            waited = rows.by_signal[index]
        index = found


def _pieces(marks: Sequence[tuple[str, float]], since: float, until: float) -> Iterable[tuple[str, float]]:
    """Return what a time is spent on, and how long. `marks`: from when on it is spent on what, the first not after `since`."""
    if len(marks) == 1:  # most steps
        return ((marks[0][0], until - since),)
    begins = [max(begin, since) for _, begin in marks]
    ends = [min(end, until) for _, end in (*marks[1:], ("", until))]
    return ((what, end - begin) for (what, _), begin, end in zip(marks, begins, ends) if end > begin)


def path_totals(path: Sequence[PathStep]) -> dict[str, float]:
    """Return what the critical path is spent on, in ns, the longest first."""
    times: defaultdict[str, float] = defaultdict(float)
    for what, ns in chain.from_iterable(step.spent_ns for step in path):
        times[what] += ns
    return dict(sorted(times.items(), key=lambda item: -item[1]))


def chip_of(timeline: Timeline) -> Chip | None:
    """Return the chip of the instance that a timeline is from; None where it is not told or not known."""
    family = family_of(str(timeline.summary.get("instance_type", "")))
    return CHIPS[family] if family else None


class Done(NamedTuple):
    """When the work of each row is over, and when another engine knows of it, in ns; NaN for a DMA whose packets are not known."""

    over_ns: np.ndarray
    told_ns: np.ndarray


class _Rows:
    """The instructions of a timeline as columns, whose elements are Python's own numbers: each step of the path asks for a few. `engine`, `pace`: as an
    index into `engines`, `paces`. `over`: when it, or what it moves, is over. `moves`: when packets may begin. `latest`: what each started after, -1 for the
    first of all. `by_signal`: whether it waited for the result of that. `linked`: whether the timeline tells what depends on what. `last`: the work that is
    done last, and when; None where none is done."""

    def __init__(self, timeline: Timeline) -> None:
        rows = timeline.instructions
        start = numbers(rows, "timestamp")
        end = start + numbers(rows, "duration")
        ids = IdIndex(rows)
        self.packets = packets = Packets(timeline, ids)
        last = packets.last(len(rows))
        is_dma = _marks(rows, lambda name: name.startswith("DMA_")) | (last >= 0)  # a WRITE starts static DMAs
        of_kernel = _marks(rows, lambda found: found != "runtime", "alignment")
        works = (_marks(rows, lambda name: name not in SETUP) | is_dma) & of_kernel
        over = np.where(is_dma, np.where(last >= 0, np.append(packets.end_ns, 0.0)[last], np.nan), end)
        done = Done(over, over + _signal_ns(timeline, is_dma))
        engines = coded(rows, ("subgroup",), str)
        self.engines = engines.values
        on_engine = _on_engine(coded(rows, ("subgraph", "subgroup"), lambda *both: both).codes, start)
        free = _free(timeline, start, end[on_engine])
        at, before, _ = links(rows)
        before = ids.find(before)
        at, before = at[before >= 0], before[before >= 0]
        self.linked = _is_linked(rows, len(before))
        self.last = _last(works, start, np.where(is_dma, np.fmax(end, _known_done(done, start, at, before)), end))
        met = ids.find(field_of(rows, "meets", -1))
        latest, by_signal = _latest(start, free, done, on_engine, met, (at, before))
        paces = coded(rows, ("dma_pace",), str)
        self.paces = paces.values
        moves = start + numbers(rows, "dma_start_ns")
        idle = _marks(rows, IDLE.__contains__)
        columns: Any = (start, over, moves, works, is_dma, idle, latest, by_signal, engines.codes, paces.codes)
        views: Any = map(memoryview, (*columns, last, packets.trigger))
        self.start, self.over, self.moves, self.works, self.is_dma, self.is_idle, *rest = views
        self.latest, self.by_signal, self.engine, self.pace, self.last_packet, self.trigger = rest

    def since(self, index: int, waited: bool, packet: int) -> tuple[float, int]:
        """Return when a row begins to be on the path, in ns, and the packet that its own packets waited for until then; -1 where they waited for none.
        `waited`, `packet`: as `marks` takes them."""
        start = self.start[index]
        if not waited or self.paces[self.pace[index]] not in BOUNDS:
            return start, -1
        own = self.last_packet[index] if packet < 0 else packet
        if own >= 0:
            begin, before = self.packets.behind(own)
            if before >= 0 and self.packets.end_ns[before] > self.moves[index] and self._is_earlier(before, start):
                return begin, before
        return start, -1

    def _is_earlier(self, packet: int, start_ns: float) -> bool:
        """Say whether a packet is of a DMA that began earlier; a damaged file may tell anything."""
        trigger = self.trigger[packet]
        return bool(trigger >= 0 and self.start[trigger] < start_ns)

    def marks(self, index: int, waited: bool, packet: int = -1) -> Sequence[tuple[str, float]]:
        """Return from when on a row is on the path for what. `waited`: what follows waited for its result, else only for its engine. `packet`: the one that
        what follows stood behind, -1 where it did not."""
        start, over = self.start[index], self.over[index]
        if self.is_idle[index]:
            return ((BOUNDS["latency"], start),)
        if not self.is_dma[index]:
            engine = self.engines[self.engine[index]]
            return ((engine, start), (BOUNDS["latency"], over)) if waited else ((engine, start),)
        if not waited:
            return ((BOUNDS["issue"], start),)
        pace = BOUNDS.get(self.paces[self.pace[index]])
        if pace is None or math.isnan(over):
            return ((BOUNDS["dma_wait"], start),)
        told = ((BOUNDS["latency"], over),) if packet < 0 else ()
        return ((BOUNDS["latency"], start), (pace, self.moves[index]), *told)


def _signal_ns(timeline: Timeline, is_dma: np.ndarray) -> np.ndarray:
    """Return how long after its end each row is known to be done. The simulator tells it, since its model may be calibrated; of other files it is the
    chip's, and 0 where the chip is not known."""
    told = (timeline.summary.get(f"simulator_{what}_time") for what in ("dma_done", "semaphore"))
    told_ns = [time * 1e9 for time in told if isinstance(time, float)]
    if len(told_ns) == 2:
        return np.where(is_dma, *told_ns)
    chip = chip_of(timeline)
    if chip is None:
        return np.zeros(len(is_dma))
    core = coded(timeline.dma, ("subgraph",), str)
    # Packets that no row started fetch instructions, where the file tells.
    of_kernel = core.codes[field_of(timeline.dma, "trigger", -1) >= 0]
    cores = len(np.unique(of_kernel)) or len(core.values)
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
    start: np.ndarray,
    free: np.ndarray,
    done: Done,
    on_engine: np.ndarray,
    met: np.ndarray,
    links_of: tuple[np.ndarray, np.ndarray],
) -> tuple[np.ndarray, np.ndarray]:
    """Return what each row started after, -1 for the first of all, and whether it waited for its result. `free`: when the engine of each could have
    taken it. `met`: the row of the other core that each begins together with, -1 for none; the one that came last holds both up. `links_of`: rows, each with
    one that it depends on."""
    at, before = links_of
    earlier = start[before] < start[at]
    known = np.flatnonzero(earlier & (done.over_ns[before] <= start[at]))
    second = np.flatnonzero(on_engine >= 0)
    what = np.concatenate([before[known], on_engine[second]])
    after = np.concatenate([at[known], second])
    signal = np.arange(len(what)) < len(known)
    over = np.concatenate([np.minimum(done.told_ns[before[known]], start[at[known]]), free[second]])
    other = met[after]
    both = np.flatnonzero((other >= 0) & (start[what] < start[other]))
    what, signal, over = (np.concatenate([column, column[both]]) for column in (what, signal, over))
    after = np.concatenate([after, other[both]])
    latest, by_signal, since = np.full(len(start), -1), np.zeros(len(start), bool), np.full(len(start), -np.inf)
    np.maximum.at(since, after, over)
    last = np.flatnonzero(over == since[after])
    last = last[np.lexsort((signal[last], what[last]))]
    for column, values in ((latest, what), (by_signal, signal)):
        column[after[last]] = values[last]  # of several the last one counts
    unknown = np.flatnonzero(earlier & np.isnan(done.over_ns[before]))[::-1]
    unknown = unknown[np.argsort(start[before[unknown]], kind="stable")]
    unknown = unknown[start[at[unknown]] - since[at[unknown]] > SIGNAL_NS]
    latest[at[unknown]], by_signal[at[unknown]] = before[unknown], True
    return latest, by_signal


def _on_engine(engine: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return the row that began before each on its engine; -1 for the first."""
    order = np.lexsort((start, engine))
    before = np.full(len(order), -1)
    same = engine[order[1:]] == engine[order[:-1]]
    before[order[1:][same]] = order[:-1][same]
    return before


def _known_done(done: Done, start: np.ndarray, at: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Return when each row is known to be done. A DMA whose packets are not known is so at the latest when the first row that depends on it begins; NaN where
    none does. `at`, `before`: rows, each with one that it depends on."""
    told: np.ndarray = done.told_ns.copy()
    waited = np.isnan(told[before]) & (start[at] > start[before])
    np.fmin.at(told, before[waited], start[at[waited]])
    return told


def _last(works: np.ndarray, start: np.ndarray, over: np.ndarray) -> tuple[int, float] | None:
    """Return the row and the time of the work that is over last; of several the one that began last."""
    if not works.any():
        return None
    until = float(over[works].max())
    ends = np.flatnonzero(works & (over == until))
    return int(ends[start[ends].argmax()]), until


def _marks(rows: Sequence[InstructionRow], test: Callable[[str], bool], name: str = "opcode") -> np.ndarray:
    """Return for each row whether its opcode, or another field, passes a test."""
    found = coded(rows, (name,), test)
    marks: np.ndarray = np.array(found.values, bool)[found.codes]
    return marks


def _is_linked(rows: Sequence[InstructionRow], predecessors: int) -> bool:
    """Say whether the rows tell what depends on what."""
    return predecessors > 0 and (
        isinstance(rows, Columns) or all(isinstance(row, LinkedInstructionRow) for row in rows)
    )
