"""What the rules ask a timeline for, and what they answer with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from neff_bench.chips import CHIPS, Chip
from neff_bench.parsers.event_columns import IdIndex, field_of, numbers
from neff_bench.parsers.event_rows import DmaRow, InstructionRow, Timeline
from neff_bench.parsers.formats.ntff import family_of
from neff_bench.parsers.formats.opcodes import SETUP
from neff_bench.parsers.records import merged
from neff_bench.viewer.critical_path import PathStep, critical_path
from neff_bench.viewer.operands import Operand, operands_in

SEMAPHORE_BYTES = 4
"""A packet of this size signals the end of a DMA and moves nothing."""
FEW = 8
"""So many DMAs need no second queue, and so few instructions no other order."""
NS_PER_US = 1000.0


@dataclass(frozen=True)
class Advice:
    """One finding. `title`: what to do. `evidence`: the numbers that say so. `gain_us`: what it could save of the total time; None where that is not known.
    `metric`: the column of a row, the key of the profiler or the constant of the chip that shows it."""

    title: str
    evidence: str
    gain_us: float | None
    metric: str


def total_us(timeline: Timeline) -> float:
    """Of the execution; 0 where the file does not say."""
    total = timeline.summary.get("total_time")
    return float(total) * 1e6 if isinstance(total, (int, float)) else 0.0


class Facts:
    """What the rules ask a timeline for; each answer is worked out once."""

    def __init__(self, timeline: Timeline, path: Sequence[PathStep] | None = None) -> None:
        self._path = path
        self.timeline, self.rows = timeline, list(timeline.instructions)
        self.total_us = total_us(timeline)

    @cached_property
    def chip(self) -> Chip | None:
        """By the instance type, None for one that is not known."""
        family = family_of(str(self.timeline.summary.get("instance_type", "")))
        return CHIPS[family] if family else None

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
        trigger = IdIndex(self.timeline.instructions).find(field_of(self.timeline.dma, "trigger", -1))
        size = numbers(self.timeline.dma, "transfer_size")
        of_data = (trigger >= 0) & (size > SEMAPHORE_BYTES)
        sizes, packets = (np.bincount(trigger[of_data], weights) for weights in (size[of_data], None))
        return {at: (int(sizes[at]), int(packets[at])) for at in np.flatnonzero(packets).tolist()}

    def operands(self, index: int) -> tuple[Operand, ...]:
        """Of a row; instructions of a loop often share one text."""
        return self._operands(self.rows[index].operands)

    @cached_property
    def _operands(self) -> Callable[[str], tuple[Operand, ...]]:
        return cache(operands_in)

    @cached_property
    def span_us(self) -> float:
        """From the first to the last work."""
        work = [row for row in self.rows if row.opcode not in SETUP]
        last = max((row.timestamp + row.duration for row in work), default=0.0)
        return (last - min((row.timestamp for row in work), default=0.0)) / NS_PER_US

    @cached_property
    def busy_us(self) -> Mapping[tuple[str, str], float]:
        """The time in which each engine of each core computes; the issue of DMAs aside."""
        rows: dict[tuple[str, str], list[InstructionRow]] = defaultdict(list)
        for row in self.rows:
            if row.opcode not in SETUP and not row.opcode.startswith("DMA_"):
                rows[row.subgraph, row.subgroup].append(row)
        return {engine: alone_ns(mine, ()) / NS_PER_US for engine, mine in rows.items()}

    def number(self, key: str) -> float | None:
        """A counter of the summary."""
        value = self.timeline.summary.get(key)
        return float(value) if isinstance(value, (int, float)) else None

    def indices(self, chosen: Callable[[InstructionRow], bool]) -> list[int]:
        """Of the rows that are chosen."""
        return [index for index, row in enumerate(self.rows) if chosen(row)]

    def time_us(self, indices: Collection[int], spent_on: str | None = None) -> float:
        """The time that these instructions take on the critical path, of it what is `spent_on` one thing; without a path, the time that no other work runs beside them."""
        chosen = set(indices)
        if self.path:
            steps = [step for step in self.path if step.index in chosen and spent_on in (None, step.spent_on)]
            return sum(step.end_ns - step.begin_ns for step in steps) / NS_PER_US
        mine = [self.rows[index] for index in chosen]
        others = [row for index, row in enumerate(self.rows) if index not in chosen and row.opcode not in SETUP]
        return alone_ns(mine, [*others, *self.timeline.dma]) / NS_PER_US

    def busy_share(self, engine: str) -> float:
        """The part of the kernel's own time in which an engine works."""
        mine = [row for row in self.rows if row.opcode not in SETUP and row.subgroup == engine]
        return alone_ns(mine, ()) / NS_PER_US / self.span_us if self.span_us else 0.0


def alone_ns(rows: Sequence[DmaRow | InstructionRow], others: Sequence[DmaRow | InstructionRow]) -> float:
    """Return the time that some of `rows` take while none of `others` does."""
    return _covered_ns(rows, others) - _covered_ns(others)


def _covered_ns(*tables: Sequence[DmaRow | InstructionRow]) -> float:
    """Return the time in which at least one runs."""
    start = np.concatenate([numbers(rows, "timestamp") for rows in tables])
    begin, end = merged(start, start + np.concatenate([numbers(rows, "duration") for rows in tables]))
    return float((end - begin).sum())
