"""The recorded calls of a program as the plain data that rules of AWS's compiler judge."""

from __future__ import annotations

from collections.abc import Iterator

from neff_bench.chips.dtypes import SIZE_BYTES
from neff_bench.neffs.findings import Finding as KnownFinding
from neff_bench.neffs.findings import found
from neff_bench.rules import findings
from neff_bench.rules.call import Call, Kernel, Operand, Tile
from neff_bench.rules.findings import Finding
from neff_bench.simulator.program import PARTITIONS, Access, Buffer, Program


def judged(program: Program) -> list[Finding]:
    """The rules that a program breaks, with the line of each."""
    return sorted(
        {*findings.of_calls(calls(program), program.target), *findings.of_kernel(kernel(program), program.target)}
    )


def refused(program: Program) -> list[KnownFinding]:
    """What the newest release of AWS's compiler that is out refuses in a kernel of the current dialect."""
    if program.from_hlo or program.before_middle_end or program.keeps_weights:
        return []
    hard = findings.refused_today(judged(program))
    return [found("refused", f"AWS's compiler refuses it, {one.code}: {one.text}", one.place) for one in hard]


def calls(program: Program) -> Iterator[Call]:
    """Each distinct call of a program: instructions of one line that differ only in where their operands lie count once."""
    operands: dict[Access, Operand] = {}
    seen = set()
    for core in program.cores:
        for step in core:
            made = [_operand(access, program, operands) for access in (*step.writes.values(), *step.reads.values())]
            key = (step.op, step.source, step.engine, *made, *map(str, step.attributes.values()))
            if key not in seen:
                seen.add(key)
                written = len(step.writes)
                yield Call(
                    step.op,
                    step.engine,
                    dict(zip(step.writes, made[:written])),
                    dict(zip(step.reads, made[written:])),
                    step.attributes,
                    program.sources[step.source],
                    program.target,
                    program.lnc,
                )


def kernel(program: Program) -> Kernel:
    """A program as a whole."""
    tiles = tuple(
        Tile(one.memory, one.shape, one.dtype, one.address is not None, program.sources[one.source])
        for one in program.buffers
        if one.memory != "hbm"
    )
    written: dict[int, str] = {}
    read: set[int] = set()
    onto = []
    for step in (step for core in program.cores for step in core):
        if step.op == "nc_matmul" and step.attributes.get("accumulate"):
            if written.get(step.writes["dst"].buffer, "nc_matmul") != "nc_matmul":
                onto.append(program.sources[step.source])
        written |= {access.buffer: step.op for access in step.writes.values()}
        read |= {access.buffer for access in step.reads.values()}
    return Kernel(
        tiles,
        sum(map(len, program.cores)),
        _names(program, [at for at in program.outputs if at not in written and at not in program.inputs]),
        _names(program, sorted(at for at in read if at not in written and program.buffers[at].kind == "internal")),
        tuple(dict.fromkeys(onto)),
    )


def _names(program: Program, indices: list[int]) -> tuple[str, ...]:
    return tuple(program.buffers[at].name for at in indices)


def _operand(access: Access, program: Program, known: dict[Access, Operand]) -> Operand:
    operand = known.get(access)
    if operand is None:
        buffer = program.buffers[access.buffer]
        operand = known[access] = Operand(
            buffer.memory,
            access.dtype,
            access.shape,
            _start(access, buffer),
            buffer.kind,
            access.pattern[0][0] * SIZE_BYTES[access.dtype] if access.pattern else 0,
            bool(access.dynamic),
            any(part.index.elements > 1 for part in access.dynamic),
            access.columns * SIZE_BYTES[access.dtype],
        )
    return operand


def _start(access: Access, buffer: Buffer) -> int:
    """The partition in which a view of on-chip memory begins."""
    if buffer.memory == "hbm":
        return 0
    row = max(buffer.row_bytes // SIZE_BYTES[access.dtype], 1)
    return (buffer.partition + access.offset // row) % PARTITIONS
