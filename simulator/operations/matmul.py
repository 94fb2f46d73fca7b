"""Tensor Engine: products that accumulate in float32, and transposes, which move bits."""

from __future__ import annotations

import numpy as np

from simulator.dtypes import from_float32, to_float32
from simulator.operations.memory import bits
from simulator.operations.operands import Operands


def nc_matmul(o: Operands) -> None:
    """dst = stationary.T @ moving, the contraction along the partitions (and the first free dimension in double_row)."""
    if o.attributes.get("is_transpose"):
        return _transpose_by_identity(o)
    stationary, moving = o.float32("stationary"), o.float32("moving")
    if _is_double_row(o):
        for name, operand in (("stationary", stationary), ("moving", moving)):
            if operand.ndim < 3 or operand.shape[1] != 2:
                o.refuse(f"double_row needs {name} of shape [K, 2, ...], found {list(operand.shape)}")
        stationary = stationary.reshape(stationary.shape[0] * 2, -1)
        moving = moving.reshape(moving.shape[0] * 2, -1)
    else:
        stationary = stationary.reshape(stationary.shape[0], -1)
        moving = moving.reshape(moving.shape[0], -1)
    if stationary.shape[0] != moving.shape[0]:
        o.refuse(f"contraction sizes differ: stationary {stationary.shape[0]}, moving {moving.shape[0]}")
    _accumulate(o, stationary.T @ moving)


def nc_transpose(o: Operands) -> None:
    """dst = data.T, free dimensions flattened into one; bit-exact on both engines."""
    data = o.raw("data")
    flat = data.reshape(data.shape[0], -1)
    if o.dtype("dst") == o.dtype("data"):
        o.write_bits("dst", flat.T)
    else:
        o.write("dst", to_float32(flat).T)


def _is_double_row(o: Operands) -> bool:
    mode = o.attributes.get("perf_mode") or "none"
    if mode not in ("none", "double_row", "double_row_gen3"):
        o.refuse(f"perf_mode {mode!r} is not modelled")
    return mode != "none"


def _accumulate(o: Operands, product: np.ndarray) -> None:
    """Overwrite or add to dst: as `accumulate` says, or, when absent, add where an earlier product wrote."""
    access = o.access("dst")
    target = o.memory.view(access)
    if product.size != target.size:
        o.refuse(f"dst holds {list(access.shape)}, the product is {list(product.shape)}")
    product = product.reshape(target.shape)
    written = o.memory.accumulating(access)
    flag = o.attributes.get("accumulate")
    add = written if flag is None else bool(flag)
    if add is False:
        result = product
    elif target.dtype == np.float32 and add is True:
        target += product
        return
    else:
        result = np.where(add, to_float32(target) + product, product)
    bits(target)[...] = bits(from_float32(result, access.dtype))


def _transpose_by_identity(o: Operands) -> None:
    """Transpose mode moves bits: the operand that is not the identity arrives in dst unrounded, NaN and Inf included."""
    stationary, moving = o.raw("stationary"), o.raw("moving")
    stationary = stationary.reshape(stationary.shape[0], -1)
    moving = moving.reshape(moving.shape[0], -1)
    if _is_identity(moving):
        moved, dtype = stationary.T, o.dtype("stationary")
    elif _is_identity(stationary):
        moved, dtype = moving, o.dtype("moving")
    else:
        o.refuse("is_transpose needs an identity matrix as moving operand")
    if dtype == o.dtype("dst"):
        o.write_bits("dst", moved)
    else:
        o.write("dst", to_float32(np.ascontiguousarray(moved)))


def _is_identity(matrix: np.ndarray) -> bool:
    return matrix.shape[0] == matrix.shape[1] and np.array_equal(to_float32(matrix), np.eye(matrix.shape[0]))


OPERATIONS = {"nc_matmul": nc_matmul, "nc_transpose": nc_transpose}
