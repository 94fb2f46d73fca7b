"""Reads the operation of a profile's instruction from its operands, and says how long the model has it last."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from neff_bench.chips import Chip
from neff_bench.chips.engines import ENGINES, TITLES, Engine
from neff_bench.simulator.compiler.code.lowering import lower
from neff_bench.simulator.program import Access, Buffer, Instruction, Program

OPS = {"COPY": "tensor_copy", "CAST": "tensor_copy", "ACTIVATE": "activation", "TENSOR_REDUCE": "tensor_reduce",
       "TENSOR_SCALAR": "tensor_scalar", "RECIPROCAL": "reciprocal"}  # fmt: skip
"""What an opcode of Vector, Scalar or GpSimd is to the model."""

_DTYPES = {"fp32": "float32", "bfloat16": "bfloat16", "fp16": "float16", "float32": "float32", "float16": "float16"}
_VIEW = re.compile(r"\b(src|data|moving|dst)=(\w+)@(0x[0-9a-f]+|\w+:[^[\s]+)\[([-\d,]+)\]\[([\d,]+)\]")
"""AWS's report writes `src=fp32@0x6830[1,1][4,1]`, addresses and the innermost dimension first; the simulator's writes
`data=float32@sbuf:tile+0[512,1][128,512]`, memories and the partitions first."""
_PSUM = 0x2000000
_SOURCES = ("src", "data", "moving")


class Operand(NamedTuple):
    """`side`: src or dst. `memory`: sbuf or psum. `columns`: elements of one partition."""

    side: str
    dtype: str
    memory: Literal["sbuf", "psum"]
    columns: int


class Operation(NamedTuple):
    """Holds what the cost of an operation follows from. `pointer`: an operand is one value for each partition."""

    opcode: str
    engine: Engine
    operands: tuple[Operand, ...]
    pointer: bool
    function: str


def operation_of(opcode: str, engine: str, operands: str, function: str = "") -> Operation:
    """Return the operation of one instruction. `engine`: as profiles write it. Operands of dtypes that the model has no cost of are left out."""
    found = [_operand(*view) for view in _VIEW.findall(operands)]
    known = tuple(operand for operand in found if operand is not None)
    pointer = opcode == "TENSOR_SCALAR" and "imm_src=PTR" in operands
    return Operation(opcode, ENGINES[TITLES.index(engine)], known, pointer, function.lower())


def _operand(side: str, dtype: str, place: str, _strides: str, sizes: str) -> Operand | None:
    extents = [int(size) for size in sizes.split(",")]
    memory: Literal["sbuf", "psum"]
    if place.startswith("0x"):
        memory = "psum" if int(place, 16) >= _PSUM else "sbuf"
    else:
        memory, extents = "psum" if place.startswith("psum:") else "sbuf", extents[1:]
    if dtype not in _DTYPES or place.startswith("hbm:"):
        return None
    columns = 1
    for extent in extents:
        columns *= extent
    return Operand("src" if side in _SOURCES else side, _DTYPES[dtype], memory, columns)


def instruction_of(operation: Operation) -> tuple[Instruction, Program]:
    """Return the operation as the model's cost functions take it: an instruction, and a program that holds its buffers."""
    buffers: list[Buffer] = []
    accesses: dict[str, Access] = {}
    for side, dtype, memory, columns in operation.operands:
        buffers.append(Buffer(side, memory, (128, columns), dtype, "internal"))
        accesses[side] = Access(len(buffers) - 1, 0, ((columns, 128), (1, columns)), dtype)
    op = OPS[operation.opcode]
    reads = {"src" if op == "tensor_copy" else "data": accesses["src"]}
    if operation.pointer:
        buffers.append(Buffer("imm", "sbuf", (128, 1), "float32", "internal"))
        reads["operand0"] = Access(len(buffers) - 1, 0, ((1, 128), (1, 1)), "float32")
    attributes = {"op": operation.function or "max"}
    instruction = Instruction(op, operation.engine, {"dst": accesses["dst"]}, reads, attributes)
    return instruction, Program("operation", "trn2", 1, tuple(buffers), (), (), ((instruction,),))


def model_ns(operation: Operation, chip: Chip) -> tuple[float, float] | None:
    """Return how long the model has the operation last, at the least and at the most (the PE is at full or at reduced speed);
    None for what the model has no cost of."""
    if operation.opcode in OPS:
        latency = lower(*instruction_of(operation), chip).steps[0].latency_ns
        return latency, latency
    if operation.opcode == "ACT_TABLE_LOAD":
        return chip.activation_table_load_ns, chip.activation_table_load_ns
    if operation.opcode != "MATMUL":
        return None
    stream = chip.pe_stream_ns(_passes(operation) * operation.operands[0].columns)
    fill = chip.pe_fill_cycles / chip.pe_clock_ghz
    overhead = chip.pe_overhead_cycles / chip.pe_clock_ghz
    return stream + overhead + fill + chip.pe_latency_ns, chip.throttle_factor * (stream + fill) + chip.pe_latency_ns


def stream_ns(product: Operation, chip: Chip) -> float:
    """Return how long a product holds the PE at full speed."""
    columns = max(chip.minimum_cycles, _passes(product) * product.operands[0].columns)
    return chip.pe_stream_ns(columns) + chip.pe_overhead_cycles / chip.pe_clock_ghz


def _passes(product: Operation) -> int:
    """Return how often the columns of a product move through the PE."""
    return 2 if product.operands[0].dtype == "float32" else 1
