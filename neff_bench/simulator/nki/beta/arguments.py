"""Reads the arguments of the older dialect's instructions: their order, their names, and tiles as operands."""

from __future__ import annotations

from typing import Any

from neff_bench.simulator.nki import language as nl
from neff_bench.simulator.nki.beta.tile import Tile, plain
from neff_bench.simulator.recording.recorder import invalid
from neff_bench.simulator.recording.tensor import NkiTensor

ORDER = {
    "activation": ("op", "data"),
    "activation_reduce": ("op", "data"),
    "tensor_tensor": ("data1", "data2", "op"),
    "tensor_scalar": ("data", "op0", "operand0", "reverse0", "op1", "operand1", "reverse1"),
    "tensor_scalar_reduce": ("data", "op0", "operand0"),
    "tensor_copy": ("src",),
    "reciprocal": ("data",),
    "tensor_tensor_scan": ("data0", "data1", "initial", "op0", "op1"),
    "scalar_tensor_tensor": ("data", "op0", "operand0", "op1", "operand1"),
    "dropout": ("data", "prob"),
    "range_select": ("on_true_tile", "comp_op0", "comp_op1", "bound0", "bound1"),
    "nc_match_replace8": ("data", "vals", "imm"),
}
"""Instructions whose result has the shape of their first tile, with the names of the operands in order."""

WIDTHS = {"bn_stats": (("data",), 6), "bn_aggr": (("data",), 2), "max8": (("src",), 8)}
"""Instructions whose result has so many elements in each partition."""

_REDUCTIONS = {
    "max": "maximum",
    "amax": "maximum",
    "min": "minimum",
    "amin": "minimum",
    "sum": "add",
    "prod": "multiply",
}
_OPERATORS = frozenset({"op", "op0", "op1", "reduce_op", "comp_op0", "comp_op1"})
_RESULTS = frozenset({"dst", "reduce_res", "dst_idx"})


def named_operands(order: tuple[str, ...], args: tuple[Any, ...], options: dict[str, Any]) -> dict[str, Any]:
    """Return the operands by name, without those that are None; reductions by the names that instructions know."""
    if len(args) > len(order):
        raise invalid(f"{len(args)} operands where {len(order)} go without a name: {', '.join(order)}")
    named = {**dict(zip(order, args)), **options}
    for key in _OPERATORS & named.keys():
        named[key] = reduction(named[key])
    return {key: value for key, value in named.items() if value is not None}


def reduction(op: Any) -> Any:
    """Return the name of a reduction: `nl.max` and `np.max` name it as `nl.maximum` does."""
    name = op if isinstance(op, str) else getattr(op, "__name__", "")
    return _REDUCTIONS.get(name, op)


def views_of(operands: dict[str, Any]) -> dict[str, Any]:
    """Return tiles as operands of instructions: read, or as the place of a result."""
    return {
        key: value.place() if key in _RESULTS and isinstance(value, Tile) else plain(value)
        for key, value in operands.items()
    }


def tile_operand(operands: dict[str, Any], key: str, name: str) -> Tile:
    """Return the operand `key` of the instruction `name`. Raises NkiValidationError when it is no tile."""
    value = operands.get(key)
    if not isinstance(value, Tile):
        raise invalid(f"{name}: {key} must be a tile, not {type(value).__name__}")
    return value


def destination(given: dict[str, Any], shape: tuple[int, ...], dtype: Any, buffer: Any = None) -> NkiTensor:
    """Return the place that the kernel names, or a new tile."""
    place: NkiTensor | None = given.pop("dst", None)
    return place if place is not None else nl.ndarray(shape, dtype, nl.sbuf if buffer is None else buffer)
