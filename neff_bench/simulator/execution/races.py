"""Finds where the two cores of a logical core use shared HBM without waiting for each other.

Between two meetings what one core writes there and the other reads has no order on a device. Run-time addresses are not looked at. What a core reads
after it wrote it itself is no conflict here: whether the other core writes another value `clashes` finds.
"""

from __future__ import annotations

from collections.abc import Iterator

from neff_bench.chips.dtypes import SIZE_BYTES
from neff_bench.simulator.machine.addressing import Layout
from neff_bench.simulator.machine.marks import Marks, granule
from neff_bench.simulator.operations import OPERATIONS
from neff_bench.simulator.program import Access, Instruction, Program

_Use = tuple[Access, Instruction, int]
"""An operand, its instruction, and how many uses of the buffer its core had written before."""


def races(program: Program) -> Iterator[tuple[int, Instruction, Instruction]]:
    """Yield (buffer, writing, reading instruction) of a first conflict for each buffer between two meetings of the cores."""
    uses = SharedUses(program)
    if not uses.shared:
        return
    standing = [0] * len(program.cores)
    while any(at < len(core) for at, core in zip(standing, program.cores, strict=True)):
        for number, core in enumerate(program.cores):
            at = standing[number]
            while at < len(core) and not _waits(core[at]):
                uses.note(number, core[at])
                at += 1
            standing[number] = at + 1
        yield from uses.conflicts()


def _waits(instruction: Instruction) -> bool:
    operation = OPERATIONS.get(instruction.op)
    return operation is not None and operation.waits


class SharedUses:
    """Holds what each core read and wrote in shared HBM since the cores last met."""

    def __init__(self, program: Program) -> None:
        self.buffers = program.buffers
        cores = program.cores if len(program.cores) > 1 else ()
        targets = {access.buffer for core in cores for i in core for access in i.writes.values()}
        self.shared = {index for index in targets if program.buffers[index].memory == "hbm"}
        self.reads: list[dict[int, list[_Use]]] = [{} for _ in program.cores]
        self.writes: list[dict[int, list[_Use]]] = [{} for _ in program.cores]

    def note(self, core: int, instruction: Instruction) -> None:
        """Remember the shared operands of an instruction that is no meeting."""
        written = self.writes[core]
        for accesses, uses in ((instruction.reads, self.reads[core]), (instruction.writes, written)):
            for access in accesses.values():
                if access.buffer in self.shared and not access.dynamic:
                    use = access, instruction, len(written.get(access.buffer, ()))
                    uses.setdefault(access.buffer, []).append(use)

    def conflicts(self) -> list[tuple[int, Instruction, Instruction]]:
        """Note that the cores have met: (buffer, writing, reading instruction) of a first conflict for each buffer; start anew."""
        found = []
        for writer, uses in enumerate(self.writes):
            for index in uses:
                for reader, others in enumerate(self.reads):
                    if reader == writer:
                        continue
                    pair = self._overlap(uses[index], others.get(index, []), self.writes[reader].get(index, []))
                    if pair is not None:
                        found.append((index, *pair))
        for kept in (*self.reads, *self.writes):
            kept.clear()
        return found

    def _overlap(
        self, writes: list[_Use], reads: list[_Use], own: list[_Use]
    ) -> tuple[Instruction, Instruction] | None:
        """Return a write and a read that share a byte. `own`: what the reading core writes; it does not count what it wrote before."""
        if not reads or not _may_overlap(writes, reads):
            return None
        size = Layout(self.buffers[writes[0][0].buffer]).bytes
        grain = granule(size, [access for access, _, _ in (*writes, *reads, *own)])
        theirs, mine, noted = Marks(size, grain), Marks(size, grain), 0
        for access, _, _ in writes:
            theirs.of(access, access.offset).fill(True)
        for read, reading, before in reads:
            for access, _, _ in own[noted:before]:
                mine.of(access, access.offset).fill(True)
            noted = before
            if (theirs.of(read, read.offset) & ~mine.of(read, read.offset)).any():
                return next(i for access, i, _ in writes if _share(theirs, access, read)), reading
        return None


def _share(marks: Marks, first: Access, second: Access) -> bool:
    marks.flags.fill(False)
    marks.of(first, first.offset).fill(True)
    return bool(marks.of(second, second.offset).any())


def _may_overlap(writes: list[_Use], reads: list[_Use]) -> bool:
    """Return whether the ranges from first to last byte of all writes and of all reads overlap."""
    (write_low, write_high), (read_low, read_high) = _range(writes), _range(reads)
    return write_low < read_high and read_low < write_high


def _range(uses: list[_Use]) -> tuple[int, int]:
    lows, highs = [], []
    for access, _, _ in uses:
        item = SIZE_BYTES[access.dtype]
        low = access.offset + sum(step * (size - 1) for step, size in access.pattern if step < 0)
        high = access.offset + sum(step * (size - 1) for step, size in access.pattern if step > 0)
        lows.append(low * item)
        highs.append((high + 1) * item)
    return min(lows), max(highs)
