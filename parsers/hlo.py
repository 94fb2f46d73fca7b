"""Reads HLO modules as XLA writes them (`HloModuleProto`, "graph.hlo"), and prepares them for neuronx-cc.

Field numbers: openxla/xla, `xla/service/hlo.proto` and `xla/xla_data.proto`. Protobuf carries fields through unchanged that are not declared here.
"""

from __future__ import annotations

import functools
import math
import os
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from neff_bench.parsers.errors import ParseError, guarded
from neff_bench.parsers.source import open_source

SUFFIX = ".hlo"
FILE_BYTES_MAX = 256 * 1024 * 1024

_SCHEMA: dict[str, dict[str, tuple[int, str]]] = {
    "Module": {
        "name": (1, "string"),
        "computations": (3, "*Computation"),
        "id": (5, "int64"),
        "entry_computation_id": (6, "int64"),
        "schedule": (7, "Schedule"),
        "stack_frame_index": (17, "bytes"),
    },
    "Computation": {
        "name": (1, "string"),
        "instructions": (2, "*Instruction"),
        "id": (5, "int64"),
        "root_id": (6, "int64"),
    },
    "Instruction": {
        "name": (1, "string"),
        "opcode": (2, "string"),
        "shape": (3, "Shape"),
        "metadata": (7, "Metadata"),
        "literal": (8, "Literal"),
        "parameter_number": (9, "int64"),
        "tuple_index": (13, "int64"),
        "dimensions": (14, "*int64"),
        "slice_dimensions": (17, "*Slice"),
        "dot_dimension_numbers": (30, "Dot"),
        "id": (35, "int64"),
        "operand_ids": (36, "*int64"),
        "control_predecessor_ids": (37, "*int64"),
        "called_computation_ids": (38, "*int64"),
        "comparison_direction": (63, "string"),
    },
    "Metadata": {"op_type": (1, "string"), "op_name": (2, "string")},
    "Shape": {"element_type": (2, "int64"), "dimensions": (3, "*int64"), "tuple_shapes": (4, "*Shape")},
    "Slice": {"start": (1, "int64"), "limit": (2, "int64"), "stride": (3, "int64")},
    "Dot": {
        "lhs_contracting": (1, "*int64"),
        "rhs_contracting": (2, "*int64"),
        "lhs_batch": (3, "*int64"),
        "rhs_batch": (4, "*int64"),
    },
    "Literal": {
        "preds": (2, "*bool"),
        "u8s": (3, "bytes"),
        "s32s": (4, "*int32"),
        "s64s": (5, "*int64"),
        "u32s": (6, "*uint32"),
        "u64s": (7, "*uint64"),
        "f32s": (8, "*float"),
        "f64s": (9, "*double"),
        "f16s": (11, "bytes"),
        "bf16s": (13, "bytes"),
        "s8s": (15, "bytes"),
        "u16s": (16, "bytes"),
        "s16s": (17, "bytes"),
        "f8e5m2s": (19, "bytes"),
        "f8e4m3fns": (20, "bytes"),
    },
    "Schedule": {},
}
"""Message -> field -> (number, type); "*" marks a repeated field."""

_DTYPES = {
    1: "pred",
    2: "int8",
    3: "int16",
    4: "int32",
    5: "int64",
    6: "uint8",
    7: "uint16",
    8: "uint32",
    9: "uint64",
    10: "float16",
    11: "float32",
    12: "float64",
    13: "tuple",
    16: "bfloat16",
    19: "float8_e5m2",
    20: "float8_e4m3fn",
    28: "float8_e4m3",
}
"""`PrimitiveType` of xla_data.proto."""

_LITERALS = {
    "pred": ("preds", "?"),
    "int8": ("s8s", ""),
    "int16": ("s16s", ""),
    "int32": ("s32s", "i"),
    "int64": ("s64s", "q"),
    "uint8": ("u8s", ""),
    "uint16": ("u16s", ""),
    "uint32": ("u32s", "I"),
    "uint64": ("u64s", "Q"),
    "float16": ("f16s", ""),
    "float32": ("f32s", "f"),
    "float64": ("f64s", "d"),
    "bfloat16": ("bf16s", ""),
    "float8_e5m2": ("f8e5m2s", ""),
    "float8_e4m3fn": ("f8e4m3fns", ""),
}
"""dtype -> (field of LiteralProto, struct code of its items; "" where the field already holds raw bytes)."""


@dataclass(frozen=True)
class Shape:
    """`dtype` is a canonical name ("bfloat16"), "pred", or "tuple"; `dimensions` in elements, outermost first."""

    dtype: str
    dimensions: tuple[int, ...] = ()
    elements: tuple[Shape, ...] = ()


@dataclass(frozen=True)
class DotDimensions:
    """Dimension numbers of a `dot`."""

    lhs_contracting: tuple[int, ...]
    rhs_contracting: tuple[int, ...]
    lhs_batch: tuple[int, ...]
    rhs_batch: tuple[int, ...]


@dataclass(frozen=True)
class HloInstruction:
    """One instruction. `operands` and `calls` are ids; fields that its opcode does not use are empty."""

    id: int
    name: str
    opcode: str
    shape: Shape
    operands: tuple[int, ...] = ()
    calls: tuple[int, ...] = ()
    parameter_number: int = 0
    tuple_index: int = 0
    dimensions: tuple[int, ...] = ()
    slices: tuple[tuple[int, int, int], ...] = ()
    """(start, limit, stride) for each dimension of a `slice`."""
    dot: DotDimensions | None = None
    comparison: str = ""
    literal: bytes = b""
    """Little-endian C-order bytes of a `constant`."""


@dataclass(frozen=True)
class HloComputation:
    """Instructions in an order in which operands come before their users."""

    id: int
    name: str
    instructions: tuple[HloInstruction, ...]
    root: int

    def dots(self) -> Iterator[tuple[HloInstruction, int]]:
        """Yield its `dot`s with their multiply-accumulates."""
        shapes = {i.id: i.shape.dimensions for i in self.instructions}
        for i in self.instructions:
            if i.dot is not None:
                contracted = math.prod(shapes[i.operands[0]][d] for d in i.dot.lhs_contracting)
                yield i, math.prod(i.shape.dimensions) * contracted


@dataclass(frozen=True)
class HloModule:
    """`entry` is the id of the entry computation."""

    name: str
    computations: dict[int, HloComputation]
    entry: int

    @property
    def mac_count(self) -> int:
        """Multiply-accumulates of all `dot`s that a run executes (calls followed; a loop's body counts once)."""
        return self.mac_counts()[self.entry]

    def mac_counts(self) -> dict[int, int]:
        """Return the same for each computation that the entry reaches, by id; the entry is the last."""
        macs: dict[int, int] = {}
        for number in self.called_first():
            computation = self.computations[number]
            macs[number] = sum(own for _, own in computation.dots()) + sum(
                macs[called] for i in computation.instructions for called in i.calls
            )
        return macs

    def called_first(self) -> tuple[int, ...]:
        """Return the ids of the computations that the entry reaches, each after those that it calls. `read_hlo` has refused call cycles."""
        return _called_first(self.computations, self.entry)


def _called_first(computations: Mapping[int, HloComputation], entry: int) -> tuple[int, ...]:
    """Sort computations so that each comes after those it calls. Raises ValueError for computations that call each other in a circle."""
    order: list[int] = []
    open_: dict[int, Iterator[int]] = {}
    done: set[int] = set()

    def enter(number: int) -> None:
        open_[number] = (called for i in computations[number].instructions for called in i.calls)

    enter(entry)
    while open_:
        number = next(reversed(open_))
        called = next((called for called in open_[number] if called not in done), None)
        if called is None:
            open_.popitem()
            done.add(number)
            order.append(number)
        elif called in open_:
            raise ValueError(f"computation {computations[called].name} calls itself")
        else:
            enter(called)
    return tuple(order)


def read_hlo(data: bytes, path: str = "graph.hlo") -> HloModule:
    """Return the module that `data` (a serialized `HloModuleProto`) describes. Raises `ParseError` naming `path`."""
    proto = _decode(data, path)
    computations = {
        c.id: HloComputation(c.id, c.name, tuple(_instruction(i, path) for i in c.instructions), c.root_id)
        for c in proto.computations
    }
    if proto.entry_computation_id not in computations:
        raise ParseError(path, None, f"the entry computation {proto.entry_computation_id} is missing")
    for computation in computations.values():
        known: dict[int, Shape] = {}
        for i in computation.instructions:
            if not known.keys() >= set(i.operands) or not computations.keys() >= set(i.calls):
                raise ParseError(path, None, f"{i.opcode} {i.name} refers to an instruction that is not there")
            _check_dot(i, known, path)
            known[i.id] = i.shape
        if computation.root not in known:
            raise ParseError(path, None, f"computation {computation.name} has no root")
    try:
        _called_first(computations, proto.entry_computation_id)
    except ValueError as error:
        raise ParseError(path, None, str(error)) from None
    return HloModule(proto.name, computations, proto.entry_computation_id)


def _check_dot(i: HloInstruction, known: Mapping[int, Shape], path: str) -> None:
    """Check a `dot`. Raises ParseError for one whose operands do not have the dimensions that it names."""
    if i.dot is None:
        return
    if len(i.operands) < 2:
        raise ParseError(path, None, f"{i.opcode} {i.name} has {len(i.operands)} operands, expected 2")
    named = (i.dot.lhs_contracting + i.dot.lhs_batch, i.dot.rhs_contracting + i.dot.rhs_batch)
    for operand, dimensions in zip(i.operands, named):
        if any(not 0 <= d < len(known[operand].dimensions) for d in dimensions):
            raise ParseError(path, None, f"{i.opcode} {i.name} names a dimension that its operand does not have")


@guarded
def read_hlo_file(path: str | os.PathLike[str]) -> HloModule:
    """Return the module in a file. Raises `ParseError`."""
    source = open_source(path)
    if source.size_bytes > FILE_BYTES_MAX:
        raise ParseError(path, None, f"{source.size_bytes} bytes, more than {FILE_BYTES_MAX} for an HLO module")
    return read_hlo(source.read(0, source.size_bytes), source.path)


def portable(data: bytes, name: str) -> bytes:
    """Return the same module, ready for any neuronx-cc and equal on every machine.

    Ids are renumbered from 1: XLA since openxla/xla@5bba026 writes 64-bit ids, and neuronx-cc's embedded XLA stops at
    ids above INT_MAX (pytorch/xla#9685). The module is called `name`; stack frames and source locations are removed.
    """
    proto = _decode(data, "graph.hlo")
    proto.name = name
    proto.id = 0
    proto.ClearField("stack_frame_index")
    proto.ClearField("schedule")
    computation_ids = {c.id: number for number, c in enumerate(proto.computations, 1)}
    ids = {i.id: n for n, i in enumerate((i for c in proto.computations for i in c.instructions), 1)}
    proto.entry_computation_id = computation_ids[proto.entry_computation_id]
    for computation in proto.computations:
        computation.id = computation_ids[computation.id]
        computation.root_id = ids[computation.root_id]
        for i in computation.instructions:
            i.id = ids[i.id]
            i.operand_ids[:] = [ids[n] for n in i.operand_ids]
            i.control_predecessor_ids[:] = [ids[n] for n in i.control_predecessor_ids]
            i.called_computation_ids[:] = [computation_ids[n] for n in i.called_computation_ids]
            i.metadata.DiscardUnknownFields()
    return bytes(proto.SerializeToString(deterministic=True))


def _instruction(proto: Any, path: str) -> HloInstruction:
    shape = _shape(proto.shape, f"{proto.opcode} {proto.name}", path)
    dot = None
    if proto.HasField("dot_dimension_numbers"):
        numbers = proto.dot_dimension_numbers
        dot = DotDimensions(
            tuple(numbers.lhs_contracting),
            tuple(numbers.rhs_contracting),
            tuple(numbers.lhs_batch),
            tuple(numbers.rhs_batch),
        )
    return HloInstruction(
        id=proto.id,
        name=proto.name,
        opcode=proto.opcode,
        shape=shape,
        operands=tuple(proto.operand_ids),
        calls=tuple(proto.called_computation_ids),
        parameter_number=proto.parameter_number,
        tuple_index=proto.tuple_index,
        dimensions=tuple(proto.dimensions),
        slices=tuple((s.start, s.limit, s.stride or 1) for s in proto.slice_dimensions),
        dot=dot,
        comparison=proto.comparison_direction,
        literal=_literal(proto.literal, shape) if proto.opcode == "constant" else b"",
    )


def _shape(proto: Any, where: str, path: str) -> Shape:
    dtype = _DTYPES.get(proto.element_type)
    if dtype is None:
        raise ParseError(path, None, f"{where} has element type {proto.element_type}, which is not known")
    if any(dimension < 0 for dimension in proto.dimensions):
        raise ParseError(path, None, f"{where} has a negative dimension")
    return Shape(dtype, tuple(proto.dimensions), tuple(_shape(s, where, path) for s in proto.tuple_shapes))


def _literal(proto: Any, shape: Shape) -> bytes:
    if shape.dtype not in _LITERALS:
        return b""
    field, code = _LITERALS[shape.dtype]
    values = getattr(proto, field)
    return struct.pack(f"<{len(values)}{code}", *values) if code else bytes(values)


def _decode(data: bytes, path: str) -> Any:
    from google.protobuf.message import DecodeError

    proto = _message("Module")()
    try:
        proto.ParseFromString(data)
    except DecodeError:
        raise ParseError(path, None, "not an HLO module (HloModuleProto): it cannot be decoded") from None
    if not proto.computations:
        raise ParseError(path, None, "not an HLO module (HloModuleProto): it has no computations")
    return proto


@functools.cache
def _message(name: str) -> Any:
    """Return the protobuf class of a message of `_SCHEMA`."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    field_type = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="neff_bench_hlo.proto", package="neff_bench.hlo", syntax="proto3")
    for message, fields in _SCHEMA.items():
        target = file.message_type.add(name=message)
        for field, (number, kind) in fields.items():
            label = field_type.LABEL_REPEATED if kind.startswith("*") else field_type.LABEL_OPTIONAL
            kind = kind.lstrip("*")
            added = target.field.add(name=field, number=number, label=label)
            if kind in _SCHEMA:
                added.type, added.type_name = field_type.TYPE_MESSAGE, f".neff_bench.hlo.{kind}"
            else:
                added.type = getattr(field_type, f"TYPE_{kind.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"neff_bench.hlo.{name}"))
