"""Where tensors lie that the kernel left to the compiler: a ring through SBUF and one through PSUM.

On hardware, a load waits until there is memory for its tile, and a ninth product waits for one of the 8 PSUM banks. Where a
compiler puts tensors is not known. Here each tensor takes the next free bytes after those of the tensor before, in program
order, so that memory is reused as late as possible. A tensor that finds no room gets no address, and never waits for memory.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from heapq import heappop, heappush

from neff_bench.chips import Chip
from neff_bench.simulator.compiler.lives import lives
from neff_bench.simulator.program import Buffer, Instruction


def allocate(buffers: Sequence[Buffer], instructions: Sequence[Instruction], chip: Chip) -> dict[int, int]:
    """Byte address in each partition, by buffer, of what one core uses and the kernel did not place."""
    living = lives(instructions)
    addresses: dict[int, int] = {}
    for memory, size, bank in (
        ("sbuf", chip.sbuf_partition_bytes, chip.sbuf_partition_bytes),
        ("psum", chip.psum_partition_bytes, chip.psum_bank_bytes),
    ):
        mine = [(first, index, last) for index, (first, last) in living.items() if buffers[index].memory == memory]
        placed = [buffers[index] for _, index, _ in mine if buffers[index].address is not None]
        ring = _Ring(size, bank, placed)
        ends: list[tuple[int, int]] = []
        for first, index, last in mine:
            if buffers[index].address is not None:
                continue
            while ends and ends[0][0] < first:
                ring.free(heappop(ends)[1])
            start = ring.take(buffers[index].row_bytes)
            if start is not None:
                addresses[index] = start
                heappush(ends, (last, start))
    return addresses


class _Ring:
    """Bytes of a partition. `bank`: no tensor of at most so many bytes crosses a multiple of it."""

    def __init__(self, size: int, bank: int, placed: Iterable[Buffer]) -> None:
        self.size = size
        self.bank = bank
        self.next = 0
        self.starts: list[int] = []
        self.stops: list[int] = []
        for start, stop in sorted((b.address or 0, (b.address or 0) + b.row_bytes) for b in placed):
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
