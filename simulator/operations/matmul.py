"""Tensor Engine: products that accumulate in float32, and transposes, which move bits.

Successive products into one PSUM tile are collected and computed as one product of their stacked operands when
something looks at the tile: the same sum of the same float32 products, in one large matrix product.
"""

from __future__ import annotations

import numpy as np

from neff_bench.simulator.dtypes import SIZE_BYTES, copy_to_float32, from_float32, numpy_dtype, to_float32
from neff_bench.simulator.machine.addressing import bits
from neff_bench.simulator.machine.memory import Memory
from neff_bench.simulator.machine.operands import Operands
from neff_bench.simulator.program import Access

_STACKED_ROWS = 1024


def nc_matmul(o: Operands) -> None:
    """dst = stationary.T @ moving, the contraction along the partitions (and the first free dimension in double_row)."""
    if o.attributes.get("is_transpose"):
        return _transpose_by_identity(o)
    stationary, moving = _matrix(o, "stationary"), _matrix(o, "moving")
    if stationary.shape[0] != moving.shape[0]:
        o.refuse(f"contraction sizes differ: stationary {stationary.shape[0]}, moving {moving.shape[0]}")
    access = o.access("dst")
    rows, columns = stationary.shape[1], moving.shape[1]
    if access.shape[0] != rows or np.prod(access.shape[1:], dtype=int) != columns:
        o.refuse(f"dst holds {list(access.shape)}, the product is {[rows, columns]}")
    flag = o.attributes.get("accumulate")
    written = o.memory.accumulating(access)
    o.memory.mark_written(access)
    add = written if flag is None else bool(flag)
    if access.dtype != "float32" or access.dynamic or not isinstance(add, bool):
        return _multiply_now(o, stationary, moving, add)
    stack = o.memory.deferred(access.buffer)
    if not (isinstance(stack, _Stack) and add and stack.takes(access, stationary.shape[0])):
        o.memory.storage(access.buffer)
        stack = _Stack(o.memory, access, rows, columns, add)
        o.memory.defer(access.buffer, stack)
    stack.push(stationary, moving)


def nc_transpose(o: Operands) -> None:
    """dst = data.T, free dimensions flattened into one; bit-exact on both engines."""
    data = o.raw("data")
    _move(o, data.reshape(data.shape[0], -1).T, o.dtype("data"))


class _Stack:
    """Operands of products into one tile, one below the other in float32; calling it adds their product to the tile."""

    def __init__(self, memory: Memory, access: Access, rows: int, columns: int, add: bool) -> None:
        self.memory = memory
        self.access = access
        self.add = add
        self.depth = 0
        self.stationary = memory.scratch((_STACKED_ROWS, rows))
        self.moving = memory.scratch((_STACKED_ROWS, columns))

    def takes(self, access: Access, depth: int) -> bool:
        """Whether a product of this contraction size into this place can join."""
        return self.depth + depth <= _STACKED_ROWS and access == self.access

    def push(self, stationary: np.ndarray, moving: np.ndarray) -> None:
        place = slice(self.depth, self.depth + stationary.shape[0])
        copy_to_float32(stationary, self.stationary[place])
        copy_to_float32(moving, self.moving[place])
        self.depth += stationary.shape[0]

    def __call__(self) -> None:
        target = self.memory.view(self.access)
        product = self.memory.product(self.stationary[: self.depth].T, self.moving[: self.depth]).reshape(target.shape)
        if self.add:
            target += product
        else:
            target[...] = product
        self.memory.reuse(self.stationary)
        self.memory.reuse(self.moving)


def _matrix(o: Operands, name: str) -> np.ndarray:
    """An operand as [contraction, free], in its own dtype."""
    operand = o.raw(name)
    mode = o.attributes.get("perf_mode") or "none"
    if mode == "none":
        return operand.reshape(operand.shape[0], -1)
    if mode != "double_row":
        o.refuse(f"perf_mode {mode!r} is not modelled")
    if operand.ndim < 3 or operand.shape[1] != 2:
        o.refuse(f"double_row needs {name} of shape [K, 2, ...], found {list(operand.shape)}")
    return operand.reshape(operand.shape[0] * 2, -1)


def _multiply_now(o: Operands, stationary: np.ndarray, moving: np.ndarray, add: np.ndarray | bool) -> None:
    """Overwrite dst or add to it, for each element as `add` says."""
    access = o.access("dst")
    target = o.memory.view(access)
    product = o.memory.product(to_float32(stationary).T, to_float32(moving)).reshape(target.shape)
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
    _move(o, moved, dtype)


def _move(o: Operands, moved: np.ndarray, dtype: str) -> None:
    """Store transposed elements. float8 becomes 16-bit elements whose upper half is zero (trainium2_arch.rst)."""
    target = o.dtype("dst")
    if dtype == target:
        o.write_bits("dst", moved)
    elif SIZE_BYTES[dtype] == 1 and SIZE_BYTES[target] == 2 and o.engine == "tensor":
        o.write_bits("dst", bits(moved).astype(np.uint16).view(numpy_dtype(target)))
    else:
        o.write("dst", to_float32(moved))


def _is_identity(matrix: np.ndarray) -> bool:
    return matrix.shape[0] == matrix.shape[1] and np.array_equal(to_float32(matrix), np.eye(matrix.shape[0]))


OPERATIONS = {"nc_matmul": nc_matmul, "nc_transpose": nc_transpose}
