"""Answers what the rules of advice ask a timeline for."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import nlargest
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from neff_bench.chips import Chip
from neff_bench.parsers.event_columns import Coded, Columns, IdIndex, coded, field_of, links, numbered, numbers
from neff_bench.parsers.event_rows import Dependence, Timeline
from neff_bench.parsers.formats.opcodes import SETUP
from neff_bench.parsers.records import merged
from neff_bench.viewer.critical_path import PathStep, chip_of, critical_path
from neff_bench.viewer.operands import Operand, Shape, forms, operands_in, shape_of
from neff_bench.viewer.packets import SEMAPHORE_BYTES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Rows = NDArray[np.int64]

FEW = 8
"""So many DMAs need no second queue, and so few instructions no other order."""
ELEMENTS_MIN = 1024
"""Ours: a DMA with so many packets of an element each moves its elements one by one."""
LINES = 3
"""So many source lines stand behind an advice."""
PARTITIONS = 128
"""Lanes of an engine, and partitions of SBUF, which all DMA engines serve together (guide, Opt #5a)."""
NS_PER_US = 1000.0
FLOW = [*Dependence].index(Dependence.FLOW)


@dataclass(frozen=True)
class Advice:
    """One finding. `title`: what to do. `evidence`: the numbers that say so. `gain_us`: a guess of what it saves of the total; None where that is not known.
    `metric`: the column of a row, the key of the profiler or the constant of the chip that shows it."""

    title: str
    evidence: str
    gain_us: float | None
    metric: str


def total_us(timeline: Timeline) -> float:
    """Return the time of the execution; 0 where the file does not say."""
    total = timeline.summary.get("total_time")
    return float(total) * 1e6 if isinstance(total, (int, float)) else 0.0


class Kind(NamedTuple):
    """Holds what kind of work an instruction is; the fields are those of a row."""

    subgraph: str
    subgroup: str
    opcode: str
    instruction_type: str


class _Shapes(dict[str, Shape]):
    """The shape of each text that is asked for. Several rules ask, and reading a text takes the longest."""

    def __missing__(self, text: str) -> Shape:
        self[text] = found = shape_of(operands_in(text))
        return found


class Facts:
    """Holds what the rules ask a timeline for; each answer is worked out once."""

    def __init__(self, timeline: Timeline, path: Sequence[PathStep] | None = None) -> None:
        self._path = path
        self.timeline, self.rows = timeline, timeline.instructions
        self.total_us = total_us(timeline)
        self._shapes = _Shapes()

    @cached_property
    def chip(self) -> Chip | None:
        """By the instance type, None for one that is not known."""
        return chip_of(self.timeline)

    @cached_property
    def path(self) -> Sequence[PathStep]:
        """The critical path; empty where it is not known."""
        return critical_path(self.timeline) if self._path is None else self._path

    @property
    def alone(self) -> str:
        """What `time_us` counts, for people."""
        return "of the critical path" if self.path else "in which nothing else runs"

    @cached_property
    def dmas(self) -> dict[int, tuple[int, int]]:
        """How many bytes each instruction that starts a DMA moves, and in how many packets of data."""
        trigger, size = self._packets
        of_data = (trigger >= 0) & (size > SEMAPHORE_BYTES)
        sizes, packets = (np.bincount(trigger[of_data], weights) for weights in (size[of_data], None))
        return {at: (int(sizes[at]), int(packets[at])) for at in np.flatnonzero(packets).tolist()}

    @cached_property
    def single_elements(self) -> dict[int, int]:
        """How many packets with one element each an instruction makes that starts a DMA, where they are many."""
        trigger, size = self._packets
        packets = np.bincount(trigger[(trigger >= 0) & (size <= SEMAPHORE_BYTES)])
        return {at: int(packets[at]) for at in np.flatnonzero(packets >= ELEMENTS_MIN).tolist()}

    @cached_property
    def _packets(self) -> tuple[Any, Any]:
        """Columns: the instruction that started each packet, -1 for none, and its bytes."""
        trigger = IdIndex(self.timeline.instructions).find(field_of(self.timeline.dma, "trigger", -1))
        return trigger, numbers(self.timeline.dma, "transfer_size")

    @cached_property
    def kinds(self) -> Coded:
        """What all rules ask of every row: its `Kind`."""
        return coded(self.rows, Kind._fields, Kind)

    @cached_property
    def of_kernel(self) -> Rows:
        """The rows of the kernel itself, where it is known which are the runtime's."""
        found = coded(self.rows, ("alignment",), lambda alignment: alignment != "runtime")
        return np.flatnonzero(np.array(found.values, bool)[found.codes])

    def kind(self, index: int) -> Kind:
        """Return that of a row."""
        found: Kind = self.kinds.values[self.kinds.codes[index]]
        return found

    @cached_property
    def _texts(self) -> Coded:
        """The operands of each row; a text may be there more than once."""
        of_columns = self.rows.columns.get("operands") if isinstance(self.rows, Columns) else None
        return coded(self.rows, ("operands",), str) if of_columns is None else of_columns

    @cached_property
    def forms(self) -> Coded:
        """The operands of each row without the places, which few different ones are left of."""
        of_text = numbered(forms(self._texts.values))
        return Coded(of_text.codes[self._texts.codes], of_text.values)

    def text(self, index: int) -> str:
        """Return the operands of a row, as the profile writes them."""
        found: str = self._texts.values[self._texts.codes[index]]
        return found

    def operands(self, index: int) -> tuple[Operand, ...]:
        """Return the operands of a row."""
        return operands_in(self.text(index))

    def of_shapes(self, indices: Rows, ask: Callable[[Shape], float]) -> NDArray[np.float64]:
        """Return what `ask` says of the shape of each row's operands; it is asked once for each form."""
        return self.of_forms(indices, lambda form: ask(self._shapes[form]))

    def of_forms(self, indices: Rows, ask: Callable[[str], float]) -> NDArray[np.float64]:
        """Return what `ask` says of the form of each row's operands; it is asked once for each form."""
        codes = self.forms.codes[indices]
        said = np.zeros(len(self.forms.values))
        there = np.flatnonzero(np.bincount(codes))
        said[there] = [ask(self.forms.values[code]) for code in there.tolist()]
        of_rows: NDArray[np.float64] = said[codes]
        return of_rows

    def starts(self, indices: Rows) -> tuple[Any, Any]:
        """Return begin and end of these rows, in ns."""
        begin, end = self._spans
        return begin[indices], end[indices]

    @cached_property
    def _spans(self) -> tuple[Any, Any]:
        return spans(self.rows)

    @cached_property
    def span_us(self) -> float:
        """From the first to the last work."""
        work = self.indices(lambda row: row.opcode not in SETUP)
        begin, end = self.starts(work)
        return float(end.max() - begin.min()) / NS_PER_US if len(work) else 0.0

    @cached_property
    def busy_us(self) -> Mapping[tuple[str, str], float]:
        """The time in which each engine of each core computes; the issue of DMAs aside."""
        engines = dict.fromkeys((kind.subgraph, kind.subgroup) for kind in self.kinds.values if _computes(kind))
        return {
            engine: covered_ns(
                self.starts(self.indices(lambda row: _computes(row) and (row.subgraph, row.subgroup) == engine))
            )
            / NS_PER_US
            for engine in engines
        }

    @cached_property
    def idle_us(self) -> float:
        """The part of the kernel's own time in which the busiest engine does not compute. Better DMAs save no more."""
        return self.span_us - max(self.busy_us.values(), default=0.0)

    @property
    def path_us(self) -> float:
        """How long the critical path is."""
        return (self.path[-1].end_ns - self.path[0].begin_ns) / NS_PER_US

    @cached_property
    def dma_idle_us(self) -> float:
        """The part of the critical path in which the busiest DMA engine moves nothing. Faster engines save no more while the DMAs stay as they are."""
        begin, end = self._on_the_path(*spans(self.timeline.dma))
        engines = coded(self.timeline.dma, ("dma_engine",), str)
        masks = (engines.codes == code for code, name in enumerate(engines.values) if name)
        busy_ns = max((covered_ns((begin[mine], end[mine])) for mine in masks), default=0.0)
        return self.path_us - busy_ns / NS_PER_US

    @cached_property
    def taken_us(self) -> Mapping[tuple[str, str], Sequence[float]]:
        """How long each engine of each core is taken on the critical path: from the begin of an instruction until it could begin the next. And how much of
        that is the issue of DMAs. The simulator alone tells how long each instruction waited."""
        if not self.timeline.simulated:
            return {}
        begin, end = self._spans
        engines = coded(self.rows, ("subgraph", "subgroup"), lambda *both: both)
        mine = self.of_kernel
        order = mine[np.lexsort((begin[mine], engines.codes[mine]))]
        first, second = order[:-1], order[1:]
        same = engines.codes[first] == engines.codes[second]
        until = end.copy()
        until[first[same]] = (begin - numbers(self.rows, "evt_wait_time"))[second[same]]
        begin, until = self._on_the_path(begin, until)
        length = (until - begin)[mine]
        is_dma = np.array([kind.opcode.startswith("DMA_") for kind in self.kinds.values], bool)[self.kinds.codes][mine]
        taken, issue = (np.bincount(engines.codes[mine], length * part) / NS_PER_US for part in (1, is_dma))
        return {one: times for one, *times in zip(engines.values, taken.tolist(), issue.tolist())}

    def _on_the_path(self, begin: Any, end: Any) -> tuple[Any, Any]:
        """Return begin and end of the parts of these times that lie on the critical path, in ns."""
        first_ns, last_ns = self.path[0].begin_ns, self.path[-1].end_ns
        return np.clip(begin, first_ns, last_ns), np.clip(end, first_ns, last_ns)

    @cached_property
    def links(self) -> tuple[Any, Any, Any]:
        """Each dependence as columns: the row, the one that comes before it (-1 where there is none of that id), the index of the `Dependence`."""
        after, ids, kind = links(self.rows)
        return after, IdIndex(self.rows).find(ids), kind

    def better_us(self, constant: str) -> float | None:
        """Return what a better constant of the chip saves of the total, which the simulator worked out; None where it did not."""
        totals_us = {row.constant: row.total_time_us for row in self.timeline.sensitivity}
        return self.total_us - totals_us.get(constant, self.total_us) if totals_us else None

    def number(self, key: str) -> float | None:
        """Return a counter of the summary."""
        value = self.timeline.summary.get(key)
        return float(value) if isinstance(value, (int, float)) else None

    @cached_property
    def flows(self) -> NDArray[np.int64]:
        """Each pair of rows of which the second reads what the first wrote, in order."""
        after, before, kind = self.links
        flow = (kind == FLOW) & (before >= 0)
        pairs = np.sort(before[flow] * len(self.rows) + after[flow])
        pairs = pairs[np.diff(pairs, prepend=-1) > 0]  # here several times as fast as np.unique
        return np.stack(np.divmod(pairs, max(len(self.rows), 1)), 1)

    def indices(self, chosen: Callable[[Kind], bool]) -> Rows:
        """Return the rows whose kind is chosen."""
        kinds = np.array([chosen(kind) for kind in self.kinds.values], bool)
        return np.flatnonzero(kinds[self.kinds.codes])

    def engines(self, indices: Rows) -> Counter[str]:
        """Return how many of these rows each engine has."""
        found = Counter[str]()
        for kind, count in zip(self.kinds.values, np.bincount(self.kinds.codes[indices]).tolist()):
            if count:
                found[kind.subgroup] += count
        return found

    def time_us(self, indices: Collection[int] | Rows, for_packets: bool | None = None) -> float:
        """Return the time that these instructions take on the critical path, of it that in which packets are waited for, or are not (`for_packets`); without
        a path, the time that no other work runs beside them."""
        if self.path:
            of_these = self._on_path(indices)
            if for_packets is not None:
                of_these = of_these & np.array([step.for_packets == for_packets for step in self.path], bool)
            return float(self._steps[1][of_these].sum()) / NS_PER_US
        chosen, work = self._marked(indices), self.indices(lambda row: row.opcode not in SETUP)
        others = self.starts(work[~chosen[work]]), spans(self.timeline.dma)
        return (covered_ns(*others, self.starts(np.flatnonzero(chosen))) - covered_ns(*others)) / NS_PER_US

    @cached_property
    def _steps(self) -> tuple[Any, Any]:
        """Row and time in ns of each step of the critical path."""
        index = np.array([step.index for step in self.path], np.int64)
        return index, np.array([step.end_ns - step.begin_ns for step in self.path], np.float64)

    def _marked(self, indices: Collection[int] | Rows) -> NDArray[np.bool_]:
        """Return for each row whether it is one of these."""
        chosen = np.zeros(len(self.rows), bool)
        chosen[np.fromiter(indices, np.int64, len(indices))] = True
        return chosen

    def _on_path(self, indices: Collection[int] | Rows) -> NDArray[np.bool_]:
        """Return for each step of the critical path whether it is one of these instructions."""
        of_steps: NDArray[np.bool_] = self._marked(indices)[self._steps[0]]
        return of_steps

    def at(self, indices: Collection[int] | Rows) -> str:
        """Return the source lines on which these instructions spend the most time of the critical path, for the end of a sentence; "" where they are not known."""
        spent, of_these = defaultdict[str, float](float), self._on_path(indices)
        index, time_ns = (column[of_these] for column in self._steps)
        for line, ns in zip(self._lines.codes[index].tolist(), time_ns.tolist()):
            spent[self._lines.values[line]] += ns
        spent.pop("", None)
        return f"; most at {', '.join(nlargest(LINES, spent, key=spent.__getitem__))}" if spent else ""

    @cached_property
    def _lines(self) -> Coded:
        return coded(self.rows, ("nki_source_location",), lambda line: line or "")

    def busy_share(self, engine: str) -> float:
        """Return the part of the kernel's own time in which an engine works."""
        mine = self.indices(lambda row: row.opcode not in SETUP and row.subgroup == engine)
        return covered_ns(self.starts(mine)) / NS_PER_US / self.span_us if self.span_us else 0.0


def _computes(kind: Kind) -> bool:
    return kind.opcode not in SETUP and not kind.opcode.startswith("DMA_")


def spans(rows: Sequence[Any]) -> tuple[Any, Any]:
    """Return begin and end of rows, in ns."""
    begin = numbers(rows, "timestamp")
    return begin, begin + numbers(rows, "duration")


def covered_ns(*parts: tuple[Any, Any]) -> float:
    """Return the time in which at least one of several sets of (begin, end) is open."""
    begins, ends = zip(*parts)
    begin, end = merged(np.concatenate(begins), np.concatenate(ends))
    return float((end - begin).sum())
