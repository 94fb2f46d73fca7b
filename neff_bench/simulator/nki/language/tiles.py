"""Provides functions on tiles: each records the instructions that compute it and returns a new SBUF tile."""

from __future__ import annotations

from math import pi, prod
from typing import Any

from neff_bench.simulator.nki import isa
from neff_bench.simulator.nki.language.broadcasting import operand
from neff_bench.simulator.recording import check
from neff_bench.simulator.recording import operator_names as operators
from neff_bench.simulator.recording.creation import ndarray
from neff_bench.simulator.recording.recorder import invalid, not_modelled
from neff_bench.simulator.recording.tensor import NkiTensor


def apply(name: str, tiles: tuple[Any, ...], dtype: Any) -> NkiTensor:
    """Return the operator `name` on one or two tiles or numbers."""
    if len(tiles) == 1 and name in operators.UNARY:
        return _unary(name, tiles[0], dtype)
    if len(tiles) == 2 and name in operators.BINARY:
        return _binary(name, *tiles, dtype)
    raise invalid(f"nl.{name} does not take {len(tiles)} tiles")


def _tile(name: str, value: Any) -> NkiTensor:
    if not isinstance(value, NkiTensor):
        raise invalid(f"nl.{name} works on tiles, not on {type(value).__name__}")
    if not value.on_chip:
        raise invalid(f"nl.{name}: load the tile first; {value!r} is in HBM")
    return value


def _like(x: NkiTensor, dtype: Any) -> NkiTensor:
    return ndarray(x.shape, x.dtype if dtype is None else dtype)


def _unary(name: str, x: Any, dtype: Any) -> NkiTensor:
    made = _like(_tile(name, x), dtype)
    if name == "negative":
        isa.tensor_scalar(made, x, "multiply", -1.0)
    elif name == "logical_not":
        isa.tensor_scalar(made, x, "equal", 0.0)
    elif name == "invert":
        isa.tensor_scalar(made, x, "invert", 0)
    elif name == "reciprocal":
        isa.reciprocal(made, x)
    elif name == "copy":
        isa.tensor_copy(made, x)
    elif name in ("sin", "cos"):
        isa.activation(made, "sin", _within_pi(x, pi / 2 if name == "cos" else 0.0))
    elif name in ("floor", "ceil", "trunc"):
        _whole(made, name, x)
    elif name == "tan":
        isa.tensor_tensor(made, _unary("sin", x, "float32"), _unary("cos", x, "float32"), "divide")
    elif name in operators.ACTIVATIONS:
        isa.activation(made, name, x)
    else:
        raise not_modelled(f"nl.{name} as a function on tiles")
    return made


def _whole(made: NkiTensor, name: str, x: NkiTensor) -> None:
    """Round |x| < 2^31 by way of int32, whose conversion rounds to nearest, and a correction where that went too far.
    With which instructions AWS's compiler rounds is not documented."""
    near, whole, over = ndarray(x.shape, "int32"), ndarray(x.shape, "float32"), ndarray(x.shape, "float32")
    if name == "trunc":
        size = _unary("abs", x, "float32")
        down = ndarray(x.shape, "float32")
        _whole(down, "floor", size)
        isa.tensor_tensor(made, down, _unary("sign", x, "float32"), "multiply")
        return
    isa.tensor_copy(near, x)
    isa.tensor_copy(whole, near)
    isa.tensor_tensor(over, whole, x, "greater" if name == "floor" else "less")
    isa.tensor_tensor(made, whole, over, "subtract" if name == "floor" else "add")


def _within_pi(x: NkiTensor, shift: float) -> NkiTensor:
    """Return `x` + `shift` less whole turns, in float32: `nl.sin` reduces its argument (AWS docs, nki/api/nki.api.shared.rst);
    with which instructions is not documented."""
    turns, whole = ndarray(x.shape, "float32"), ndarray(x.shape, "int32")
    isa.tensor_scalar(turns, x, "multiply", 0.5 / pi, op1="add", operand1=0.5 * shift / pi)
    isa.tensor_copy(whole, turns)
    isa.tensor_scalar(turns, whole, "multiply", -2 * pi, op1="add", operand1=shift)
    reduced = ndarray(x.shape, "float32")
    isa.tensor_tensor(reduced, x, turns, "add")
    return reduced


def _binary(name: str, x: Any, y: Any, dtype: Any) -> NkiTensor:
    if not isinstance(x, NkiTensor):
        made = _like(_tile(name, y), dtype)
        isa.tensor_scalar(made, y, name, x, reverse0=True)
        return made
    _tile(name, x)
    if not isinstance(y, NkiTensor):
        made = _like(x, dtype)
        isa.tensor_scalar(made, x, name, y)
        return made
    _tile(name, y)
    if x.ndim != y.ndim:
        raise invalid(f"nl.{name}: tiles of different rank: {x!r}, {y!r}")
    shape = tuple(max(first, second) for first, second in zip(x.shape, y.shape))
    made = ndarray(shape, x.dtype if dtype is None else dtype)
    if (
        x.shape == shape
        and prod(y.shape[1:]) == 1
        and y.shape[0] == shape[0]
        and y.dtype == "float32"
        and shape != y.shape
    ):
        isa.tensor_scalar(made, x, name, y)
    elif (
        y.shape == shape
        and prod(x.shape[1:]) == 1
        and x.shape[0] == shape[0]
        and x.dtype == "float32"
        and shape != x.shape
    ):
        isa.tensor_scalar(made, y, name, x, reverse0=True)
    else:
        isa.tensor_tensor(made, operand(x, shape), operand(y, shape), name)
    return made


def _reduce(name: str, op: str, x: Any, axis: Any, dtype: Any, keepdims: bool) -> NkiTensor:
    axes = check.free_axes(f"nl.{name}", _tile(name, x), axis)
    kept = [size for at, size in enumerate(x.shape) if at not in axes]
    shape = [1 if at in axes else size for at, size in enumerate(x.shape)] if keepdims or len(kept) < 2 else kept
    made = ndarray(shape, x.dtype if dtype is None else dtype)
    isa.tensor_reduce(made, op, x, axes)
    return made


def reduce_sum(x: Any, axis: Any, dtype: Any = None, keepdims: bool = False) -> NkiTensor:
    """Return the sum over free dimensions."""
    return _reduce("sum", "add", x, axis, dtype, keepdims)


def reduce_max(x: Any, axis: Any, dtype: Any = None, keepdims: bool = False) -> NkiTensor:
    """Return the largest element over free dimensions."""
    return _reduce("max", "maximum", x, axis, dtype, keepdims)


def reduce_min(x: Any, axis: Any, dtype: Any = None, keepdims: bool = False) -> NkiTensor:
    """Return the smallest element over free dimensions."""
    return _reduce("min", "minimum", x, axis, dtype, keepdims)


def reduce_prod(x: Any, axis: Any, dtype: Any = None, keepdims: bool = False) -> NkiTensor:
    """Return the product over free dimensions."""
    return _reduce("prod", "multiply", x, axis, dtype, keepdims)


def reduce_all(x: Any, axis: Any, dtype: Any = None) -> NkiTensor:
    """Return 1 where all elements over free dimensions are not zero, else 0."""
    return _reduce("all", "logical_and", x, axis, dtype, False)


for _function, _name in ((reduce_sum, "sum"), (reduce_max, "max"), (reduce_min, "min"), (reduce_prod, "prod")):
    _function.__name__ = _function.__qualname__ = _name  # as kernels know them: `op=nl.max` names an operator


def where_mask(condition: Any) -> NkiTensor:
    """Return an unsigned predicate: the tile itself, or what tells its non-zero elements."""
    if _tile("where", condition).dtype in ("uint8", "uint16", "uint32"):
        predicate: NkiTensor = condition
        return predicate
    mask = ndarray(condition.shape, "uint8")
    isa.tensor_scalar(mask, condition, "not_equal", 0.0)
    return mask
