"""Says what an operation costs on the Vector, Scalar, GpSimd or Sync Engine: the cycles of its row (table.py) at the chip's clocks.

An engine takes `interval_ns` before it can start its next instruction. The result is ready `latency_ns` after the start.
"""

from __future__ import annotations

from neff_bench.chips import Chip
from neff_bench.chips.dtypes import SIZE_BYTES
from neff_bench.simulator.costs.steps import ALL, Cost, Lowered, Step, on_engine
from neff_bench.simulator.costs.table import GATHERED, LARGE, PSUM, SBUF, SCALED, SCATTERED, SMALL, Row, row_for
from neff_bench.simulator.program import Access, Instruction, Memory, Program

_FAST_DTYPES = frozenset(("bfloat16", "float16"))
_OF_NEIGHBOURS = frozenset(("tensor_copy", "tensor_scalar"))
"""What Vector's performance mode takes, and the operations that have it only where the innermost elements of each operand are neighbours (AWS
docs nki/guides/architecture/trainium2_arch.rst). Elements in SBUF that are none run at 2x instead of 4x, as float32 does."""

_FAST_ITEM_BYTES = 2

POINTERS = frozenset(("bias", "scale", "operand0", "imm0", "imm1", "bound0", "bound1", "relu_param"))
"""Operands that may be one value for each partition: the instruction holds their address."""


def engine_work(*, function: bool = False, counted: bool = True) -> Cost:
    """Return the cost of an operation on the engine that its instruction names.

    `function`: Scalar needs the function table of attribute `op`. `counted`: profiles count its on-chip bytes.
    """

    def cost(instruction: Instruction, program: Program, chip: Chip, opcodes: tuple[int, ...]) -> Lowered:
        read, written = _operands(instruction.reads, program), _operands(instruction.writes, program)
        operation = str(instruction.attributes.get("op", ""))
        engine = instruction.engine
        dtypes = SMALL if engine in ("vector", "scalar") and _is_fast(instruction, chip) else LARGE
        scattered = instruction.op == "tensor_copy" and engine != "gpsimd" and _leaps(instruction.writes)
        if scattered:
            dtypes = SMALL if all(width <= _FAST_ITEM_BYTES for _, _, width, _ in written) else LARGE
        gathered = instruction.op == "tensor_copy" and _leaps(instruction.reads)
        scaled = engine == "scalar" and _has_factors(instruction)
        mode = SCATTERED if scattered else GATHERED if gathered else SCALED if scaled else operation
        row = _row(instruction.op, engine, mode, dtypes, [*written, *read], chip)
        widest = max([columns for _, columns, _, _ in (*written, *read)], default=0)
        if row.ns is not None:
            times = row.ns, row.ns
        elif engine == "scalar":
            times = _scalar(widest, chip, row)
        elif engine == "gpsimd":
            times = _gpsimd(widest, chip, row)
        else:
            times = _vector(widest, _has_pointer(read, widest), chip, row)
        # Scalar needs a table, whichever, to copy too: the traces of CS149 (validation/correlation/coursework.py) load one for copies alone.
        copies = "" if program.from_hlo else "copy"
        name = (operation or "none" if function else copies) if engine == "scalar" else ""
        step = _counted(opcodes[0], times, read, written) if counted else Step(opcodes[0], ALL, *times)
        return on_engine(instruction, step, row, function=name)

    return cost


_Operand = tuple[str, int, int, Memory]
"""Name, columns, bytes of an element, and memory."""


def _operands(operands: dict[str, Access], program: Program) -> list[_Operand]:
    buffers = program.buffers
    return [
        (name, access.columns, SIZE_BYTES[access.dtype], buffers[access.buffer].memory)
        for name, access in operands.items()
    ]


def _row(name: str, engine: str, operation: str, dtypes: str, operands: list[_Operand], chip: Chip) -> Row:
    """Return the row of an operation, by the memories of its operands of more than one column. Raises CompileError where there is none."""
    in_psum = any([columns > 1 and place == "psum" for _, columns, _, place in operands])
    return row_for(chip.generation, name, engine, dtypes, PSUM if in_psum else SBUF, operation)


def _is_fast(instruction: Instruction, chip: Chip) -> bool:
    """Return whether the operands of more than one column are what Vector's performance mode takes. A `tensor_tensor` that repeats an element does not
    have it: on trn2 it takes a cycle for each column (docs/model.md, Evidence)."""
    needs_neighbours = instruction.op in _OF_NEIGHBOURS
    for operands in (instruction.writes, instruction.reads):
        for access in operands.values():
            if access.columns == 1:
                continue
            if access.dtype not in _FAST_DTYPES or (needs_neighbours and _has_gaps(access)):
                return False
            if chip.vector_fast_modes and instruction.op == "tensor_tensor" and _step(access) == 0:
                return False
    return True


def _has_factors(instruction: Instruction) -> bool:
    """Return whether what Scalar multiplies by lies in a tile."""
    factor = "operand0" if instruction.attributes.get("op0") == "multiply" else "scale"
    return factor in instruction.reads


def _leaps(operands: dict[str, Access]) -> bool:
    """Return whether the innermost elements of an operand lie further apart than neighbours do."""
    return any(_has_gaps(access) and _step(access) != 0 for access in operands.values())


def _has_gaps(access: Access) -> bool:
    """Return whether the innermost elements do not lie one behind the other."""
    return _step(access) != 1


def _step(access: Access) -> int:
    """Return the step from one innermost element to the next; 1 where there is one element."""
    for step, size in reversed(access.pattern[1:]):
        if size > 1:
            return step
    return 1


def _scalar(widest: int, chip: Chip, row: Row) -> tuple[float, float]:
    """Return interval and latency in ns."""
    each, added = widest * row.cycles, row.added_cycles
    busy = (max(chip.minimum_cycles, each) + added) / chip.scalar_clock_ghz
    # As on Vector, the measured latency is that of the columns alone.
    return busy + getattr(chip, row.interval), (each + added) / chip.scalar_clock_ghz + getattr(chip, row.latency)


def _gpsimd(widest: int, chip: Chip, row: Row) -> tuple[float, float]:
    """Return interval and latency in ns."""
    busy = (chip.gpsimd_fixed_cycles + widest * row.cycles + row.added_cycles) / chip.gpsimd_clock_ghz
    return busy, busy + getattr(chip, row.latency)


def _vector(widest: int, has_pointer: bool, chip: Chip, row: Row) -> tuple[float, float]:
    """Return interval and latency in ns."""
    each, added = widest * row.cycles, row.added_cycles
    busy = (max(float(chip.vector_minimum_cycles), each) + added) / chip.vector_clock_ghz
    # The measured latency is that of the columns alone, without the minimum interval.
    latency = (each + added) / chip.vector_clock_ghz
    pointer = chip.vector_pointer_ns if has_pointer else 0.0
    return busy + getattr(chip, row.interval) + pointer, latency + getattr(chip, row.latency) + pointer


def _has_pointer(read: list[_Operand], widest: int) -> bool:
    """Return whether an operand is one value for each partition beside wider data."""
    return widest > 1 and any([columns == 1 and name in POINTERS for name, columns, _, _ in read])


def _counted(opcode: int, times: tuple[float, float], read: list[_Operand], written: list[_Operand]) -> Step:
    """Return a step with the bytes of each partition that it reads and writes on chip."""
    sbuf_read, psum_read = _on_chip_bytes(read)
    sbuf_write, psum_write = _on_chip_bytes(written)
    interval_ns, latency_ns = times
    return Step(
        opcode, ALL, interval_ns, latency_ns, 0.0, 0, False, sbuf_read, sbuf_write, psum_read, psum_write,
        sbuf_write if psum_read else 0,
    )  # fmt: skip


def _on_chip_bytes(operands: list[_Operand]) -> tuple[int, int]:
    """Return the bytes of one partition in SBUF and in PSUM. An operand with one value for each partition (bias, scale) is a pointer in the
    instruction, and real profiles do not count it."""
    sbuf = psum = 0
    for name, columns, item_bytes, memory in operands:
        if name in POINTERS:
            continue
        if memory == "sbuf":
            sbuf += columns * item_bytes
        elif memory == "psum":
            psum += columns * item_bytes
    return sbuf, psum
