"""Finds the packets of each DMA, and what they stood behind in the queues of their DMA engines."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from neff_bench.parsers.event_columns import IdIndex, coded, field_of, numbers
from neff_bench.parsers.event_rows import Timeline

SEMAPHORE_BYTES = 4
"""A packet of this size signals the end of a DMA and moves nothing."""


class Packets:
    """The packets of a timeline as columns. `trigger`: the index of the instruction that started each, -1 where it is not known. `begin_ns`, `end_ns`."""

    def __init__(self, timeline: Timeline, ids: IdIndex) -> None:
        self._rows = timeline.dma
        self.trigger = ids.find(field_of(self._rows, "trigger", -1))
        self.begin_ns = numbers(self._rows, "timestamp")
        self.end_ns = self.begin_ns + numbers(self._rows, "duration")
        self._orders: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self._place = np.zeros(len(self.trigger), np.int64)

    def last(self, instructions: int) -> np.ndarray:
        """Return the packet that ends last of those that each instruction started, those of semaphores aside; -1 where none is known."""
        is_data = numbers(self._rows, "transfer_size") > SEMAPHORE_BYTES
        end, last = np.full(instructions, -np.inf), np.full(instructions, -1)
        # Where no packet is larger than a semaphore's, data is as small.
        for chosen in (is_data, ~is_data):
            at = np.flatnonzero(chosen & (self.trigger >= 0))
            at = at[last[self.trigger[at]] < 0]
            np.maximum.at(end, self.trigger[at], self.end_ns[at])
            at = at[self.end_ns[at] == end[self.trigger[at]]]
            last[self.trigger[at]] = at
        return last

    def behind(self, packet: int) -> tuple[float, int]:
        """Return when the first packet of the same DMA in the same queue began, in ns, and the packet before it in the queue, -1 for none."""
        order, first = self._order(int(self._queues[packet]))
        at = int(first[self._place[packet]])
        return float(self.begin_ns[order[at]]), int(order[at - 1]) if at else -1

    @cached_property
    def _queues(self) -> np.ndarray:
        """The queue of a DMA engine that each packet stands in, as a number."""
        queues: np.ndarray = coded(self._rows, ("dma_engine", "dma_queue"), lambda *both: both).codes
        return queues

    def _order(self, queue: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the packets of a queue in order of time, and for each the place of the first of those in a row that its instruction started."""
        if queue not in self._orders:
            mine = np.flatnonzero(self._queues == queue)
            mine = mine[np.argsort(self.begin_ns[mine], kind="stable")]
            is_first = np.diff(self.trigger[mine], prepend=-2) != 0
            self._place[mine] = places = np.arange(len(mine))
            self._orders[queue] = mine, np.maximum.accumulate(np.where(is_first, places, 0))
        return self._orders[queue]
