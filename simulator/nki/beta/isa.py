"""`neuronxcc.nki.isa`: instructions that return their result instead of taking a destination."""

from __future__ import annotations

from typing import Any

from neff_bench.simulator.nki import isa
from neff_bench.simulator.nki import language as nl
from neff_bench.simulator.nki.beta.tile import Tile, plain
from neff_bench.simulator.recording import check
from neff_bench.simulator.recording.recorder import not_modelled
from neff_bench.simulator.recording.tensor import NkiTensor

_LIKE = {
    "activation": "data",
    "tensor_tensor": "data1",
    "tensor_scalar": "data",
    "tensor_copy": "src",
    "reciprocal": "data",
    "tensor_tensor_scan": "data0",
    "scalar_tensor_tensor": "data",
    "affine_select": "on_true_tile",
}
"""Instructions whose result has the shape and, unless `dtype` says otherwise, the dtype of this operand."""

_ORDER = {
    "activation": ("op", "data"),
    "tensor_tensor": ("data1", "data2", "op"),
    "tensor_scalar": ("data", "op0", "operand0"),
    "tensor_copy": ("src",),
    "reciprocal": ("data",),
    "tensor_tensor_scan": ("data0", "data1", "initial", "op0", "op1"),
    "scalar_tensor_tensor": ("data", "op0", "operand0", "op1", "operand1"),
    "affine_select": (),
}


def nc_matmul(stationary: Tile, moving: Tile, **options: Any) -> Tile:
    made = nl.ndarray((check.free(stationary.view), check.free(moving.view)), "float32", nl.psum)
    isa.nc_matmul(made, stationary.view, moving.view, accumulate=False, **_options(options))
    return Tile(made)


def nc_transpose(data: Tile, **options: Any) -> Tile:
    shape = (check.free(data.view), data.view.shape[0])
    made = nl.ndarray(shape, data.dtype, nl.psum)
    isa.nc_transpose(made, data.view, **_options(options))
    return Tile(made)


def tensor_reduce(op: Any, data: Tile, axis: Any, *, dtype: Any = None, negate: bool = False, **options: Any) -> Tile:
    _options(options)
    view = data.view
    axes = sorted(at % view.ndim for at in (axis if isinstance(axis, (list, tuple)) else (axis,)))
    shape = tuple(1 if at in axes else size for at, size in enumerate(view.shape))
    made = nl.ndarray(shape, data.dtype if dtype is None else dtype)
    isa.tensor_reduce(made, _reduction(op), view, axes, negate=negate)
    return Tile(made)


def memset(shape: Any, value: Any, dtype: Any, **options: Any) -> Tile:
    made = nl.ndarray(tuple(map(int, shape)), dtype)
    isa.memset(made, value, **_options(options))
    return Tile(made)


def _reduction(op: Any) -> Any:
    """`nl.max` names the reduction as `nl.maximum` does."""
    return {"max": "maximum", "min": "minimum", "sum": "add"}.get(getattr(op, "__name__", ""), op)


def _options(options: dict[str, Any]) -> dict[str, Any]:
    if options.pop("mask", None) is not None:
        raise not_modelled("a mask")
    options.pop("keepdims", None)
    return plain(options)


def _result(name: str) -> Any:
    instruction = getattr(isa, name)

    def returning(*args: Any, dtype: Any = None, **kwargs: Any) -> Tile:
        operands = {**dict(zip(_ORDER[name], args)), **_options(kwargs)}
        operands = {key: plain(value) for key, value in operands.items() if value is not None}
        like: NkiTensor = operands[_LIKE[name]]
        made = nl.ndarray(like.shape, like.dtype if dtype is None else dtype)
        instruction(made, **operands)
        return Tile(made)

    return returning


def __getattr__(name: str) -> Any:
    if name in _LIKE:
        return _result(name)
    found = getattr(isa, name)
    if isinstance(found, type) or not callable(found) or name in ("get_nc_version",):
        return found
    raise not_modelled(f"neuronxcc.nki.isa.{name}")
