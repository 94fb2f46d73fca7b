"""What an operation costs on the Vector, Scalar, GpSimd or Sync Engine: the cycle tables of the documentation at the chip's clocks.

An engine takes `interval_ns` before it can start its next instruction. The result is ready `latency_ns` after the start.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from neff_bench.chips import Chip
from neff_bench.chips.dtypes import SIZE_BYTES
from neff_bench.simulator.costs.steps import ALL, Cost, Lowered, Step, on_engine
from neff_bench.simulator.program import Access, Instruction, Program

_TWO_BYTES = 2
_COPY_FUNCTIONS = ("copy", "identity")

POINTERS = frozenset(("bias", "scale", "operand0", "imm0", "imm1", "bound0", "bound1", "relu_param"))
"""Operands that may be one value for each partition: the instruction holds their address."""


class Tiles(NamedTuple):
    """What decides the cycles of an operation on Vector, of its operands with more than one column.

    `narrow`: elements of two bytes at most. `in_psum`: one of them lies in PSUM. `fast`: the chip has fast modes for copies.
    """

    instruction: Instruction
    narrow: bool
    in_psum: bool
    fast: bool


CyclesPerColumn = float | Callable[[Tiles], float]


def engine_work(
    cycles: CyclesPerColumn = 1.0, *, copies: bool = False, function: bool = False, rows: int = 1, counted: bool = True
) -> Cost:
    """The cost of an operation on the engine that its instruction names.

    `cycles`: of Vector, for each column. `copies`: Scalar looks up no function. `function`: Scalar needs the function table of
    attribute `op`. `rows`: how often Scalar pays its minimum of columns. `counted`: profiles count its on-chip bytes.
    """

    def cost(instruction: Instruction, program: Program, chip: Chip, opcodes: tuple[int, ...]) -> Lowered:
        if instruction.engine == "scalar":
            times = _scalar(instruction, chip, copies, rows)
        elif instruction.engine == "gpsimd":
            times = _gpsimd(instruction, chip)
        else:
            times = _vector(instruction, program, chip, cycles)
        looked_up = function and instruction.engine == "scalar"
        name = str(instruction.attributes.get("op", "none")) if looked_up else ""
        step = Step(opcodes[0], ALL, *times)
        return on_engine(instruction, _with_bytes(step, instruction, program) if counted else step, function=name)

    return cost


def fixed_work(duration_ns: float) -> Cost:
    """The cost of an operation that takes the same time on every engine and chip."""

    def cost(instruction: Instruction, program: Program, chip: Chip, opcodes: tuple[int, ...]) -> Lowered:
        step = Step(opcodes[0], ALL, duration_ns, duration_ns)
        return on_engine(instruction, _with_bytes(step, instruction, program))

    return cost


def _widest(instruction: Instruction) -> int:
    """Columns of the widest operand."""
    operands = (*instruction.writes.values(), *instruction.reads.values())
    return max((access.columns for access in operands), default=0)


def _scalar(instruction: Instruction, chip: Chip, copies: bool, rows: int) -> tuple[float, float]:
    """Interval and latency in ns."""
    cycles = max(chip.minimum_cycles, _widest(instruction)) + (rows - 1) * chip.minimum_cycles
    busy = cycles / chip.scalar_clock_ghz
    plain = copies or instruction.attributes.get("op") in _COPY_FUNCTIONS
    latency = chip.scalar_latency_ns if plain else chip.scalar_function_latency_ns
    return busy + chip.scalar_overhead_ns, busy + latency


def _gpsimd(instruction: Instruction, chip: Chip) -> tuple[float, float]:
    """Interval and latency in ns."""
    busy = (chip.gpsimd_fixed_cycles + _widest(instruction)) / chip.gpsimd_clock_ghz
    return busy, busy + chip.gpsimd_latency_ns


def _vector(instruction: Instruction, program: Program, chip: Chip, cycles: CyclesPerColumn) -> tuple[float, float]:
    """Interval and latency in ns."""
    n = _widest(instruction)
    each = cycles(_tiles(instruction, program, chip)) if callable(cycles) else cycles
    busy = max(float(chip.minimum_cycles), n * each) / chip.vector_clock_ghz
    # The measured latency is that of the columns alone, without the minimum interval.
    latency = n * each / chip.vector_clock_ghz
    pointer = chip.vector_pointer_ns if _has_pointer(instruction, n) else 0.0
    return busy + chip.vector_overhead_ns + pointer, latency + chip.vector_latency_ns + pointer


def _tiles(instruction: Instruction, program: Program, chip: Chip) -> Tiles:
    operands = (*instruction.writes.values(), *instruction.reads.values())
    wide = [access for access in operands if access.columns > 1]
    narrow = all(SIZE_BYTES[access.dtype] <= _TWO_BYTES for access in wide)
    in_psum = any(program.buffers[access.buffer].memory == "psum" for access in wide)
    return Tiles(instruction, narrow, in_psum, chip.vector_fast_modes)


def _has_pointer(instruction: Instruction, n: int) -> bool:
    """Whether an operand is one value for each partition beside wider data."""
    return n > 1 and any(name in POINTERS and access.columns == 1 for name, access in instruction.reads.items())


def _with_bytes(step: Step, instruction: Instruction, program: Program) -> Step:
    """The step with the bytes of each partition that it reads and writes on chip."""
    read, written = _bytes_by_memory(instruction.reads, program), _bytes_by_memory(instruction.writes, program)
    return step._replace(
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
