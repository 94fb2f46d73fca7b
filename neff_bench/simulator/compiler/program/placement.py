"""Holds tensors that the kernel placed itself: none may be written over while its values are still to be read."""

from __future__ import annotations

from collections.abc import Sequence

from neff_bench.simulator import native
from neff_bench.simulator.compiler.program.columns import PSUM, SBUF, table_of
from neff_bench.simulator.compiler.program.dependencies import find_edges
from neff_bench.simulator.compiler.program.lives import lives_of_all
from neff_bench.simulator.errors import NkiValidationError
from neff_bench.simulator.native.peak import Boxes, any_rivals
from neff_bench.simulator.program import Access, Instruction, Program


def check_placement(program: Program) -> None:
    """Check the placement. Raises NkiValidationError at the line that reads a placed tensor after another one was written over it."""
    if all(buffer.address is None for buffer in program.buffers):
        return
    for core in range(len(program.cores)):
        if _are_rivals(program, core):
            _check_reads(program, program.cores[core])


def _are_rivals(program: Program, core: int) -> bool:
    """Return whether two placed tensors share bytes and are in use, first to last instruction, at one time."""
    import numpy as np

    table = table_of(program)
    buffers, living = table.buffers, lives_of_all(table, core)
    for memory in (SBUF, PSUM):
        mine = (buffers.memory[living.buffer] == memory) & (buffers.address[living.buffer] >= 0)
        b, first, last = (column[mine] for column in living)
        row, start = buffers.partition[b], buffers.address[b]
        places = (row, row + buffers.rows[b], start, start + buffers.row_bytes[b])
        if native.run(any_rivals, Boxes(len(b), first, last, *places, np.empty(len(b), np.int64))):
            return True
    return False


def _check_reads(program: Program, core: Sequence[Instruction]) -> None:
    """Check that what an instruction reads was written last through the tensor that it reads."""
    for step, edges in zip(core, find_edges(program, core)):
        for edge in edges:
            if edge.kind != "raw" or edge.operand not in step.reads:
                continue
            writer = core[edge.before]
            read = _buffers(step.reads[edge.operand])
            written = [operand.buffer for operand in writer.writes.values()]
            if writer.op != "core_barrier" and not set(read) & set(written):
                raise _error(program, step, writer, read[0], written[0])


def _buffers(operand: Access) -> list[int]:
    return [operand.buffer, *(part.index.buffer for part in operand.dynamic)]


def _error(program: Program, step: Instruction, writer: Instruction, read: int, written: int) -> NkiValidationError:
    mine, other = program.buffers[read], program.buffers[written]
    return NkiValidationError(
        f"{step.op} reads tensor {mine.name!r} ({program.sources[mine.source]}) after {other.name!r}"
        f" ({program.sources[other.source]}) was written over it ({program.sources[writer.source]}): both were placed at"
        f" bytes of {mine.memory.upper()} that overlap, from {mine.address} and from {other.address}",
        program.sources[step.source],
    )
