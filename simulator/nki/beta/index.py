"""Affine index expressions: what `nl.arange` and `nl.mgrid` make and tensors are indexed by."""

from __future__ import annotations

from typing import Any

from neff_bench.simulator.recording.recorder import invalid, not_modelled
from neff_bench.simulator.recording.tensor import NkiTensor


class Index:
    """`start + sum(steps[axis] * i[axis])` over the axes of `shape`."""

    __slots__ = ("shape", "start", "steps")

    def __init__(self, shape: tuple[int, ...], steps: tuple[int, ...], start: int) -> None:
        self.shape = shape
        self.steps = steps
        self.start = start

    def __getitem__(self, key: Any) -> Index:
        """`[:, None]` and the like: new axes of size one."""
        shape, steps, axis = [], [], 0
        for item in key if isinstance(key, tuple) else (key,):
            if item is None:
                shape.append(1)
                steps.append(0)
            elif item == slice(None):
                shape.append(self.shape[axis])
                steps.append(self.steps[axis])
                axis += 1
            else:
                raise not_modelled(f"indexing an index with {item!r}")
        return Index(tuple(shape), tuple(steps), self.start)

    def __add__(self, other: Any) -> Index:
        if isinstance(other, int):
            return Index(self.shape, self.steps, self.start + other)
        if not isinstance(other, Index):
            return NotImplemented
        shape = broadcast_shapes(self.shape, other.shape)
        pairs = zip(_padded(self.steps, len(shape)), _padded(other.steps, len(shape)))
        return Index(shape, tuple(first + second for first, second in pairs), self.start + other.start)

    __radd__ = __add__

    def __mul__(self, factor: Any) -> Index:
        if not isinstance(factor, int):
            raise not_modelled("the product of two indices")
        return Index(self.shape, tuple(step * factor for step in self.steps), self.start * factor)

    __rmul__ = __mul__

    def __sub__(self, other: Any) -> Index:
        return self + other * -1

    def __lt__(self, other: Any) -> Any:
        raise not_modelled("a mask")

    __le__ = __gt__ = __ge__ = __lt__


class Grid:
    """`nl.mgrid[0:a, 0:b]`: one index for each dimension."""

    def __getitem__(self, key: Any) -> tuple[Index, ...]:
        slices = key if isinstance(key, tuple) else (key,)
        rank = len(slices)
        made = []
        for axis, item in enumerate(slices):
            shape = tuple(item.stop - (item.start or 0) if at == axis else 1 for at in range(rank))
            made.append(Index(shape, tuple(int(at == axis) for at in range(rank)), item.start or 0))
        return tuple(made)


def arange(start: int, stop: int | None = None) -> Index:
    first, last = (0, start) if stop is None else (start, stop)
    return Index((last - first,), (1,), first)


def broadcast_shapes(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    rank = max(len(first), len(second))
    pairs = zip((1,) * (rank - len(first)) + first, (1,) * (rank - len(second)) + second)
    shape = []
    for one, other in pairs:
        if one != other and 1 not in (one, other):
            raise invalid(f"indices of shapes {list(first)} and {list(second)} do not go together")
        shape.append(max(one, other))
    return tuple(shape)


def _padded(steps: tuple[int, ...], rank: int) -> tuple[int, ...]:
    return (0,) * (rank - len(steps)) + steps


def take(tensor: NkiTensor, key: tuple) -> NkiTensor:
    """The view that one index or number for each dimension selects. Raises when an element is outside."""
    if len(key) != tensor.ndim:
        raise not_modelled(f"{len(key)} affine indices of the {tensor.ndim} dimensions of {tensor!r}")
    shape: tuple[int, ...] = ()
    for item in key:
        if isinstance(item, Index):
            shape = broadcast_shapes(shape, item.shape)
        elif not isinstance(item, int):
            raise not_modelled(f"{item!r} beside affine indices")
    offset, strides = tensor.offset, [0] * len(shape)
    for dim, item in enumerate(key):
        index = item if isinstance(item, Index) else Index((), (), item)
        steps, sizes = _padded(index.steps, len(shape)), _padded(index.shape, len(shape))
        reach = index.start + sum(step * (size - 1) for step, size in zip(steps, sizes) if step > 0)
        if not 0 <= index.start or reach >= tensor.shape[dim]:
            raise invalid(f"index {index.start} to {reach} of dimension {dim} is outside {tensor!r}")
        offset += index.start * tensor.strides[dim]
        strides = [stride + step * tensor.strides[dim] for stride, step in zip(strides, steps)]
    return NkiTensor(tensor.storage, offset, shape, tuple(strides), tensor.dtype)
