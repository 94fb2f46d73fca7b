"""Lists machine instructions that one operation becomes, before they have a place in the program."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from neff_bench.chips import Chip
from neff_bench.simulator.costs.table import Row
from neff_bench.simulator.costs.transfers import Transfer
from neff_bench.simulator.program import ENGINES, Instruction, Program

TENSOR, SCALAR, GPSIMD, VECTOR, SYNC = range(5)
"""Engine indices, as in NTFF files."""

ALL, WEIGHTS, REST, NOTHING, READS = range(5)
"""What a step waits for: all that the operation waits for, or that of the weights, or that of the other operands, or nothing, or what
writes the values that the operation reads, a run-time address among them."""

WEIGHT_OPERANDS = frozenset(
    ("stationary", "stationary_scale", "stationary_scale_1", "stationary_scale_2", "stationary_scale_3", "data")
)
"""What LDWEIGHTS reads (of a matmul, of the four quadrants of a scaled one, of a PE transpose)."""


class Step(NamedTuple):
    """One machine instruction: its values in the columns of `neff_bench.simulator.compiler.code.assembler.Code`.

    waits: ALL, WEIGHTS, REST, NOTHING or READS. Times in ns; flops: 2 for each multiply-add; sbuf_*, psum_*: bytes of one partition.
    """

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
    """One operation as machine instructions.

    engine: index of `ENGINES`. transfer: of a DMA, else None. loads: a DMA that brings data on chip, or a store in turn. meets: both cores enter it
    together. function: what the Scalar Engine looks up in a table, else "". busy_ns: how long it holds its engine. result_ns: from
    start to result; of a DMA, from start to first packet. Both times are without waits and at full PE clock. row: what the times were
    read from.
    """

    engine: int
    steps: tuple[Step, ...]
    transfer: Transfer | None
    loads: bool
    meets: bool
    function: str
    busy_ns: float
    result_ns: float
    row: Row


Cost = Callable[[Instruction, Program, Chip, tuple[int, ...]], Lowered]
"""What an operation becomes on a chip. The last argument holds the bytes of the opcodes that its declaration names."""


def on_engine(instruction: Instruction, step: Step, row: Row, meets: bool = False, function: str = "") -> Lowered:
    """Return one machine instruction on the operation's own engine."""
    engine = ENGINES.index(instruction.engine)
    return Lowered(engine, (step,), None, False, meets, function, step.interval_ns, step.latency_ns, row)
