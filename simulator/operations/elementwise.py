"""Vector and GpSimd Engine: element by element.

Arithmetic is float32, with two documented exceptions: GpSimd keeps 32-bit integers exact, and bit operators see
integers as they are stored.
"""

from __future__ import annotations

import numpy as np

from neff_bench.simulator.dtypes import INTEGERS, convert, from_float32, numpy_dtype, to_float32
from neff_bench.simulator.machine import alu
from neff_bench.simulator.machine.operands import Operands, column

_WORDS = ("int32", "uint32")


def memset(o: Operands) -> None:
    fill(o, "dst", o.attributes["value"])


def fill(o: Operands, name: str, value: float) -> None:
    """Write a constant to every element, rounded to the operand's dtype; integers keep their low bits."""
    access = o.access(name)
    dtype = numpy_dtype(access.dtype)
    if access.dtype in INTEGERS and isinstance(value, int):
        element = np.array([value], np.int64).astype(dtype)
    else:
        element = from_float32(np.array([value], np.float32), access.dtype)
    o.write_bits(name, np.broadcast_to(element, access.shape))


def tensor_copy(o: Operands) -> None:
    """Bit-exact between equal dtypes, else through float32. The Scalar Engine of gen2 always goes through float32."""
    if o.dtype("dst") == o.dtype("src") and not (o.engine == "scalar" and o.target in ("trn1", "inf2")):
        o.write_bits("dst", o.raw("src"))
    else:
        o.write_bits("dst", convert(o.raw("src"), o.dtype("dst")))


def tensor_tensor(o: Operands) -> None:
    op = o.attributes["op"]
    first, second = o.raw("data1"), o.raw("data2")
    if alu.is_bitwise(op):
        check_integers(o, "data1", "data2", "dst")
    elif not (o.engine == "gpsimd" and _all_words(o, "data1", "data2", "dst")):
        first, second = to_float32(first), to_float32(second)
    first, second = first.reshape(o.shape("dst")), second.reshape(o.shape("dst"))
    o.write("dst", alu.binary(op)(first, second))


def tensor_scalar(o: Operands) -> None:
    """(data op0 operand0) op1 operand1, each operand a scalar or one value a partition."""
    operators = [op for op in (o.attributes.get("op0"), o.attributes.get("op1")) if op]
    words = any(alu.is_bitwise(op) for op in operators)
    if words:
        check_integers(o, "data", "dst")
    words = words or _keeps_words(o, operators)
    values = o.raw("data") if words else o.float32("data")
    values = scalar_operator(o, values, "op0", "operand0", "reverse0", words)
    o.write("dst", scalar_operator(o, values, "op1", "operand1", "reverse1", words))


def scalar_tensor_tensor(o: Operands) -> None:
    """(data op0 operand0) op1 operand1, operand1 a tensor."""
    values = scalar_operator(o, o.float32("data"), "op0", "operand0", "reverse0")
    operand = o.float32("operand1").reshape(values.shape)
    function = alu.binary(o.attributes["op1"])
    o.write("dst", function(operand, values) if o.attributes.get("reverse1") else function(values, operand))


def reciprocal(o: Operands) -> None:
    o.write("dst", np.float32(1) / o.float32("data"))


def scalar_operator(
    o: Operands, values: np.ndarray, op: str, operand: str, reverse: str, words: bool = False
) -> np.ndarray:
    """One operator with a scalar or one value a partition, given the names of its attributes; `words`: on integers."""
    name = o.attributes.get(op)
    if not name or name == "bypass":
        return values
    if alu.is_unary(name):
        return alu.unary(name)(values)
    scalar = _integer_operand(o, operand, values) if words else o.per_partition(operand, values)
    function = alu.binary(name)
    return function(scalar, values) if o.attributes.get(reverse) else function(values, scalar)


def _integer_operand(o: Operands, name: str, values: np.ndarray) -> np.ndarray:
    """A scalar or one value a partition, in the integer type of the data."""
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
    """Whether arithmetic stays in 32-bit integers: data, result and operands all are integers (address arithmetic)."""
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
    """Raises ExecutionError for an operand that is not an integer, as bit operators need."""
    for name in names:
        if o.dtype(name) not in INTEGERS:
            o.refuse(f"bit operators need integers, {name} is {o.dtype(name)}")


OPERATIONS = {
    "memset": memset,
    "tensor_copy": tensor_copy,
    "tensor_tensor": tensor_tensor,
    "tensor_scalar": tensor_scalar,
    "scalar_tensor_tensor": scalar_tensor_tensor,
    "reciprocal": reciprocal,
}
