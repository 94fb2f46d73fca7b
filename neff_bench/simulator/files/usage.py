"""How much of SBUF and PSUM is in use at each moment of a schedule.

A tensor takes its memory from the start of the first instruction that uses it to the end of the last, transfers included.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from neff_bench.simulator.chips import chip_for
from neff_bench.simulator.compiler.program.capacity import share_bytes, span, union_bytes
from neff_bench.simulator.program import Buffer, Instruction, Memory, Program
from neff_bench.simulator.timing.schedule import CoreSchedule


class Use(NamedTuple):
    """`fraction`: of the memory of one core, from `time_ps` to the next of the same memory."""

    time_ps: int
    memory: Memory
    fraction: float


def memory_use(program: Program, number: int, timed: CoreSchedule) -> list[Use]:
    """Return the use of SBUF and PSUM of core `number`, in order of time; one for each change."""
    held, chip = _held_ns(program.cores[number], timed), chip_for(program.target)
    found: list[Use] = []
    memories: tuple[Memory, ...] = ("sbuf", "psum")
    for memory in memories:
        capacity = chip.psum_partition_bytes if memory == "psum" else chip.sbuf_partition_bytes
        mine = {index: times for index, times in held.items() if program.buffers[index].memory == memory}
        for time_ns, used in _sweep(program.buffers, mine):
            found.append(Use(round(time_ns * 1000), memory, used / capacity))
    return sorted(found)


def _held_ns(instructions: Sequence[Instruction], timed: CoreSchedule) -> dict[int, tuple[float, float]]:
    """Return from when to when each buffer is used."""
    import numpy as np

    start, done = np.full(len(instructions), np.inf), np.full(len(instructions), -np.inf)
    np.minimum.at(start, timed.code.origin, timed.start_ns)
    np.maximum.at(done, timed.code.origin, timed.done_ns)
    held: dict[int, tuple[float, float]] = {}
    for instruction, begin, end in zip(instructions, start.tolist(), done.tolist()):
        for operands in (instruction.reads, instruction.writes):
            for access in operands.values():
                for buffer in (access.buffer, *(part.index.buffer for part in access.dynamic)):
                    first, last = held.get(buffer, (begin, end))
                    held[buffer] = (min(first, begin), max(last, end))
    return held


def _sweep(buffers: Sequence[Buffer], held: dict[int, tuple[float, float]]) -> Iterator[tuple[float, int]]:
    """Yield bytes of a partition in use after each change. Tensors that the kernel placed count once where they share bytes."""
    changes = sorted(
        change
        for index, (begin, end) in held.items()
        if end > begin
        for change in ((begin, 1, index), (end, -1, index))
    )
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
