"""Where tensors lie that the kernel left to the compiler: a ring through SBUF and one through PSUM.

On hardware, a load waits until there is memory for its tile, and a ninth product waits for one of the 8 PSUM banks. Where a
compiler puts tensors is not known. Here each tensor takes the next free bytes after those of the tensor before, in program
order, so that memory is reused as late as possible. A tensor that finds no room takes the place of those that are done with first: it
waits for what they did before, and what they do later waits for it. One that is larger than the memory gets no address.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from neff_bench.chips import Chip
from neff_bench.simulator.compiler.program.columns import PSUM, SBUF, Buffers
from neff_bench.simulator.compiler.program.lives import Lives

if TYPE_CHECKING:
    import numpy as np


def allocate(buffers: Buffers, lives: Lives, chip: Chip) -> np.ndarray:
    """Byte address in each partition, by buffer, of what one core uses and the kernel did not place; -1 for all others.

    simulator/native/ring.c is the same in C.
    """
    import numpy as np

    found = np.full(len(buffers.memory), -1, np.int64)
    for memory, size, bank in (
        (SBUF, open_sbuf_bytes(chip), open_sbuf_bytes(chip)),
        (PSUM, chip.psum_partition_bytes, chip.psum_bank_bytes),
    ):
        mine = buffers.memory[lives.buffer] == memory
        buffer, first, last = (column[mine] for column in lives)
        placed = buffers.address[buffer]
        tensors = (first, last, buffers.row_bytes[buffer], placed)
        found[buffer] = np.where(placed < 0, _addresses(tensors, size, bank), -1)
    return found


def _addresses(tensors: tuple[np.ndarray, ...], size: int, bank: int) -> np.ndarray:
    """`tensors`: first and last instruction, bytes, and the address where the kernel placed it or -1, by first use."""
    import numpy as np

    rows = list(zip(*(column.tolist() for column in tensors), strict=True))
    ring = _Ring(size, bank, [(placed, placed + count) for _, _, count, placed in rows if placed >= 0])
    found = []
    ends: list[tuple[int, int]] = []
    for first, last, count, placed in rows:
        start: int | None = placed
        if placed < 0:
            while ends and ends[0][0] < first:
                ring.free(heappop(ends)[1])
            while (start := ring.take(count)) is None and count <= size and ends:
                ring.free(heappop(ends)[1])
            if start is not None:
                heappush(ends, (last, start))
        found.append(-1 if start is None else start)
    return np.array(found, np.int64)


def open_sbuf_bytes(chip: Chip) -> int:
    """Of each partition, for what the kernel did not place: the compiler keeps the rest (AWS docs, nki.language.tile_size)"""
    return chip.sbuf_partition_bytes - chip.sbuf_reserved_bytes


class _Ring:
    """Bytes of a partition. `bank`: no tensor of at most so many bytes crosses a multiple of it. `placed`: spans that the kernel takes."""

    def __init__(self, size: int, bank: int, placed: Iterable[tuple[int, int]]) -> None:
        self.size = size
        self.bank = bank
        self.next = 0
        self.starts: list[int] = []
        self.stops: list[int] = []
        for start, stop in sorted(placed):
            if self.stops and start <= self.stops[-1]:
                self.stops[-1] = max(self.stops[-1], stop)
            else:
                self.starts.append(start)
                self.stops.append(stop)

    def take(self, count: int) -> int | None:
        """The start of the next `count` free bytes, None when there is no such place in the whole ring."""
        start, behind = self.next, False
        while True:
            if count > self.bank or start % self.bank + count > self.bank:
                start = -(-start // self.bank) * self.bank
            if start + count > self.size:
                if behind:
                    return None
                start, behind = 0, True
                continue
            after = bisect_right(self.starts, start)
            if after and self.stops[after - 1] > start:
                start = self.stops[after - 1]
            elif after < len(self.starts) and self.starts[after] < start + count:
                start = self.stops[after]
            else:
                self.starts.insert(after, start)
                self.stops.insert(after, start + count)
                self.next = start + count
                return start
            if behind and start >= self.next:
                return None

    def free(self, start: int) -> None:
        at = bisect_left(self.starts, start)
        del self.starts[at], self.stops[at]
