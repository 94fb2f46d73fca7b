"""What one operation becomes: the machine instructions of an `nki.isa` operation, before they have a place in the program.

`nc_matmul` becomes LDWEIGHTS and MATMUL (float32: two pairs of two passes each), a DMA a trigger on the issuing engine and
packets on the DMA engines.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from neff_bench.parsers.formats.opcodes import OPCODES
from neff_bench.simulator.chips import Chip
from neff_bench.simulator.compiler.dependencies import item_bytes
from neff_bench.simulator.costs.engines import POINTERS, columns, engine_cost, unit_stride
from neff_bench.simulator.costs.transfers import Transfer, is_transfer, start_ns, transfer_of, trigger_engine
from neff_bench.simulator.program import ENGINES, Access, Instruction, Program

TENSOR, SCALAR, GPSIMD, VECTOR, SYNC = range(5)
"""Engine indices, as in NTFF files."""

ALL, WEIGHTS, REST = range(3)
"""What a step waits for: all that the operation waits for, or that of the weights, or that of the other operands."""

WEIGHT_OPERANDS = frozenset(("stationary", "stationary_scale", "data"))
"""What LDWEIGHTS reads (of a matmul, of a PE transpose)."""

_FAST_ITEM_BYTES = 2
_UNCOUNTED = {"tensor_tensor", "memset"}
"""Real profiles count no on-chip bytes for these (sbuf_read_bytes and sbuf_write_bytes of nki-library's mlp on trn2)."""


class Step(NamedTuple):
    """One machine instruction: columns of `neff_bench.simulator.compiler.assembler.Code`, and which operands it waits for."""

    opcode: int
    waits: int
    interval_ns: float
    latency_ns: float
    pe_ns: float = 0.0
    flops: int = 0
    transpose: bool = False
    sbuf_read: int = 0
    sbuf_write: int = 0
    psum_read: int = 0
    psum_write: int = 0
    psum_read_sbuf_write: int = 0


class Lowered(NamedTuple):
    """`loads`: a DMA that brings data on chip. meets: both cores enter it together. function: of a Scalar engine that looks
    it up in a table, else "".

    busy_ns: engine time; result_ns: start to result, of DMAs start to first packet (both without waits, at full PE clock).
    """

    engine: int
    steps: tuple[Step, ...]
    transfer: Transfer | None
    loads: bool
    meets: bool
    function: str
    busy_ns: float
    result_ns: float


def lowering(program: Program, chip: Chip) -> Callable[[Instruction], Lowered]:
    """`lower`, once for all operations of the same kind and shapes."""
    buffers = program.buffers
    places = [(buffer.memory, buffer.kind in ("input", "output")) for buffer in buffers]
    known: dict[tuple, Lowered] = {}

    def lowered(instruction: Instruction) -> Lowered:
        attributes = instruction.attributes
        key = (
            instruction.op,
            instruction.engine,
            repr(attributes) if attributes else "",
            *[
                (name, access.pattern, access.dtype, places[access.buffer])
                for name, access in instruction.reads.items()
            ],
            "to",
            *[
                (name, access.pattern, access.dtype, places[access.buffer])
                for name, access in instruction.writes.items()
            ],
        )
        found = known.get(key)
        if found is None:
            found = known[key] = lower(instruction, program, chip)
        return found

    return lowered


def lower(instruction: Instruction, program: Program, chip: Chip) -> Lowered:
    op = instruction.op
    if op == "core_barrier":
        step = Step(OPCODES["CORE_BARRIER"], ALL, chip.barrier_ns, chip.barrier_ns)
        return _engine(instruction, (step,), meets=True)
    if is_transfer(instruction):
        return _dma(instruction, program, chip)
    if op in ("nc_matmul", "nc_matmul_mx"):
        return _matmul(instruction, chip)
    if op == "nc_transpose" and instruction.engine == "tensor":
        return _pe_transpose(instruction, chip)
    return _engine_op(instruction, program, chip)


def _engine(instruction: Instruction, steps: tuple[Step, ...], meets: bool = False, function: str = "") -> Lowered:
    busy, result = steps[0].interval_ns, steps[0].latency_ns
    return Lowered(ENGINES.index(instruction.engine), steps, None, False, meets, function, busy, result)


def _dma(instruction: Instruction, program: Program, chip: Chip) -> Lowered:
    engine = trigger_engine(instruction, program)
    transfer = transfer_of(instruction, program, engine)
    issue = visible = chip.dma_issue_ns
    if transfer.software:
        issue, visible = chip.software_dma_issue_ns, chip.software_dma_instruction_ns
    elif transfer.static:
        issue = visible = chip.static_dma_issue_ns
    opcode = {"dma_transpose": "DMA_TRANSPOSE2D", "dma_compute": "DMA_COMPUTE", "sendrecv": "SENDRECV"}.get(
        instruction.op, "DMA_DIRECT2D"
    )
    meets = instruction.op == "sendrecv" and program.lnc > 1
    loads = not meets and not transfer.hbm_write
    step = Step(OPCODES[opcode], ALL, issue, visible)
    return Lowered(engine, (step,), transfer, loads, meets, "", issue, start_ns(transfer, chip))


def _engine_op(instruction: Instruction, program: Program, chip: Chip) -> Lowered:
    opcode, interval, latency = engine_cost(instruction, program, chip)
    sides = {"read": instruction.reads, "write": instruction.writes}
    moved = {
        (memory, side): 0 if instruction.op in _UNCOUNTED else _on_chip_bytes(operands, memory, program)
        for memory in ("sbuf", "psum")
        for side, operands in sides.items()
    }
    step = Step(
        opcode, ALL, interval, latency, sbuf_read=moved["sbuf", "read"], sbuf_write=moved["sbuf", "write"],
        psum_read=moved["psum", "read"], psum_write=moved["psum", "write"],
        psum_read_sbuf_write=moved["sbuf", "write"] if moved["psum", "read"] else 0,
    )  # fmt: skip
    looked_up = instruction.engine == "scalar" and instruction.op in ("activation", "activation_reduce", "activate2")
    return _engine(instruction, (step,), function=str(instruction.attributes.get("op", "none")) if looked_up else "")


def _on_chip_bytes(operands: dict[str, Access], memory: str, program: Program) -> int:
    """Bytes per partition of the operands that lie in `memory`. Per-partition scalars (bias, scale) are pointers in
    the instruction and real profiles do not count them."""
    return sum(
        columns(access) * item_bytes(access.dtype)
        for name, access in operands.items()
        if name not in POINTERS and program.buffers[access.buffer].memory == memory
    )


def _matmul(instruction: Instruction, chip: Chip) -> Lowered:
    """Contraction over the partitions (twice as many rows in `double_row`, four times in MX mode)."""
    stationary, moving = instruction.reads["stationary"], instruction.reads["moving"]
    packing = 2 if instruction.attributes.get("perf_mode", "none").startswith("double_row") else 1
    rows, cols, n = stationary.pattern[0][1] * packing, columns(stationary) // packing, columns(moving) // packing
    if instruction.op == "nc_matmul_mx":
        rows *= 4
    transpose = bool(instruction.attributes.get("is_transpose", False))
    wide = "float32" in (stationary.dtype, moving.dtype)
    return _pe(chip, rows, cols, n, stationary, instruction.writes["dst"], transpose,
               repeats=2 if wide and not transpose else 1, passes=2 if wide else 1,
               moving_bytes=columns(moving) * item_bytes(moving.dtype))  # fmt: skip


def _pe_transpose(instruction: Instruction, chip: Chip) -> Lowered:
    """The data is loaded as weights and an identity moves through it."""
    data = instruction.reads["data"]
    rows, cols = data.pattern[0][1], columns(data)
    return _pe(chip, rows, cols, rows, data, instruction.writes["dst"], True,
               repeats=1, passes=2 if data.dtype == "float32" else 1,
               moving_bytes=rows * item_bytes(data.dtype))  # fmt: skip


def _pe(
    chip: Chip, rows: int, cols: int, n: int, weights: Access, dst: Access, transpose: bool,
    repeats: int, passes: int, moving_bytes: int,
) -> Lowered:  # fmt: skip
    load_ns = passes * _load_cycles(chip, cols, weights) / chip.pe_clock_ghz
    stream_ns = passes * (max(min(chip.minimum_cycles, cols), n) + chip.pe_overhead_cycles) / chip.pe_clock_ghz
    # Weights load behind the running matmul: the array takes the longer of the two.
    load = Step(OPCODES["LDWEIGHTS"], WEIGHTS, 0.0, chip.load_weights_ns, load_ns,
                sbuf_read=columns(weights) * item_bytes(weights.dtype))  # fmt: skip
    stream = Step(
        OPCODES["MATMUL"], REST, 0.0, 0.0, stream_ns, 2 * rows * cols * n, transpose, sbuf_read=moving_bytes,
        psum_write=columns(dst) * item_bytes(dst.dtype),
    )  # fmt: skip
    busy = max(load_ns, stream_ns) * repeats
    result = busy + chip.pe_latency_ns + chip.pe_fill_cycles / chip.pe_clock_ghz
    return Lowered(TENSOR, (load, stream) * repeats, None, False, False, "", busy, result)


def _load_cycles(chip: Chip, cols: int, weights: Access) -> float:
    """Fast loading takes columns side by side, of at most two bytes: compiled kernels load float32 weights one column at a time
    (trn2 traces), and nki-library's mlp has a layout for "unit-stride weight loading, reducing the matrix multiplication
    initiation interval" (AWS docs nki/library/api/mlp.rst)."""
    fast = unit_stride(weights) and item_bytes(weights.dtype) <= _FAST_ITEM_BYTES
    return chip.load_weights_cycles if fast else cols
