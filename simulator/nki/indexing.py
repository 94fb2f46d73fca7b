"""Indexing of tensors: integers, slices, `...`, `nl.ds`, and indices that are known at run time only."""

from __future__ import annotations

from operator import index as as_int
from typing import TYPE_CHECKING, Any

from simulator.nki.recorder import invalid
from simulator.program import Access, Dynamic

if TYPE_CHECKING:
    from simulator.nki.tensor import NkiTensor


class DynamicSlice:
    """`nl.ds(start, size)`; `start` is a number, or a tensor of one element or a register for a run-time address."""

    __slots__ = ("size", "start")

    def __init__(self, start: Any, size: int) -> None:
        self.start = start
        self.size = size


def getitem(tensor: NkiTensor, key: Any) -> NkiTensor:
    """`tensor[key]`: numpy's rules for HBM; on chip an index keeps the partition dimension, and two dimensions stay."""
    if type(key) is not tuple:
        key = (key,)
    shape = tensor.shape
    strides = tensor.strides
    if len(key) != len(shape):
        key = _full_key(tensor, key)
    offset = tensor.offset
    on_chip = tensor.storage.memory != "hbm"
    new_shape = []
    new_strides = []
    dynamic = tensor.dynamic
    dim = 0
    for item in key:
        size = shape[dim]
        stride = strides[dim]
        kind = type(item)
        if kind is slice:
            start = item.start
            stop = item.stop
            step = item.step
            if start is None:
                start = 0
            elif start < 0:
                start += size
            if stop is None:
                stop = size
            elif stop < 0:
                stop += size
            if start < 0 or stop > size or start >= stop:
                raise invalid(f"slice {item.start}:{item.stop} of dimension {dim} is outside {tensor!r}")
            offset += start * stride
            if step is None or step == 1:
                new_shape.append(stop - start)
                new_strides.append(stride)
            else:
                if step < 1:
                    raise invalid(f"slice step {step} of {tensor!r} must be at least 1")
                new_shape.append((stop - start + step - 1) // step)
                new_strides.append(stride * step)
        elif kind is int:
            at = item if item >= 0 else item + size
            if not 0 <= at < size:
                raise invalid(f"index {item} of dimension {dim} is outside {tensor!r}")
            offset += at * stride
            if on_chip and dim == 0:
                new_shape.append(1)
                new_strides.append(stride)
        elif kind is DynamicSlice:
            start = item.start
            if type(start) is not int:
                index, start = _at_run_time(start)
                if index is not None:
                    dynamic += (Dynamic(stride, index),)
            if start < 0 or start + item.size > size or item.size < 1:
                raise invalid(f"ds({start}, {item.size}) of dimension {dim} is outside {tensor!r}")
            offset += start * stride
            new_shape.append(item.size)
            new_strides.append(stride)
        elif item is Ellipsis:
            new_shape.append(size)
            new_strides.append(stride)
        else:
            index, at = _at_run_time(item)
            if index is None:
                return tensor[tuple(at if part is item else part for part in key)]
            dynamic += (Dynamic(stride, index),)
        dim += 1
    if on_chip:
        if len(new_shape) < 2 <= len(shape):
            new_shape.append(1)
            new_strides.append(1)
    elif not new_shape:
        new_shape.append(1)
        new_strides.append(1)
    made = tensor.__class__(tensor.storage, offset, tuple(new_shape), tuple(new_strides), tensor.dtype, dynamic)
    if tensor._access is True:
        made._access = True
    return made


def _full_key(tensor: NkiTensor, key: tuple) -> tuple:
    missing = len(tensor.shape) - len(key)
    dots = [place for place, item in enumerate(key) if item is Ellipsis]
    if len(dots) > 1:
        raise invalid("an index holds at most one '...'")
    if dots:
        return key[: dots[0]] + (slice(None),) * (missing + 1) + key[dots[0] + 1 :]
    if missing < 0:
        raise invalid(f"{len(key)} indices for the {tensor.ndim} dimensions of {tensor!r}")
    return key + (slice(None),) * missing


def _at_run_time(value: Any) -> tuple[Access | None, int]:
    """What reads an index at run time, or None and the index itself."""
    from simulator.nki.tensor import index_access, is_index

    return (index_access(value), 0) if is_index(value) else (None, as_int(value))
