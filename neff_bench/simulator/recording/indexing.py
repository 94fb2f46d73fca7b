"""Indexes tensors: by integers, slices, `...`, `nl.ds`, and indices that are known at run time only."""

from __future__ import annotations

from operator import index as as_int
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from neff_bench.simulator.program import Access, Dynamic
from neff_bench.simulator.recording.numbers import whole_number
from neff_bench.simulator.recording.recorder import invalid

if TYPE_CHECKING:
    from typing_extensions import Self  # typing has it from Python 3.11

T = TypeVar("T", bound="Indexed")


class Indexed(Protocol):
    """Holds what an index needs of a tensor."""

    storage: Any
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    dynamic: tuple[Dynamic, ...]
    dtype: str
    _access: Any

    def __getitem__(self, key: Any) -> Self:
        """Return the view that an index names."""


class DynamicSlice:
    """`nl.ds(start, size)`; `start` is a number, or a tensor of one element or a register for a run-time address."""

    __slots__ = ("size", "start")

    def __init__(self, start: Any, size: int) -> None:
        self.start = start
        self.size = whole_number("the size of nl.ds", size)


def getitem(tensor: T, key: Any) -> T:
    """Return `tensor[key]`: numpy's rules for HBM; on chip an index keeps the partition dimension, and two dimensions stay. A slice may be
    empty; no instruction takes it. A range is the slice with its bounds, also as `nl.affine_range` (docs/model.md, Evidence)."""
    if type(key) is not tuple:
        key = (key,)
    shape = tensor.shape
    if len(key) != len(shape):
        key = _full_key(tensor, key)
    storage = tensor.storage
    on_chip = storage.memory != "hbm"
    # One partition on chip is a tile of one partition: no instruction takes a tile without its partition dimension.
    if on_chip and type(key[0]) is int:
        row = _index(tensor, key[0], shape[0])
        key = (slice(row, row + 1), *key[1:])
    offset = tensor.offset
    dynamic = tensor.dynamic
    sizes: list[int] = []
    strides: list[int] = []
    for item, size, stride in zip(key, shape, tensor.strides):
        kind = type(item)
        if kind is slice:
            start = item.start
            stop = item.stop
            # Most slices of real kernels are plain and inside, so these are told without a call.
            if (
                type(start) is not int
                or type(stop) is not int
                or item.step is not None
                or not 0 <= start < stop <= size
            ):
                start, count, step = _slice(tensor, item, size)
                sizes.append(count)
                strides.append(stride * step)
            else:
                sizes.append(stop - start)
                strides.append(stride)
            if start:
                offset += start * stride
        elif kind is int:
            if not 0 <= item < size:
                item = _index(tensor, item, size)
            offset += item * stride
        elif kind is DynamicSlice:
            start = item.start
            if type(start) is not int:
                # A register adds to the address when the instruction runs; what is known now adds to the offset.
                index, start = _at_run_time(start)
                if index is not None:
                    dynamic += (Dynamic(stride, index),)
            if start < 0 or start + item.size > size or item.size < 0:
                raise invalid(f"ds({start}, {item.size}) of a dimension of {size} is outside {tensor!r}")
            offset += start * stride
            sizes.append(item.size)
            strides.append(stride)
        elif item is Ellipsis:
            sizes.append(size)
            strides.append(stride)
        elif kind is range:
            return tensor[tuple(slice(at.start, at.stop, at.step) if type(at) is range else at for at in key)]
        else:
            index, at = _at_run_time(item)
            if index is None:
                return tensor[tuple(at if part is item else part for part in key)]
            dynamic += (Dynamic(stride, index),)
    # The view stays a tile: two dimensions on chip, one in HBM.
    if len(sizes) < 2 and (not sizes or (on_chip and len(shape) > 1)):
        sizes.append(1)
        strides.append(1)
    unchecked = tensor._access is True or 0 in sizes or None
    view: T = tensor.__class__(storage, offset, tuple(sizes), tuple(strides), tensor.dtype, dynamic, unchecked)  # type: ignore[call-arg]
    return view


def _index(tensor: Indexed, index: int, size: int) -> int:
    """Return `index` counted from the start of a dimension of `size`. Raises when it is outside."""
    if not -size <= index < size:
        raise invalid(f"index {index} of a dimension of {size} is outside {tensor!r}")
    return index % size


def _slice(tensor: Indexed, part: slice, size: int) -> tuple[int, int, int]:
    """Return start, number of elements and step of a slice of a dimension of `size`. Raises where numpy would cut it short."""
    start = 0 if part.start is None else whole_number("the start of a slice", part.start)
    stop = size if part.stop is None else whole_number("the end of a slice", part.stop)
    step = 1 if part.step is None else whole_number("the step of a slice", part.step)
    start, stop = (at + size if at < 0 else at for at in (start, stop))
    if start < 0 or stop > size or start > stop:
        raise invalid(f"slice {part.start}:{part.stop} of a dimension of {size} is outside {tensor!r}")
    if step < 1:
        raise invalid(f"slice step {step} of {tensor!r} must be at least 1")
    return start, -(-(stop - start) // step), step


def _full_key(tensor: Indexed, key: tuple[Any, ...]) -> tuple[Any, ...]:
    missing = len(tensor.shape) - len(key)
    dots = [place for place, item in enumerate(key) if item is Ellipsis]
    if len(dots) > 1:
        raise invalid("an index holds at most one '...'")
    if dots:
        return key[: dots[0]] + (slice(None),) * (missing + 1) + key[dots[0] + 1 :]
    if missing < 0:
        raise invalid(f"{len(key)} indices for the {len(tensor.shape)} dimensions of {tensor!r}")
    return key + (slice(None),) * missing


def _at_run_time(value: Any) -> tuple[Access | None, int]:
    """Return what reads an index at run time (of a tensor or a register), or None and the index itself."""
    read = getattr(value, "index_access", None)
    if read is not None:
        return read(), 0
    try:
        return None, as_int(value)
    except TypeError:
        raise invalid(f"{value!r} is no index: a number, a slice, nl.ds or a run-time index is expected") from None
