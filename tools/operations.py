"""The operations of a real profile by kind, each with how long it lasts on hardware and in the model."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable
from typing import Any, NamedTuple

from neff_bench.chips import Chip
from neff_bench.simulator.compiler.lowering import lower
from neff_bench.simulator.program import ENGINES, Access, Buffer, Instruction, Program

SUBGROUPS = {"Tensor": 0, "Scalar": 1, "GpSimd": 2, "Vector": 3, "Sync": 4}
"""A profile's names of the engines, with their index."""

OPS = {"COPY": "tensor_copy", "CAST": "tensor_copy", "ACTIVATE": "activation", "TENSOR_REDUCE": "tensor_reduce",
       "TENSOR_SCALAR": "tensor_scalar", "RECIPROCAL": "reciprocal"}  # fmt: skip
"""What an opcode of Vector, Scalar or GpSimd is to the model."""

_DTYPES = {"fp32": "float32", "bfloat16": "bfloat16", "fp16": "float16"}
_VIEW = re.compile(r"\b(src|dst)=(\w+)@(0x[0-9a-f]+)\[([-\d,]+)\]\[([\d,]+)\]")
_PSUM = 0x2000000


class Operand(NamedTuple):
    """`side`: src or dst. `memory`: sbuf or psum. `columns`: elements of one partition."""

    side: str
    dtype: str
    memory: str
    columns: int


class Operation(NamedTuple):
    """What the cost of an operation follows from. `pointer`: an operand is one value for each partition."""

    opcode: str
    engine: str
    operands: tuple[Operand, ...]
    pointer: bool
    function: str


class Measured(NamedTuple):
    """How often an operation occurs in a profile, and how long it lasts there, in nanoseconds."""

    operation: Operation
    count: int
    fastest_ns: float
    median_ns: float


def operation_of(row: dict[str, Any]) -> Operation:
    """The operation of one instruction of a profile, which writes the innermost dimension first."""
    operands = []
    for side, dtype, address, _, sizes in _VIEW.findall(row["operands"]):
        columns = 1
        for size in sizes.split(","):
            columns *= int(size)
        operands.append(Operand(side, _DTYPES[dtype], "psum" if int(address, 16) >= _PSUM else "sbuf", columns))
    engine = ENGINES[SUBGROUPS[row["subgroup"]]]
    pointer = row["opcode"] == "TENSOR_SCALAR" and "imm_src=PTR" in row["operands"]
    return Operation(row["opcode"], engine, tuple(operands), pointer, row["activation_fn"].lower())


def instruction_of(operation: Operation) -> tuple[Instruction, Program]:
    """The operation as the model's cost functions take it: an instruction, and a program that holds its buffers."""
    buffers, accesses = [], {}
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
    """How long the model has the operation last, at the least and at the most (the PE is at full or at reduced speed);
    None for what the model has no cost of."""
    if operation.opcode in OPS:
        latency = lower(*instruction_of(operation), chip).steps[0].latency_ns
        return latency, latency
    if operation.opcode == "ACT_TABLE_LOAD":
        return chip.activation_table_load_ns, chip.activation_table_load_ns
    if operation.opcode != "MATMUL":
        return None
    passes = 2 if operation.operands[0].dtype == "float32" else 1
    columns = operation.operands[0].columns
    stream = passes * (max(chip.minimum_cycles, columns) + chip.pe_overhead_cycles) / chip.pe_clock_ghz
    fill = chip.pe_fill_cycles / chip.pe_clock_ghz
    return stream + fill + chip.pe_latency_ns, chip.throttle_factor * (stream + fill) + chip.pe_latency_ns


def operations(rows: Iterable[dict[str, Any]]) -> list[Measured]:
    """The operations of a profile's instructions that the model has a cost of, by kind."""
    durations: dict[Operation, list[float]] = {}
    for row in rows:
        if row["opcode"] in (*OPS, "MATMUL", "ACT_TABLE_LOAD"):
            durations.setdefault(operation_of(row), []).append(row["duration"])
    return [
        Measured(operation, len(values), min(values), statistics.median(values))
        for operation, values in sorted(durations.items())
    ]
