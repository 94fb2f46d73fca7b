"""Measures SBUF and PSUM over time: how much of each partition the live tensors of a program need, and whether it fits.

A tensor lives from the first to the last instruction, in program order, that computes with it; a DMA does not lengthen its life. Tensors that the kernel
placed count once for each byte that any of them occupies. All others are added up as if they were packed without gaps, over the partitions too. The sum
is the least that any schedule needs which keeps the order of the computation.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from neff_bench.chips import chip_for
from neff_bench.simulator import native
from neff_bench.simulator.compiler.program.columns import MEMORIES, table_of
from neff_bench.simulator.compiler.program.lives import lives_of_all
from neff_bench.simulator.errors import CapacityError
from neff_bench.simulator.native.peak import Peaks, peak_of
from neff_bench.simulator.program import PARTITIONS, Buffer, Memory, Program

_QUADRANT = 32
_ON_CHIP = MEMORIES[1:]
_UNBOUNDED = 1 << 62
_TRANSFERS = frozenset({"dma_copy", "dma_transpose", "dma_compute"})


@dataclass(frozen=True)
class Peak:
    """The largest use of one memory of one physical core, in bytes of a partition: the area in use over 128 partitions.

    `instruction`: index, in the core's list, of the instruction at which it was reached; None when nothing is used.
    `buffer`: index of the tensor that was added last. `source`: the line that allocated it.
    """

    core: int
    memory: Memory
    used_bytes: int
    capacity_bytes: int
    instruction: int | None
    buffer: int | None
    source: str


def memory_peak(program: Program) -> tuple[Peak, ...]:
    """Return the peaks of SBUF and PSUM, for each core in order. The program keeps them: it is checked when it is recorded, and its
    summary asks for the same."""
    kept = vars(program)
    if "peaks" not in kept:
        kept["peaks"] = _peaks(program)
    peaks: tuple[Peak, ...] = kept["peaks"]
    return peaks


def _peaks(program: Program) -> tuple[Peak, ...]:
    peaks = []
    for core in range(len(program.cores)):
        peaks += _of_core(program, core)
    return tuple(peaks)


def _of_core(program: Program, core: int) -> list[Peak]:
    """Sweep the lives in order of their first instruction. At an overflow, it stops at the first one."""
    import numpy as np

    table = table_of(program)
    living = lives_of_all(table, core, [first.op in _TRANSFERS for first in table.kinds])
    order = np.lexsort((living.last, living.first))
    buffer, first, last = (column[order] for column in living)
    memory, _, row_bytes, rows, start, _ = (column[buffer] for column in table.buffers)
    ends, low, high = np.zeros(1, np.int64), *np.full((2, len(buffer)), -1)
    placed = start >= 0
    if placed.any():
        start = start[placed] + (memory[placed] << 32)  # no address of one memory is one of another
        stop = start + row_bytes[placed]
        ends = np.unique([start, stop])
        low[placed], high[placed] = np.searchsorted(ends, start), np.searchsorted(ends, stop)
    packed = row_bytes * (-(-rows // _QUADRANT) * _QUADRANT) // PARTITIONS
    by_end, covers = np.argsort(last, kind="stable"), np.zeros(len(ends), np.int64)
    capacity = np.array([_UNBOUNDED, *(capacity_bytes(program.target, name) for name in _ON_CHIP)])
    used, most, at = np.array([[0], [0], [-1]]).repeat(len(capacity), axis=1)
    native.run(
        peak_of,
        Peaks(len(buffer), memory, first, last, by_end, low, high, packed, ends, covers, capacity, used, most, at),
    )
    reached = [(int(first[one]), int(buffer[one])) if one >= 0 else None for one in at.tolist()]
    return [
        _peak_at(program, core, name, int(capacity[number]), int(most[number]), reached[number])
        for number, name in enumerate(_ON_CHIP, 1)
    ]


def _peak_at(
    program: Program, core: int, memory: Memory, capacity: int, used: int, place: tuple[int, int] | None
) -> Peak:
    """Describe a peak of memory. `place`: the instruction at which the peak was reached, and the buffer that was added last."""
    if place is None:
        return Peak(core, memory, 0, capacity, None, None, "")
    return Peak(core, memory, used, capacity, *place, program.sources[program.buffers[place[1]].source])


def check_capacity(program: Program) -> tuple[Peak, ...]:
    """Return the peaks as `memory_peak` does; raises CapacityError naming the allocation with which a memory overflows."""
    peaks = memory_peak(program)
    for peak in peaks:
        if peak.used_bytes > peak.capacity_bytes and peak.buffer is not None:
            buffer = program.buffers[peak.buffer]
            raise CapacityError(
                f"{peak.memory.upper()} of core {peak.core} is full: tensor {buffer.name!r} {list(buffer.shape)}"
                f" {buffer.dtype} raises the live tensors to {peak.used_bytes} bytes of each partition; it has"
                f" {peak.capacity_bytes}",
                peak.source or None,
            )
    return peaks


def capacity_bytes(target: str, memory: Memory) -> int:
    """Return the bytes of one partition."""
    chip = chip_for(target)
    return chip.psum_partition_bytes if memory == "psum" else chip.sbuf_usable_bytes


def share_bytes(buffer: Buffer) -> int:
    """Return the bytes of a tensor over all 128 partitions; tensors start at partitions 0, 32, 64 and 96."""
    quadrants = -(-buffer.shape[0] // _QUADRANT)
    return buffer.row_bytes * quadrants * _QUADRANT // PARTITIONS


def span(buffer: Buffer) -> tuple[int, int]:
    """Return the first byte and the one after the last, in each partition, of a buffer that the kernel placed."""
    start = buffer.address or 0
    return start, start + buffer.row_bytes


def union_bytes(spans: Iterable[tuple[int, int]]) -> int:
    """Return the bytes that any of the spans covers."""
    total = reached = 0
    for start, stop in sorted(spans):
        if stop > reached:
            total += stop - max(start, reached)
            reached = stop
    return total
