"""Provides larger functions on tiles: statistics, softmax, normalisation, selection, transpose and matmul."""

from __future__ import annotations

from typing import Any

from neff_bench.simulator.nki import isa
from neff_bench.simulator.nki.language.broadcasting import operand
from neff_bench.simulator.nki.language.tiles import _like, _reduce, _tile, where_mask
from neff_bench.simulator.recording.creation import ndarray
from neff_bench.simulator.recording.regions import psum
from neff_bench.simulator.recording.tensor import NkiTensor


def mean(x: Any, axis: Any, dtype: Any = None, keepdims: bool = False) -> NkiTensor:
    """Return the mean over `axis`, summed in float32, in the dtype of `x` unless `dtype` is given."""
    total = _reduce("mean", "add", x, axis, "float32", keepdims)
    made = _like(total, x.dtype if dtype is None else dtype)
    isa.tensor_scalar(made, total, "multiply", total.size / x.size)
    return made


def var(x: Any, axis: Any, dtype: Any = None, keepdims: bool = False) -> NkiTensor:
    """Return the variance around the mean, in float32, with the reduced axes kept."""
    middle = mean(x, axis, "float32", keepdims=True)
    centred = ndarray(x.shape, "float32")
    isa.tensor_tensor(centred, x, middle.broadcast_to(x.shape), "subtract")
    isa.tensor_tensor(centred, centred, centred, "multiply")
    return mean(centred, axis, x.dtype if dtype is None else dtype, keepdims=True)


def softmax(x: Any, axis: Any = -1, dtype: Any = None) -> NkiTensor:
    """Return exp(x - max) / sum over the last free axes."""
    top = _reduce("softmax", "maximum", x, axis, "float32", True)
    powers = ndarray(x.shape, "float32")
    isa.tensor_tensor(powers, x, top.broadcast_to(x.shape), "subtract")
    isa.activation(powers, "exp", powers)
    total = _reduce("softmax", "add", powers, axis, "float32", True)
    isa.reciprocal(total, total)
    made = _like(x, dtype)
    isa.tensor_tensor(made, powers, total.broadcast_to(x.shape), "multiply")
    return made


def rms_norm(
    x: Any, w: Any, axis: Any, n: int, epsilon: float = 1e-06, dtype: Any = None, compute_dtype: Any = None
) -> NkiTensor:
    """Return x / sqrt(sum(x * x) / n + epsilon) * w."""
    kind = "float32" if compute_dtype is None else compute_dtype
    squares = ndarray(_tile("rms_norm", x).shape, kind)
    isa.tensor_tensor(squares, x, x, "multiply")
    scale = _reduce("rms_norm", "add", squares, axis, "float32", True)
    isa.tensor_scalar(scale, scale, "multiply", 1.0 / n, op1="add", operand1=epsilon)
    isa.activation(scale, "rsqrt", scale)
    normal = ndarray(x.shape, kind)
    isa.tensor_tensor(normal, x, scale.broadcast_to(x.shape), "multiply")
    made = _like(x, dtype)
    isa.tensor_tensor(made, normal, operand(w, x.shape), "multiply")
    return made


def where(condition: Any, x: Any, y: Any, dtype: Any = None) -> NkiTensor:
    """Return `x` where `condition` is not zero, else `y`; both tiles or numbers."""
    mask = where_mask(condition)
    first = next((value for value in (x, y) if isinstance(value, NkiTensor)), None)
    kind = dtype if dtype is not None else (condition.dtype if first is None else first.dtype)
    made = ndarray(condition.shape, kind)
    if isinstance(y, NkiTensor):
        isa.tensor_copy(made, y.broadcast_to(condition.shape))
    else:
        isa.memset(made, y)
    if isinstance(x, NkiTensor) and x.dtype != made.dtype:
        cast = ndarray(condition.shape, kind)
        isa.tensor_copy(cast, x.broadcast_to(condition.shape))
        x = cast
    isa.tensor_copy_predicated(made, x.broadcast_to(condition.shape) if isinstance(x, NkiTensor) else x, mask)
    return made


def dropout(x: Any, rate: Any, dtype: Any = None) -> NkiTensor:
    """Return `x` with elements replaced by zero with probability `rate`."""
    made = _like(_tile("dropout", x), None)
    isa.dropout(made, x, rate)
    if dtype is None:
        return made
    cast = _like(x, dtype)
    isa.tensor_copy(cast, made)
    return cast


def expand_dims(x: NkiTensor, axis: int) -> NkiTensor:
    """Return the view with a new dimension of size 1 at `axis`."""
    return x.expand_dim(axis)


def transpose(x: NkiTensor, dtype: Any = None) -> NkiTensor:
    """Return the transposed 2-d tile, in PSUM."""
    made = ndarray((x.shape[1], x.shape[0]), x.dtype if dtype is None else dtype, psum)
    isa.nc_transpose(made, x, engine="tensor")
    return made


def matmul(x: NkiTensor, y: NkiTensor, transpose_x: bool = False) -> NkiTensor:
    """Return `x` @ `y` (`x`.T @ `y` with `transpose_x`), float32 in PSUM."""
    if not transpose_x:
        turned = transpose(x)
        x = ndarray(turned.shape, x.dtype)
        isa.tensor_copy(x, turned)
    made = ndarray((x.shape[1], y.shape[1]), "float32", psum)
    isa.nc_matmul(made, x, y, accumulate=False)
    return made


def gather_flattened(data: NkiTensor, indices: NkiTensor, axis: int = 0, dtype: Any = None) -> NkiTensor:
    """Return for each partition the elements of `data` at `indices` (uint32 or int32), free dimensions flattened."""
    made = ndarray(indices.shape, data.dtype)
    isa.nc_n_gather(made, data, indices.view("uint32") if indices.dtype == "int32" else indices)
    if dtype is None:
        return made
    cast = ndarray(indices.shape, dtype)
    isa.tensor_copy(cast, made)
    return cast
