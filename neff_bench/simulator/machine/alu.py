"""Computes the operators that vector instructions are programmed with (`op`, `op0`, `reduce_op`...), by their bare nl names.

Arithmetic takes float32 or, where documented, 32-bit integers; bit operators take bit patterns. Comparisons and logic give 1 or 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from neff_bench.simulator.errors import ExecutionError

Binary = Callable[[Any, Any], np.ndarray]
Unary = Callable[[np.ndarray], np.ndarray]


def _truth(function: Callable[..., np.ndarray]) -> Binary:
    def compare(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return function(a, b).astype(np.result_type(a, b))

    return compare


def _shift(function: Callable[..., np.ndarray]) -> Binary:
    """Return logical shifts: bits that leave are lost, zeros enter; a shift by the width or more leaves zero."""

    def shift(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        unsigned = np.dtype(f"u{a.dtype.itemsize}")
        amount = np.asarray(b).astype(unsigned)
        shifted = function(a.view(unsigned), amount).astype(unsigned)
        return np.where(amount < 8 * unsigned.itemsize, shifted, unsigned.type(0)).view(a.dtype)

    return shift


def _by_magnitude(first: Binary) -> Binary:
    """Return the operand whose magnitude wins, with its sign: AWS docs, nki.language.abs_max."""

    def choose(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.asarray(np.where(first(np.abs(a), np.abs(b)), a, b))

    return choose


_ARITHMETIC: dict[str, Binary] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "equal": _truth(np.equal),
    "not_equal": _truth(np.not_equal),
    "greater_equal": _truth(np.greater_equal),
    "greater": _truth(np.greater),
    "less_equal": _truth(np.less_equal),
    "less": _truth(np.less),
    "logical_and": _truth(np.logical_and),
    "logical_or": _truth(np.logical_or),
    "logical_xor": _truth(np.logical_xor),
    "power": np.power,
    "fmod": np.fmod,
    "mod": np.mod,
    "abs_max": _by_magnitude(np.greater),
    "abs_min": _by_magnitude(np.less),
    "bypass": lambda a, b: a,
}

_BITS: dict[str, Binary] = {
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "left_shift": _shift(np.left_shift),
    "right_shift": _shift(np.right_shift),
}

_UNARY: dict[str, Unary] = {
    "abs": np.abs,
    "square": np.square,
    "relu": lambda a: np.maximum(a, a.dtype.type(0)),
    "rsqrt": lambda a: np.float32(1) / np.sqrt(a),
    "reciprocal": lambda a: np.float32(1) / a,
    "sqrt": np.sqrt,
    "invert": np.invert,
    "logical_not": lambda a: (a == 0).astype(a.dtype),
}

_REDUCTIONS = {
    "add": np.add,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
}

_OF_MAGNITUDES = {"abs_max": "maximum", "abs_min": "minimum"}


def is_unary(op: str) -> bool:
    """Return whether the operator takes one operand."""
    return op in _UNARY


def is_bitwise(op: str) -> bool:
    """Return whether the operator works on bit patterns of integers."""
    return op in _BITS or op == "invert"


def binary(op: str) -> Binary:
    """Return the function of a two-operand operator. Raises ExecutionError for one that is not modelled."""
    found = _ARITHMETIC.get(op) or _BITS.get(op)
    if found is None:
        raise ExecutionError(f"operator {op!r} is not modelled")
    return found


def unary(op: str) -> Unary:
    """Return the function of a one-operand operator. Raises ExecutionError for one that is not modelled."""
    found = _UNARY.get(op)
    if found is None:
        raise ExecutionError(f"operator {op!r} is not modelled")
    return found


def reduce(op: str, values: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Return a reduction over axes, kept as size one. Raises ExecutionError for an operator that does not reduce."""
    if op == "subtract":
        return _reduce_subtract(values, axes)
    if op == "average":
        return np.asarray(np.mean(values, axis=axes, keepdims=True, dtype=np.float32))
    if op in _OF_MAGNITUDES:
        op, values = _OF_MAGNITUDES[op], np.abs(values)
    found = _REDUCTIONS.get(op)
    if found is None:
        raise ExecutionError(f"{op!r} is not a reduction that is modelled")
    return found.reduce(values, axis=axes, keepdims=True).astype(values.dtype)


def _reduce_subtract(values: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Return first - second - third..., in memory order: twice the first less the sum of all."""
    first = values[tuple(slice(0, 1) if axis in axes else slice(None) for axis in range(values.ndim))]
    return np.asarray(first + first - np.add.reduce(values, axis=axes, keepdims=True))
