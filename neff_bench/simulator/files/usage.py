"""Says how much of SBUF and PSUM is in use at each moment of a schedule: a tensor from its first instruction to the end of its last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from neff_bench.simulator.chips import chip_for
from neff_bench.simulator.compiler.program.capacity import share_bytes, span, union_bytes
from neff_bench.simulator.compiler.program.columns import MEMORIES, table_of
from neff_bench.simulator.program import Buffer, Memory, Program
from neff_bench.simulator.timing.schedule import CoreSchedule

if TYPE_CHECKING:
    import numpy as np


class Use(NamedTuple):
    """`fraction`: of the memory of one core, from `time_ps` to the next of the same memory."""

    time_ps: int
    memory: Memory
    fraction: float


def memory_use(program: Program, number: int, timed: CoreSchedule) -> list[Use]:
    """Return the use of SBUF and PSUM of core `number`, in order of time; one for each change."""
    begin, end = _held_ns(program, number, timed)
    chip = chip_for(program.target)
    found: list[Use] = []
    memories: tuple[Memory, ...] = ("sbuf", "psum")
    for memory in memories:
        capacity = chip.psum_partition_bytes if memory == "psum" else chip.sbuf_partition_bytes
        mine = (end > begin) & (table_of(program).buffers.memory == MEMORIES.index(memory))
        changes = [
            (time_ns, step, index)
            for time, step in ((begin, 1), (end, -1))
            for time_ns, index in zip(time[mine].tolist(), mine.nonzero()[0].tolist())
        ]
        for time_ns, used in _sweep(program.buffers, sorted(changes)):
            found.append(Use(round(time_ns * 1000), memory, used / capacity))
    return sorted(found)


def _held_ns(program: Program, number: int, timed: CoreSchedule) -> tuple[np.ndarray, np.ndarray]:
    """Return from when to when a core uses each buffer; to -inf where it does not."""
    import numpy as np

    columns, origin, buffers = table_of(program).cores[number], timed.code.origin, len(program.buffers)
    start, done = np.full(len(columns.kind), np.inf), np.full(len(columns.kind), -np.inf)
    np.minimum.at(start, origin, timed.start_ns)
    np.maximum.at(done, origin, timed.done_ns)
    begin, end = np.full(buffers, np.inf), np.full(buffers, -np.inf)
    used, uses = columns.views.buffer[columns.view], np.diff(columns.use_start)
    np.minimum.at(begin, used, np.repeat(start, uses))
    np.maximum.at(end, used, np.repeat(done, uses))
    return begin, end


def _sweep(buffers: Sequence[Buffer], changes: Sequence[tuple[float, int, int]]) -> Iterator[tuple[float, int]]:
    """Yield bytes of a partition in use after each of the changes (ns, 1 or -1, buffer). Tensors that the kernel placed count once where they share bytes."""
    packed = 0
    placed: Counter[tuple[int, int]] = Counter()
    for position, (time_ns, step, index) in enumerate(changes):
        buffer = buffers[index]
        if buffer.address is None:
            packed += step * share_bytes(buffer)
        else:
            placed[span(buffer)] += step
            placed += Counter()  # drops what nothing holds any more
        if position + 1 == len(changes) or changes[position + 1][0] > time_ns:
            yield time_ns, packed + union_bytes(placed)
