"""Says what a program shows before it runs: reads of memory that nothing wrote, outputs that are not whole, races, doubled work.

Only what is certain is told. A read counts where nothing at all wrote its buffer before; a tile that was loaded in part is often
read as a whole, and does no harm as long as the rest of it reaches no output. Addresses of run time are not known here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from neff_bench.neffs.findings import Finding, found
from neff_bench.simulator.compiler.program.columns import WRITE, Columns, table_of
from neff_bench.simulator.execution.races import races
from neff_bench.simulator.machine.marks import Marks, granule
from neff_bench.simulator.program import Access, Buffer, Instruction, Program

if TYPE_CHECKING:
    import numpy as np


def of_program(program: Program) -> list[Finding]:
    """Return all that recording alone shows."""
    return [*without_outputs(program), *unwritten_outputs(program)]


def without_outputs(program: Program) -> list[Finding]:
    """Return all but what of the outputs is written, which an execution knows better."""
    doubled = list(_doubled_work(program))
    return one_a_line([*doubled, *_races(program), *_unwritten_reads(program)])


def one_a_line(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings without those that a loop repeats: the first read of unwritten memory of each line."""
    first = {
        (each.kind, each.file, each.line, "" if each.kind == "unwritten-read" else each.text): each
        for each in reversed(list(findings))
    }
    return list(reversed(first.values()))


def unwritten(program: Program, index: int, marks: Marks) -> Finding | None:
    """Return what of an output nothing wrote; None where it is whole."""
    import numpy as np

    buffer = program.buffers[index]
    if marks.flags.all():
        return None
    if not marks.flags.any():
        return found("unwritten-output", f"output {buffer.name} was never written", program.sources[buffer.source])
    part = math.gcd(marks.granule_bytes, buffer.row_bytes)
    rows = np.repeat(~marks.flags, marks.granule_bytes // part).reshape(-1, buffer.row_bytes // part)
    touched = int(rows.any(axis=1).sum())
    if len(rows) > 1 and touched == int(rows.all(axis=1).sum()):
        text = f"{touched} of {len(rows)} rows of {buffer.name} were never written"
    else:
        item = buffer.size_bytes // math.prod(buffer.shape)
        where = f" in {touched} of {len(rows)} rows" if len(rows) > 1 else ""
        missing = int(rows.sum()) * part // item
        text = f"{missing} of {math.prod(buffer.shape)} values of {buffer.name}{where} were never written"
    return found("unwritten-output", text, program.sources[_first_writer(program, index).source])


def _first_writer(program: Program, index: int) -> Instruction:
    return next(i for core in program.cores for i in core if any(a.buffer == index for a in i.writes.values()))


def unwritten_outputs(program: Program) -> Iterator[Finding]:
    """Yield the outputs that are not whole, as far as no address of run time decides it."""
    import numpy as np

    outputs = {index for index in program.outputs if program.buffers[index].kind == "output"}
    written: dict[int, set[Access]] = {index: set() for index in outputs}
    is_output = np.zeros(len(program.buffers), bool)
    is_output[[*outputs]] = True
    for core, columns in zip(program.cores, table_of(program).cores, strict=True):
        stores = is_output[columns.views.buffer[columns.view]] & (columns.role == WRITE)
        for at in np.unique(columns.instructions(np.flatnonzero(stores))).tolist():
            for access in core[at].writes.values():
                if access.buffer in outputs:
                    written[access.buffer].add(access)
    for index, accesses in written.items():
        if not any(access.dynamic for access in accesses):
            size = program.buffers[index].size_bytes
            marks = Marks(size, granule(size, accesses))
            for access in accesses:
                marks.of(access, access.offset).fill(True)
            told = unwritten(program, index, marks)
            if told is not None:
                yield told


def _doubled_work(program: Program) -> Iterator[Finding]:
    """Find that both cores run the same instructions on the same HBM. Their own tensors on chip have other numbers."""
    if len(program.cores) != 2 or not program.cores[0] or len(program.cores[0]) != len(program.cores[1]):
        return
    first, second = program.cores
    if all(_same(program.buffers, a, b) for a, b in zip(first, second, strict=True)):
        stores = (i for i in first if any(program.buffers[a.buffer].memory == "hbm" for a in i.writes.values()))
        text = "both cores do all of the work: nothing in the kernel depends on program_id, so LNC 2 saves no time"
        yield found("doubled-work", text, program.sources[next(stores, first[0]).source])


def _same(buffers: tuple[Buffer, ...], a: Instruction, b: Instruction) -> bool:
    """Return whether two instructions are one that both cores recorded."""
    if (a.op, a.source, a.attributes) != (b.op, b.source, b.attributes):
        return False
    pairs = zip((*a.reads.values(), *a.writes.values()), (*b.reads.values(), *b.writes.values()))
    return all(
        (x.offset, x.pattern) == (y.offset, y.pattern) and (x.buffer == y.buffer or buffers[x.buffer].core is not None)
        for x, y in pairs
    )


def _races(program: Program) -> Iterator[Finding]:
    for index, writing, reading in races(program):
        line = program.sources[reading.source] or "unknown line"
        yield found(
            "race",
            f"one core writes {program.buffers[index].name} while the other reads it ({line}): no core_barrier or sendrecv "
            "orders them on a device",
            program.sources[writing.source],
        )


def _unwritten_reads(program: Program) -> Iterator[Finding]:
    import numpy as np

    table = table_of(program)
    ours = np.array([buffer.kind in ("internal", "output") for buffer in program.buffers], bool)
    of_core = [_firsts(core, len(ours)) for core in table.cores]
    for number, (read, wrote) in enumerate(of_core):
        for other, (_, elsewhere) in enumerate(of_core):
            if other != number:  # what the other core writes may come first
                wrote = np.where(elsewhere < _NEVER, -1, wrote)
        for index in np.flatnonzero(ours & (read < _NEVER) & (read <= wrote)).tolist():
            instruction = program.cores[number][read[index]]
            if _reaches_output(program, number, int(read[index]), index):
                name = next(name for name, access in instruction.reads.items() if index in _named(access))
                text = f"{instruction.op} reads {name} {program.buffers[index].name!r}, which nothing wrote before"
                yield found("unwritten-read", text, program.sources[instruction.source])


_NEVER = 1 << 62
"""An instruction behind all others."""


def _firsts(core: Columns, buffers: int) -> tuple[np.ndarray, np.ndarray]:
    """Return for each buffer the first instruction of a core that reads it, and the first that writes it."""
    import numpy as np

    at = core.instructions(np.arange(len(core.view)))
    buffer, writes = core.views.buffer[core.view], core.role == WRITE
    firsts = []
    for chosen in (~writes, writes):
        first = np.full(buffers, _NEVER)
        first[buffer[chosen][::-1]] = at[chosen][::-1]  # of several uses the first one stays
        firsts.append(first)
    return firsts[0], firsts[1]


def _named(access: Access) -> tuple[int, ...]:
    """Return the buffers that are read for an operand: its own, and those of its addresses."""
    return (access.buffer, *(part.index.buffer for part in access.dynamic))


def _reaches_output(program: Program, core: int, start: int, index: int) -> bool:
    """Return whether what an instruction reads of a buffer may get into an output."""
    reached = {index}
    for instruction in program.cores[core][start:]:
        if any(not reached.isdisjoint(_named(access)) for access in instruction.reads.values()):
            reached.update(access.buffer for access in instruction.writes.values())
    return not reached.isdisjoint(program.outputs)
