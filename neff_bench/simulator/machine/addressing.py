"""Leads from an access to elements of memory: strided views over a buffer's bytes, and flat indices for gather and scatter."""

from __future__ import annotations

import math

import numpy as np

from neff_bench.simulator.errors import ExecutionError
from neff_bench.simulator.numpy_dtypes import SIZE_BYTES, numpy_dtype, size_bytes
from neff_bench.simulator.program import Access, Buffer


class Layout:
    """Holds what addressing needs to know of a buffer. `partition_bytes`: of one partition; of all of it in HBM."""

    __slots__ = ("bytes", "name", "on_chip", "partition_bytes", "partitions")

    def __init__(self, buffer: Buffer) -> None:
        self.name = buffer.name
        self.on_chip = buffer.memory != "hbm"
        self.bytes = math.prod(buffer.shape) * size_bytes(buffer.dtype)
        self.partitions = buffer.shape[0] if self.on_chip else 1
        self.partition_bytes = self.bytes // max(self.partitions, 1)


def view(access: Access, offset: int, storage: np.ndarray, layout: Layout) -> np.ndarray:
    """Return a strided view of bytes. Raises ExecutionError where the access leaves its buffer or, on chip, its partition."""
    dtype = numpy_dtype(access.dtype)
    shape, strides = check(access, offset, layout, dtype.itemsize)
    view: np.ndarray = np.ndarray(shape, dtype, storage, offset * dtype.itemsize, strides)
    return view


def check(access: Access, offset: int, layout: Layout, item: int) -> tuple[list[int], list[int]]:
    """Return the shape and the strides in bytes of an access that stays inside its buffer; ExecutionError for one that does not."""
    shape, strides = [], []
    low = high = 0
    for step, size in access.pattern:
        shape.append(size)
        strides.append(step * item)
        if step >= 0:
            high += step * (size - 1)
        else:
            low += step * (size - 1)
    if layout.on_chip:
        _check_partitions(access, offset, layout, item)
    if offset + low < 0 or (offset + high + 1) * item > layout.bytes:
        element = offset + (low if offset + low < 0 else high)
        raise ExecutionError(outside(layout, access.dtype, element))
    return shape, strides


def _check_partitions(access: Access, offset: int, layout: Layout, item: int) -> None:
    """Check that the first pattern pair walks whole partitions and the others stay inside one."""
    free = layout.partition_bytes // item
    step, size = access.pattern[0]
    if size > 1 and step % free:
        raise ExecutionError(f"{layout.name}: partition step {step} is not a multiple of {free} elements")
    low = high = offset % free
    for inner, count in access.pattern[1:]:
        if inner >= 0:
            high += inner * (count - 1)
        else:
            low += inner * (count - 1)
    if low < 0 or high >= free:
        element = low if low < 0 else high
        raise ExecutionError(f"{layout.name}: access reaches element {element} of a partition that holds {free}")


def outside(layout: Layout, dtype: str, element: int) -> str:
    """Return the message for an access that reaches `element` (of `dtype`, from the buffer's start), outside its buffer."""
    elements = layout.bytes // SIZE_BYTES[dtype]
    if layout.on_chip:
        free = layout.partition_bytes // SIZE_BYTES[dtype]
        return f"{layout.name}: access reaches partition {element // free} of {layout.partitions}"
    return f"{layout.name}: access reaches element {element} of {elements} {dtype}"


def indices(access: Access, values: list[np.ndarray], layout: Layout) -> tuple[np.ndarray, np.ndarray]:
    """Return the flat element indices (int64, in the access's shape) and, in the same shape, which are inside the buffer.

    `values`: what each dynamic part read. A table of several columns serves the rows in column-major order, as the
    gather of `dma_transpose` documents. Negative index values are outside.
    """
    rank = len(access.pattern)
    flat = np.full(access.shape, access.offset, np.int64)
    valid = np.ones(access.shape, bool)
    for axis, (step, size) in enumerate(access.pattern):
        flat += (np.arange(size, dtype=np.int64) * step).reshape((-1,) + (1,) * (rank - axis - 1))
    for dynamic, table in zip(access.dynamic, values, strict=True):
        rows: np.ndarray = table.astype(np.int64).reshape(table.shape[0], -1).T.reshape(-1)
        if rows.size != 1:
            if rows.size < access.pattern[0][1]:
                raise ExecutionError(f"{layout.name}: {rows.size} indices for {access.pattern[0][1]} rows")
            rows = rows[: access.pattern[0][1]]
        rows = rows.reshape((-1,) + (1,) * (rank - 1))
        flat += dynamic.step * rows
        valid &= rows >= 0
    valid &= (flat >= 0) & (flat < layout.bytes // SIZE_BYTES[access.dtype])
    return flat, valid


def is_gather(access: Access) -> bool:
    """Return whether each row of the access has its own run-time address."""
    return bool(access.dynamic) and any(math.prod(dynamic.index.shape) != 1 for dynamic in access.dynamic)


def bits(array: np.ndarray) -> np.ndarray:
    """Return the same elements as unsigned integers: copied without a look at their values, and faster than ml_dtypes."""
    return array.view(_WORDS[array.dtype.itemsize])


_WORDS = {1: np.uint8, 2: np.uint16, 4: np.uint32}
