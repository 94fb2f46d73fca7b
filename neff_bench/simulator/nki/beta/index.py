"""Holds affine index expressions: what `nl.arange` and `nl.mgrid` make and tensors are indexed by."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from operator import index as as_int
from typing import Any

from neff_bench.simulator.nki.beta.mask import Mask
from neff_bench.simulator.program import Access, Dynamic
from neff_bench.simulator.recording.recorder import invalid, not_modelled
from neff_bench.simulator.recording.tensor import NkiTensor, access


class Index:
    """`start + sum(steps[axis] * i[axis])` over the axes of `shape`. Comparisons give masks.

    `moved`: a tile of one element that is added at run time.
    """

    __slots__ = ("moved", "shape", "start", "steps")
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self, shape: tuple[int, ...], steps: tuple[int, ...], start: int, moved: NkiTensor | None = None
    ) -> None:
        self.shape = shape
        self.steps = steps
        self.start = start
        self.moved = moved

    def __getitem__(self, key: Any) -> Index:
        """Return `[:, None]` and the like: new axes of size one; a slice takes a part of an axis."""
        shape, steps, axis, start = [], [], 0, self.start
        for item in key if isinstance(key, tuple) else (key,):
            if item is None:
                shape.append(1)
                steps.append(0)
            elif isinstance(item, slice):
                first, stop, step = item.indices(self.shape[axis])
                if stop <= first or step < 1:
                    raise invalid(f"slice {item.start}:{item.stop} of an index of {self.shape[axis]} is empty")
                shape.append(-(-(stop - first) // step))
                steps.append(self.steps[axis] * step)
                start += first * self.steps[axis]
                axis += 1
            else:
                raise invalid(f"an index is indexed by slices and None, not by {item!r}")
        return Index((*shape, *self.shape[axis:]), (*steps, *self.steps[axis:]), start, self.moved)

    def broadcast_to(self, shape: tuple[int, ...]) -> Index:
        """Return the index of this shape under numpy's broadcasting rules."""
        if broadcast_shapes(self.shape, shape) != shape:
            raise invalid(f"an index of {list(self.shape)} does not become one of {list(shape)}")
        return Index(shape, tuple(padded(self.steps, len(shape))), self.start, self.moved)

    def bounds(self) -> tuple[int, int]:
        """Return the least and the largest number."""
        ends = [step * (size - 1) for step, size in zip(self.steps, self.shape)]
        return self.start + sum(end for end in ends if end < 0), self.start + sum(end for end in ends if end > 0)

    def last(self) -> int:
        """Return the number at the end of every axis."""
        return self.start + sum(step * (size - 1) for step, size in zip(self.steps, self.shape))

    def __iter__(self) -> Any:
        raise invalid("an index stands for many numbers; a loop goes through nl.affine_range or range")

    def __add__(self, other: Any) -> Index:
        if hasattr(other, "read"):
            return self._moved_by(other.read())
        if not isinstance(other, Index):
            return Index(self.shape, self.steps, self.start + _number(other, "the sum of an index and"), self.moved)
        if other.moved is not None:
            return self._moved_by(other.moved) + Index(other.shape, other.steps, other.start)
        shape = broadcast_shapes(self.shape, other.shape)
        pairs = zip(padded(self.steps, len(shape)), padded(other.steps, len(shape)))
        return Index(shape, tuple(first + second for first, second in pairs), self.start + other.start, self.moved)

    __radd__ = __add__

    def _moved_by(self, tile: NkiTensor) -> Index:
        if len(self.shape) == tile.ndim > 1 and self.shape[0] == 1 < tile.shape[0]:
            raise invalid(f"an index of one row does not go with {tile!r}; give it as many rows, by nl.mgrid")
        if self.moved is not None or tile.size != 1:
            raise not_modelled(f"an index that is moved at run time by {tile!r}, or more than once,")
        return Index(self.shape, self.steps, self.start, tile)

    def __mul__(self, factor: Any) -> Index:
        if isinstance(factor, Index) or self.moved is not None:
            raise not_modelled("the product of two indices")
        by = _number(factor, "the product of an index and")
        return Index(self.shape, tuple(step * by for step in self.steps), self.start * by)

    __rmul__ = __mul__

    def __neg__(self) -> Index:
        return self * -1

    def __sub__(self, other: Any) -> Index:
        return self.__add__(other * -1)

    def __rsub__(self, other: Any) -> Index:
        return (self * -1).__add__(other)

    def __ge__(self, other: Any) -> Mask:
        if self.moved is not None or getattr(other, "moved", None) is not None:
            raise not_modelled("a mask that run-time values decide")
        return Mask((self - other,))

    def __gt__(self, other: Any) -> Mask:
        return Mask((self - other - 1,))

    def __le__(self, other: Any) -> Mask:
        return Mask((other - self,))

    def __lt__(self, other: Any) -> Mask:
        return Mask((other - self - 1,))

    def __eq__(self, other: object) -> Mask:  # type: ignore[override]
        return Mask((self - other, other - self))

    def __ne__(self, other: object) -> Any:
        raise not_modelled("a mask of unequal indices")

    def __bool__(self) -> bool:
        raise invalid("an index stands for many numbers; it cannot steer Python")

    def __floordiv__(self, divisor: Any) -> Index:
        return self._divided(divisor)[0]

    def __mod__(self, divisor: Any) -> Index:
        return self._divided(divisor)[1]

    def __divmod__(self, divisor: Any) -> tuple[Index, Index]:
        return self._divided(divisor)

    def _divided(self, divisor: Any) -> tuple[Index, Index]:
        """Return quotient and rest. They are affine where all steps that the divisor does not divide stay between two of its multiples."""
        by = _number(divisor, "the division of an index by")
        if by < 1 or self.moved is not None:
            self._not_affine()
        whole = tuple(0 if step % by else step // by for step in self.steps)
        rest = Index(self.shape, tuple(step if step % by else 0 for step in self.steps), self.start)
        least, most = rest.bounds()
        if least // by != most // by:
            self._not_affine()
        return Index(self.shape, whole, least // by), rest - least // by * by

    def _not_affine(self, *_: Any) -> Any:
        raise not_modelled("an index that is divided or taken modulo, and is not affine then,")

    __truediv__ = __rfloordiv__ = __rmod__ = __pow__ = _not_affine

    def within(self, box: tuple[tuple[int, int], ...]) -> Index:
        """Return the part of the axes that `box` holds; axes of size one stay."""
        shape, start = list(self.shape), self.start
        for axis in range(1, len(shape) + 1):
            first, stop = box[-axis]
            if shape[-axis] > 1:
                shape[-axis] = stop - first
                start += first * self.steps[-axis]
        return Index(tuple(shape), self.steps, start, self.moved)


def _number(value: Any, what: str) -> int:
    try:
        return as_int(value)
    except TypeError:
        raise invalid(f"{what} {value!r}: a whole number is expected") from None


def whole_numbers(what: str, sizes: tuple[Any, ...]) -> tuple[int, ...]:
    """Return the sizes without what `par_dim` and loop indices say beyond their number, also of divisions without a rest: public
    kernels write `rows / 2`. Raises where one is no whole number."""
    try:
        return tuple(int(size) if type(size) is float and size.is_integer() else int(as_int(size)) for size in sizes)
    except TypeError:
        raise invalid(f"{what} is made of whole numbers, not {list(sizes)!r}") from None


class Mesh(tuple[Any, ...]):
    """Holds what `nl.mgrid[...]` gives: one index for each dimension, the first of them also as `p`, the others as `x` to `w`."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Index:
        place = "pxyzw".find(name)
        if not 0 <= place < len(self) or len(name) != 1:
            raise invalid(f"an index grid of {len(self)} dimensions has no {name!r}")
        found: Index = self[place]
        return found


class Grid:
    """`nl.mgrid[0:a, 0:b]`: indices that all have the shape (a, b), as those of numpy.mgrid."""

    def __getitem__(self, key: Any) -> Mesh:
        slices = key if isinstance(key, tuple) else (key,)
        ranges = []
        for item in slices:
            if not isinstance(item, slice):
                raise invalid(f"nl.mgrid is indexed by slices, not by {item!r}")
            first, stop = _number(item.start or 0, "nl.mgrid from"), _number(item.stop, "nl.mgrid up to")
            step = _number(1 if item.step is None else item.step, "nl.mgrid in steps of")
            if stop <= first or step < 1:
                raise invalid(f"nl.mgrid[{first}:{stop}:{step}] is empty")
            ranges.append(range(first, stop, step))
        shape, axes = tuple(map(len, ranges)), range(len(ranges))
        return Mesh(
            Index(shape, tuple(one.step * (at == axis) for at in axes), one.start) for axis, one in enumerate(ranges)
        )


def arange(start: int, stop: int | None = None) -> Index:
    """Return the indices `start` to `stop` (or 0 to `start`) as one dimension."""
    first, last = (0, start) if stop is None else (start, stop)
    first, last = _number(first, "nl.arange from"), _number(last, "nl.arange up to")
    if last <= first:
        raise invalid(f"nl.arange({first}, {last}) is empty")
    return Index((last - first,), (1,), first)


@lru_cache(maxsize=4096)
def broadcast_shapes(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that two shapes have together under numpy's rules. Raises where a size differs and is not 1."""
    rank = max(len(first), len(second))
    pairs = zip((1,) * (rank - len(first)) + first, (1,) * (rank - len(second)) + second)
    shape = []
    for one, other in pairs:
        if one != other and 1 not in (one, other):
            raise invalid(f"indices of shapes {list(first)} and {list(second)} do not go together")
        shape.append(max(one, other))
    return tuple(shape)


def padded(steps: tuple[int, ...], rank: int) -> tuple[int, ...]:
    """Return steps for `rank` dimensions: 0 for those that are put before."""
    return (0,) * (rank - len(steps)) + steps


def selected_shape(tensor: NkiTensor, key: tuple[Any, ...]) -> tuple[int, ...]:
    """Return the shape that one index, number or tile of indices for each dimension selects."""
    if len(key) != tensor.ndim:
        raise not_modelled(f"{len(key)} affine indices of the {tensor.ndim} dimensions of {tensor!r}")
    shape: tuple[int, ...] = ()
    for item in key:
        if isinstance(item, (Index, NkiTensor)):
            shape = broadcast_shapes(shape, item.shape)
        elif not isinstance(item, int):
            raise not_modelled(f"{item!r} beside affine indices")
    return shape


def reaches_out(tensor: NkiTensor, items: tuple[Any, ...]) -> bool:
    """Return whether a slice ends outside: only a mask makes that right."""
    return len(items) <= tensor.ndim and any(
        isinstance(item, slice) and isinstance(item.stop, int) and item.stop > size and item.step in (None, 1)
        for item, size in zip(items, tensor.shape)
    )


def rows_within(indices: NkiTensor, box: tuple[tuple[int, int], ...]) -> NkiTensor:
    """Return the indices of the partitions that `box` holds."""
    return indices.slice(0, *box[0]) if indices.shape[0] > 1 else indices


def take(tensor: NkiTensor, key: tuple[Any, ...]) -> NkiTensor:
    """Return the view that one index or number for each dimension selects. Raises when an element is outside."""
    shape = selected_shape(tensor, key)
    offset, strides = tensor.offset, [0] * len(shape)
    dynamic = tensor.dynamic
    for dim, item in enumerate(key):
        if isinstance(item, NkiTensor):
            dynamic += (Dynamic(tensor.strides[dim], _rows(item, shape)),)
            continue
        index = item if isinstance(item, Index) else Index((), (), item)
        least, most = index.bounds()
        if index.moved is not None:
            dynamic += (Dynamic(tensor.strides[dim], access(index.moved)),)
        elif least < 0 or most >= tensor.shape[dim]:
            raise invalid(f"index {least} to {most} of dimension {dim} is outside {tensor!r}")
        offset += index.start * tensor.strides[dim]
        strides = [
            stride + step * tensor.strides[dim] for stride, step in zip(strides, padded(index.steps, len(shape)))
        ]
    return NkiTensor(tensor.storage, offset, shape, tuple(strides), tensor.dtype, dynamic)


def _rows(tile: NkiTensor, shape: tuple[int, ...]) -> Access:
    """Return what reads an index at run time: one for each partition of what `shape` selects, or one for all."""
    if not tile.on_chip:
        raise invalid(f"indices are read from SBUF; {tile!r} is in HBM")
    if tile.size > 1 and (prod(tile.shape[1:]) > 1 or tile.ndim != len(shape)):
        raise not_modelled(f"indices in {tile!r}: more than one in a partition")
    return access(tile)
