"""What an operation costs on the Vector, Scalar, GpSimd or Sync Engine: the cycles of its row (table.py) at the chip's clocks.

An engine takes `interval_ns` before it can start its next instruction. The result is ready `latency_ns` after the start.
"""

from __future__ import annotations

from neff_bench.chips import Chip
from neff_bench.chips.dtypes import SIZE_BYTES
from neff_bench.simulator.costs.steps import ALL, Cost, Lowered, Step, on_engine
from neff_bench.simulator.costs.table import LARGE, PSUM, SBUF, SMALL, Row, row_for
from neff_bench.simulator.program import Access, Instruction, Program

_TWO_BYTES = 2

POINTERS = frozenset(("bias", "scale", "operand0", "imm0", "imm1", "bound0", "bound1", "relu_param"))
"""Operands that may be one value for each partition: the instruction holds their address."""


def engine_work(*, function: bool = False, counted: bool = True) -> Cost:
    """The cost of an operation on the engine that its instruction names.

    `function`: Scalar needs the function table of attribute `op`. `counted`: profiles count its on-chip bytes.
    """

    def cost(instruction: Instruction, program: Program, chip: Chip, opcodes: tuple[int, ...]) -> Lowered:
        row = engine_row(instruction, program, chip)
        if row.ns is not None:
            times = row.ns, row.ns
        elif instruction.engine == "scalar":
            times = _scalar(instruction, chip, row)
        elif instruction.engine == "gpsimd":
            times = _gpsimd(instruction, chip, row)
        else:
            times = _vector(instruction, chip, row)
        looked_up = function and instruction.engine == "scalar"
        name = str(instruction.attributes.get("op", "none")) if looked_up else ""
        step = _counted(opcodes[0], times, instruction, program) if counted else Step(opcodes[0], ALL, *times)
        return on_engine(instruction, step, row, function=name)

    return cost


def engine_row(instruction: Instruction, program: Program, chip: Chip) -> Row:
    """The row of an operation, by its operands of more than one column. Raises CompileError where there is none."""
    operands = (*instruction.writes.values(), *instruction.reads.values())
    wide = [access for access in operands if access.columns > 1]
    small = all(SIZE_BYTES[access.dtype] <= _TWO_BYTES for access in wide)
    in_psum = any(program.buffers[access.buffer].memory == "psum" for access in wide)
    mode = str(instruction.attributes.get("op", ""))
    return row_for(
        chip.generation, instruction.op, instruction.engine, SMALL if small else LARGE, PSUM if in_psum else SBUF, mode
    )


def _widest(instruction: Instruction) -> int:
    """Columns of the widest operand."""
    operands = (*instruction.writes.values(), *instruction.reads.values())
    return max((access.columns for access in operands), default=0)


def _scalar(instruction: Instruction, chip: Chip, row: Row) -> tuple[float, float]:
    """Interval and latency in ns."""
    cycles = max(chip.minimum_cycles, _widest(instruction) * row.cycles) + row.added_cycles
    busy = cycles / chip.scalar_clock_ghz
    return busy + getattr(chip, row.interval), busy + getattr(chip, row.latency)


def _gpsimd(instruction: Instruction, chip: Chip, row: Row) -> tuple[float, float]:
    """Interval and latency in ns."""
    busy = (chip.gpsimd_fixed_cycles + _widest(instruction) * row.cycles + row.added_cycles) / chip.gpsimd_clock_ghz
    return busy, busy + getattr(chip, row.latency)


def _vector(instruction: Instruction, chip: Chip, row: Row) -> tuple[float, float]:
    """Interval and latency in ns."""
    n = _widest(instruction)
    each, added = n * row.cycles, row.added_cycles
    busy = (max(float(chip.minimum_cycles), each) + added) / chip.vector_clock_ghz
    # The measured latency is that of the columns alone, without the minimum interval.
    latency = (each + added) / chip.vector_clock_ghz
    pointer = chip.vector_pointer_ns if _has_pointer(instruction, n) else 0.0
    return busy + getattr(chip, row.interval) + pointer, latency + getattr(chip, row.latency) + pointer


def _has_pointer(instruction: Instruction, n: int) -> bool:
    """Whether an operand is one value for each partition beside wider data."""
    return n > 1 and any(name in POINTERS and access.columns == 1 for name, access in instruction.reads.items())


def _counted(opcode: int, times: tuple[float, float], instruction: Instruction, program: Program) -> Step:
    """A step with the bytes of each partition that it reads and writes on chip."""
    read, written = _bytes_by_memory(instruction.reads, program), _bytes_by_memory(instruction.writes, program)
    return Step(
        opcode,
        ALL,
        *times,
        sbuf_read=read["sbuf"],
        sbuf_write=written["sbuf"],
        psum_read=read["psum"],
        psum_write=written["psum"],
        psum_read_sbuf_write=written["sbuf"] if read["psum"] else 0,
    )


def _bytes_by_memory(operands: dict[str, Access], program: Program) -> dict[str, int]:
    """Bytes of one partition of the operands that lie in each memory. An operand with one value for each partition (bias, scale) is
    a pointer in the instruction, and real profiles do not count it."""
    found = {"sbuf": 0, "psum": 0, "hbm": 0}
    for name, access in operands.items():
        if name not in POINTERS:
            found[program.buffers[access.buffer].memory] += access.columns * SIZE_BYTES[access.dtype]
    return found
