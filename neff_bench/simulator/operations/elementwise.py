"""Works element by element: copy, constants, tensor with tensor, tensor with scalar (Vector, GpSimd and Scalar Engine).

Arithmetic is float32, with two documented exceptions: GpSimd keeps 32-bit integers exact, and bit operators see
integers as they are stored.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from neff_bench.chips import Chip, chip_for
from neff_bench.simulator.costs.engine_work import engine_work
from neff_bench.simulator.costs.steps import Lowered
from neff_bench.simulator.machine import alu
from neff_bench.simulator.machine.operands import Operands, column
from neff_bench.simulator.numpy_dtypes import INTEGERS, PACKED, convert, from_float32, numpy_dtype, to_float32
from neff_bench.simulator.operations.declaration import operation
from neff_bench.simulator.program import Instruction, Program
from neff_bench.simulator.recording import check
from neff_bench.simulator.recording.enums import engine as engine_enum
from neff_bench.simulator.recording.operator_names import ALU, ALU_UNARY, BINARY, BITVEC
from neff_bench.simulator.recording.operator_names import alu as operator_name
from neff_bench.simulator.recording.recorder import NkiInstruction, emit, invalid, recorder
from neff_bench.simulator.recording.tensor import NkiTensor

_ARITHMETIC = BINARY - BITVEC
_WORDS = ("int32", "uint32")
_UNKNOWN = engine_enum.unknown
_ALL = ("vector", "scalar", "gpsimd")
_INT32 = frozenset({"int32", "uint32"})


def _copy_cost(instruction: Instruction, program: Program, chip: Chip, opcodes: tuple[int, ...]) -> Lowered:
    """Return what a copy costs; one that changes the dtype is a CAST."""
    same = instruction.writes["dst"].dtype == instruction.reads["src"].dtype
    return _COPY(instruction, program, chip, opcodes[:1] if same else opcodes[1:])


_COPY = engine_work()


def _memset(o: Operands) -> None:
    fill(o, "dst", o.attributes["value"])


@operation(execute=_memset, cost=engine_work(counted=False), opcode="MEMSET")
def memset(dst: NkiTensor, value: Any, engine: Any = _UNKNOWN, name: str | None = None) -> NkiInstruction:
    """Set every element of `dst` to `value`, on Vector unless the kernel says else: AWS docs leave the choice to the compiler."""
    check.on_chip("memset", dst=dst)
    chosen = check.chosen_engine("memset", engine, _ALL, "vector")
    check.no_psum_on_gpsimd("memset", chosen, dst)
    number = check.number("memset", "value", value)
    if dst.dtype in PACKED and number != 0:
        raise invalid(f"memset: a packed type is filled with 0 only, not with {number}: {dst!r}")
    return emit("memset", chosen, {"dst": dst}, {}, {"value": number})


def _tensor_copy(o: Operands) -> None:
    """Bit-exact between equal dtypes, else through float32. The Scalar Engine of gen2 always goes through float32."""
    if o.dtype("dst") == o.dtype("src") and not (o.engine == "scalar" and chip_for(o.target).generation < 3):
        o.write_bits("dst", o.raw("src"))
    else:
        o.write_bits("dst", convert(o.raw("src"), o.dtype("dst")))


@operation(execute=_tensor_copy, cost=_copy_cost, opcode=("COPY", "CAST"))
def tensor_copy(
    dst: NkiTensor, src: NkiTensor, engine: Any = _UNKNOWN, name: str | None = None, dtype: Any = None
) -> NkiInstruction:
    """Compute `dst` = `src` between SBUF and PSUM. `dtype` (dialect 0.2) says what dst's dtype says."""
    check.on_chip("tensor_copy", dst=dst, src=src)
    check.same_tile("tensor_copy", "src", src, dst)
    chosen = check.chosen_engine("tensor_copy", engine, _ALL, "vector")
    check.no_psum_on_gpsimd("tensor_copy", chosen, dst, src)
    return emit("tensor_copy", chosen, {"dst": dst}, {"src": src}, check.named_engine(engine))


def _tensor_tensor(o: Operands) -> None:
    op = o.attributes["op"]
    first, second = o.raw("data1"), o.raw("data2")
    if alu.is_bitwise(op):
        check_integers(o, "data1", "data2", "dst")
    elif not (o.engine == "gpsimd" and _all_words(o, "data1", "data2", "dst")):
        first, second = to_float32(first), to_float32(second)
    first, second = first.reshape(o.shape("dst")), second.reshape(o.shape("dst"))
    o.write("dst", alu.binary(op)(first, second))


@operation(execute=_tensor_tensor, cost=engine_work(counted=False), opcode="TENSOR_TENSOR")
def tensor_tensor(
    dst: NkiTensor,
    data1: NkiTensor,
    data2: NkiTensor,
    op: Any,
    engine: Any = _UNKNOWN,
    name: str | None = None,
) -> NkiInstruction:
    """Compute `dst` = `data1` op `data2`. All-int32 operands in SBUF and `power` run on GpSimd unless the kernel says else."""
    check.on_chip("tensor_tensor", dst=dst, data1=data1, data2=data2)
    word = operator_name("tensor_tensor", "op", op, BINARY)
    check.same_tile("tensor_tensor", "data1", data1, dst)
    check.same_tile("tensor_tensor", "data2", data2, dst)
    _bitvec("tensor_tensor", word, dst, data1, data2)
    default = "vector"
    in_psum = "psum" in (dst.storage.memory, data1.storage.memory, data2.storage.memory)
    if word == "power" or (
        dst.dtype in _INT32 and data1.dtype in _INT32 and data2.dtype in _INT32 and not in_psum and word not in BITVEC
    ):
        default = "gpsimd"
    if data1.storage.memory == "psum" == data2.storage.memory and chip_for(recorder().target).generation < 3:
        raise invalid(f"tensor_tensor: data1 and data2 cannot both be in PSUM: {data1!r}, {data2!r}")
    chosen = check.chosen_engine("tensor_tensor", engine, ("vector", "gpsimd"), default)
    check.no_psum_on_gpsimd("tensor_tensor", chosen, dst, data1, data2)
    return emit("tensor_tensor", chosen, {"dst": dst}, {"data1": data1, "data2": data2}, {"op": word})


def _tensor_scalar(o: Operands) -> None:
    """Compute (data op0 operand0) op1 operand1; each operand is a scalar or one value for each partition."""
    operators = [op for op in (o.attributes.get("op0"), o.attributes.get("op1")) if op]
    words = any(alu.is_bitwise(op) for op in operators)
    if words:
        check_integers(o, "data", "dst")
    words = words or _keeps_words(o, operators)
    values = o.raw("data") if words else o.float32("data")
    values = scalar_operator(o, values, "op0", "operand0", "reverse0", words)
    o.write("dst", scalar_operator(o, values, "op1", "operand1", "reverse1", words))


@operation(execute=_tensor_scalar, cost=engine_work(), opcode="TENSOR_SCALAR")
def tensor_scalar(
    dst: NkiTensor,
    data: NkiTensor,
    op0: Any,
    operand0: Any = None,
    reverse0: bool = False,
    op1: Any = None,
    operand1: Any = None,
    reverse1: bool = False,
    engine: Any = _UNKNOWN,
    name: str | None = None,
) -> NkiInstruction:
    """Compute `dst` = (`data` op0 operand0) op1 operand1; operands are numbers or one element for each partition."""
    check.on_chip("tensor_scalar", dst=dst, data=data)
    check.same_tile("tensor_scalar", "data", data, dst)
    attributes: dict[str, Any] = {}
    reads = {"data": data}
    scalar_stage("tensor_scalar", "0", op0, operand0, reverse0, data, reads, attributes)
    if op1 is not None:
        scalar_stage("tensor_scalar", "1", op1, operand1, reverse1, data, reads, attributes)
    elif operand1 is not None:
        raise invalid("tensor_scalar: operand1 needs op1")
    _bitvec("tensor_scalar", attributes["op0"], dst, data)
    default = "gpsimd" if "power" in (attributes["op0"], attributes.get("op1")) and _in_sbuf(dst, data) else "vector"
    chosen = check.chosen_engine("tensor_scalar", engine, _ALL, default)
    attributes |= check.named_engine(engine)
    check.no_psum_on_gpsimd("tensor_scalar", chosen, dst, data)
    return emit("tensor_scalar", chosen, {"dst": dst}, reads, attributes)


def _scalar_tensor_tensor(o: Operands) -> None:
    """Compute (data op0 operand0) op1 operand1, where operand1 is a tensor."""
    values = scalar_operator(o, o.float32("data"), "op0", "operand0", "reverse0")
    operand = o.float32("operand1").reshape(values.shape)
    function = alu.binary(o.attributes["op1"])
    o.write("dst", function(operand, values) if o.attributes.get("reverse1") else function(values, operand))


@operation(execute=_scalar_tensor_tensor, cost=engine_work(), opcode="SCALAR_TENSOR_TENSOR")
def scalar_tensor_tensor(
    dst: NkiTensor,
    data: NkiTensor,
    op0: Any,
    operand0: Any,
    op1: Any,
    operand1: NkiTensor,
    reverse0: bool = False,
    reverse1: bool = False,
    name: str | None = None,
    engine: Any = None,
) -> NkiInstruction:
    """Compute `dst` = (`data` op0 operand0) op1 `operand1`; operand0 as in tensor_scalar, operand1 a tile."""
    check.on_chip("scalar_tensor_tensor", dst=dst, data=data, operand1=operand1)
    check.same_tile("scalar_tensor_tensor", "data", data, dst)
    check.same_tile("scalar_tensor_tensor", "operand1", operand1, dst)
    reads = {"data": data, "operand1": operand1}
    attributes: dict[str, Any] = {}
    scalar_stage("scalar_tensor_tensor", "0", op0, operand0, reverse0, data, reads, attributes)
    attributes["op1"] = operator_name("scalar_tensor_tensor", "op1", op1, _ARITHMETIC)
    if reverse1:
        attributes["reverse1"] = True
    chosen = check.chosen_engine("scalar_tensor_tensor", engine, ("vector", "gpsimd"), "vector")
    check.no_psum_on_gpsimd("scalar_tensor_tensor", chosen, dst, data, operand1)
    return emit("scalar_tensor_tensor", chosen, {"dst": dst}, reads, attributes)


def _reciprocal(o: Operands) -> None:
    o.write("dst", np.float32(1) / o.float32("data"))


@operation(execute=_reciprocal, cost=engine_work(), opcode="RECIPROCAL")
def reciprocal(dst: NkiTensor, data: NkiTensor, name: str | None = None, engine: Any = None) -> NkiInstruction:
    """Compute `dst` = 1 / `data`."""
    check.on_chip("reciprocal", dst=dst, data=data)
    check.same_tile("reciprocal", "data", data, dst)
    chosen = check.chosen_engine("reciprocal", engine, ("vector", "gpsimd", "scalar"), "vector")
    return emit("reciprocal", chosen, {"dst": dst}, {"data": data}, {})


def fill(o: Operands, name: str, value: float) -> None:
    """Write a constant to every element, rounded to the operand's dtype; integers keep their low bits."""
    access = o.access(name)
    dtype = numpy_dtype(access.dtype)
    if access.dtype in PACKED:
        element = np.zeros(1, dtype)  # which is all that memset takes
    elif access.dtype in INTEGERS and isinstance(value, int):
        element = np.array([value], np.int64).astype(dtype)
    else:
        element = from_float32(np.array([value], np.float32), access.dtype)
    o.write_bits(name, np.broadcast_to(element, access.shape))


def scalar_operator(
    o: Operands, values: np.ndarray, op: str, operand: str, reverse: str, words: bool = False
) -> np.ndarray:
    """Apply one operator with a scalar or one value a partition, given the names of its attributes; `words`: on integers."""
    name = o.attributes.get(op)
    if not name or name == "bypass":
        return values
    if alu.is_unary(name):
        return alu.unary(name)(values)
    scalar = _integer_operand(o, operand, values) if words else o.per_partition(operand, values)
    function = alu.binary(name)
    return function(scalar, values) if o.attributes.get(reverse) else function(values, scalar)


def _integer_operand(o: Operands, name: str, values: np.ndarray) -> np.ndarray:
    """Return a scalar, or one value for each partition, in the integer type of the data."""
    if name in o.instruction.reads:
        vector = o.raw(name)
        if vector.dtype.kind not in "iu":
            vector = np.rint(to_float32(vector)).astype(np.int64)
        return column(vector, values).astype(values.dtype)
    value = o.attributes.get(name)
    if value is None or float(value) != int(value):
        o.refuse(f"{name} {value!r} where an integer is expected")
    return np.array(int(value), np.int64).astype(values.dtype)


def _keeps_words(o: Operands, operators: list[str]) -> bool:
    """Return whether arithmetic stays in 32-bit integers: data, result and operands all are integers (address arithmetic)."""
    if not _all_words(o, "data", "dst") or any(alu.is_unary(op) for op in operators):
        return False
    for operand in ("operand0", "operand1"):
        if operand in o.instruction.reads and o.dtype(operand) not in _WORDS:
            return False
        value = o.attributes.get(operand)
        if isinstance(value, float) and not value.is_integer():
            return False
    return not {"divide", "power"} & set(operators)


def _all_words(o: Operands, *names: str) -> bool:
    return all(o.dtype(name) in _WORDS for name in names)


def check_integers(o: Operands, *names: str) -> None:
    """Raise ExecutionError for an operand that is not an integer, as bit operators need."""
    for name in names:
        if o.dtype(name) not in INTEGERS:
            o.refuse(f"bit operators need integers, {name} is {o.dtype(name)}")


def scalar_stage(
    op: str,
    place: str,
    operator: Any,
    operand: Any,
    reverse: bool,
    data: NkiTensor,
    reads: dict[str, NkiTensor],
    attributes: dict[str, Any],
) -> None:
    """Record one `op<place>`, `operand<place>`, `reverse<place>` of a tensor-scalar instruction."""
    word = operator_name(op, f"op{place}", operator, ALU)
    attributes[f"op{place}"] = word
    if operand is None and word not in ALU_UNARY and word != "bypass":
        raise invalid(f"{op}: op{place} {word} needs operand{place}")
    check.operand(op, f"operand{place}", operand, data.shape[0], reads, attributes)
    if reverse:
        attributes[f"reverse{place}"] = True


def _in_sbuf(*operands: NkiTensor) -> bool:
    return all(value.storage.memory == "sbuf" for value in operands)


def _bitvec(op: str, word: str, *operands: NkiTensor) -> None:
    if word in BITVEC:
        for value in operands:
            if value.dtype not in INTEGERS:
                raise invalid(f"{op}: {word} needs integer tensors, not {value!r}")
