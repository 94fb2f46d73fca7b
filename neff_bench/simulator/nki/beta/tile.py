"""Provides tiles with operators: views of the current dialect in the clothes of the old one."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from operator import index as as_int
from typing import Any

from neff_bench.simulator.errors import MissingAttribute
from neff_bench.simulator.nki import isa
from neff_bench.simulator.nki import language as nl
from neff_bench.simulator.nki.beta import psum
from neff_bench.simulator.nki.beta.index import Index, reaches_out, rows_within, selected_shape, take, whole_numbers
from neff_bench.simulator.nki.beta.mask import Box, Either, Mask, boxes, whole
from neff_bench.simulator.nki.beta.precision import of_result
from neff_bench.simulator.nki.beta.results import Made, accumulate, born, take_over
from neff_bench.simulator.nki.beta.views import of_one_rank, same_view, write
from neff_bench.simulator.nki.language import tiles
from neff_bench.simulator.nki.language.broadcasting import operand
from neff_bench.simulator.recording import check
from neff_bench.simulator.recording.dtype_names import Dtype
from neff_bench.simulator.recording.indexing import DynamicSlice
from neff_bench.simulator.recording.recorder import here, invalid, not_modelled, recorder
from neff_bench.simulator.recording.refused import refuse
from neff_bench.simulator.recording.tensor import NkiTensor

_METHODS_OF_AWS = frozenset({"T", "bitcast", "view_as"})


class Tile:
    """A view, or a part of `base` that affine indices select: its bounds are checked when it is used.

    `made`: what computed the tile, as long as nothing has read it. `only`: the boxes that a mask let be written.
    """

    __slots__ = ("_view", "base", "key", "made", "only")
    __hash__ = object.__hash__

    def __init__(
        self,
        view: NkiTensor | None,
        made: Made | None = None,
        base: NkiTensor | None = None,
        key: tuple[Any, ...] = (),
        only: list[Box] | None = None,
    ) -> None:
        self._view = view
        self.made = made
        self.only = only
        self.base = base
        self.key = key

    def own(self) -> NkiTensor:
        """Return the view, whatever is done with it."""
        if self._view is None and self.base is not None:
            self._view = take(self.base, self.key)
        view: NkiTensor = self._view  # type: ignore[assignment]
        return view

    place = own
    """The view as the place of a result."""

    def share(self) -> NkiTensor:
        """Return the view, for another view of the same memory."""
        view, made = self.own(), self.made
        if made is not None:
            self.made = None
            if made.moved is not None:
                made.restore(view)
        return view

    def read(self) -> NkiTensor:
        """Return the view as an operand."""
        view = self.share()
        if view.storage.memory == "psum":
            psum.settle(view)
        return view

    def within(self, box: Box) -> Tile:
        """Return the part that `box` holds; dimensions of size one stay."""
        if self._view is None and self.base is not None:
            key = tuple(
                item.within(box) if isinstance(item, Index) else rows_within(item, box)
                if isinstance(item, NkiTensor) else item
                for item in self.key
            )  # fmt: skip
            return Tile(None, None, self.base, key)
        view = self.own()
        for dim, (first, stop) in enumerate(box):
            if view.shape[dim] > 1 and (first, stop) != (0, view.shape[dim]):
                view = view.slice(dim, first, stop)
        return Tile(view)

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements along each dimension."""
        if self._view is None and self.base is not None:
            return selected_shape(self.base, self.key)
        return self.own().shape

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def _source(self) -> NkiTensor:
        return self.base if self._view is None and self.base is not None else self.own()

    @property
    def dtype(self) -> Dtype:
        """The canonical dtype; `X.dtype.itemsize` is its size, as of numpy's types."""
        return Dtype(self._source.dtype)

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self._source.itemsize

    @property
    def buffer(self) -> Any:
        """The memory region."""
        return self._source.buffer

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Any:
        raise invalid(f"{self!r} cannot be iterated over; index it instead")

    def __bool__(self) -> bool:
        # A tensor that was given: `nl.load(x) if x else None` (AWS docs nki.isa.tensor_scalar_cumulative).
        if self._source.storage.memory == "hbm":
            return True
        raise invalid(f"the value of {self!r} is not known while the kernel is recorded; it cannot steer Python")

    def __repr__(self) -> str:
        return repr(self._source)

    def __getattr__(self, name: str) -> Any:
        if name in _METHODS_OF_AWS:
            raise not_modelled(f"the tile's {name!r}")
        raise MissingAttribute(f"a tile of neuronxcc.nki has no attribute {name!r}", here())

    def __getitem__(self, key: Any) -> Tile:
        if isinstance(key, (bool, Mask, Either)):
            return self._where(key)
        items = key if isinstance(key, tuple) else (key,)
        if any(item is None for item in items):
            return self._expanded(items)
        if self._view is None and self.base is not None and (box := _box(items, self.shape)) is not None:
            return self.within(box)
        view = self.share()
        if any(isinstance(item, Index) or _is_indices(item) for item in items) or reaches_out(view, items):
            return Tile(None, None, view, tuple(_affine(view, items)))
        found = view[tuple(_plain_item(item) for item in items)]
        one = view.on_chip and found.size == 1 and all(isinstance(item, int) for item in items)
        return Element(found) if one else Tile(found)

    def _where(self, mask: Any) -> Tile:
        """Return `tile[i < n]`, as kernels inside AWS's compiler write a mask of an operand."""
        if boxes(mask, self.shape) != [whole(self.shape)]:
            raise not_modelled(f"a mask as the index of {self!r}, some of whose elements it leaves out; give mask=")
        return self

    def _expanded(self, items: tuple[Any, ...]) -> Tile:
        """Return `[:, None]`: new dimensions of size one."""
        found = self[tuple(item for item in items if item is not None)].share()
        for place, item in enumerate(items):
            if item is None:
                found = found.expand_dim(place)
        return Tile(found)

    def __setitem__(self, key: Any, value: Any) -> None:
        assign(self[key] if not (key is Ellipsis or (isinstance(key, slice) and key == slice(None))) else self, value)

    def __iadd__(self, other: Any) -> Tile:
        if isinstance(other, Tile) and accumulate(self, other):
            return self
        return self._combine("add", other)

    def __isub__(self, other: Any) -> Tile:
        return self._combine("subtract", other)

    def __imul__(self, other: Any) -> Tile:
        return self._combine("multiply", other)

    def __itruediv__(self, other: Any) -> Tile:
        return self._combine("divide", other)

    def _combine(self, name: str, other: Any) -> Tile:
        """Compute `self` = `self` op `other`, in place; where a mask made `other`, only what it let be written."""
        if isinstance(other, Tile) and other.only is not None and other.shape == self.shape:
            for box in other.only:
                self.within(box)._combine(name, other.within(box))
            return self
        mine = self.read()
        value = other.read() if isinstance(other, Tile) else other
        if isinstance(value, NkiTensor):
            same = value.shape == mine.shape or value.ndim != mine.ndim
            isa.tensor_tensor(mine, mine, value if same else operand(value, mine.shape), name)
        else:
            isa.tensor_scalar(mine, mine, name, value)
        psum.wrote(mine)
        return self

    def __neg__(self) -> Tile:
        found: Tile = result(lambda: tiles.apply("negative", (self.read(),), None))
        return found

    def reshape(self, shape: Any, *more: int) -> Tile:
        """Return the same elements under another shape."""
        sizes = shape if isinstance(shape, (tuple, list)) else (shape, *more)
        return Tile(self.share().reshape(whole_numbers("a shape", tuple(sizes))))

    def broadcast_to(self, shape: Any, *more: int) -> Tile:
        """Return the tile under numpy's broadcasting rules."""
        sizes = (shape, *more) if isinstance(shape, int) else tuple(shape)
        return result(lambda: nl.broadcast_to(self.read(), sizes))

    def as_tile(self) -> Tile:
        """Return the selected elements as an operand: the tile itself. AWS does not document the method."""
        return self

    def expand_dims(self, axis: int) -> Tile:
        """Return the tile with a new dimension of size 1 at `axis`."""
        return Tile(self.share().expand_dim(axis))

    def assert_shape(self, shape: Any) -> Tile:
        """Return the tile itself. Raises NkiValidationError when it has another shape."""
        if tuple(map(int, shape)) != self.shape:
            raise invalid(f"the shape is {list(self.shape)}, not {list(shape)}")
        return self

    def view(self, dtype: Any) -> Tile:
        """Return the same bytes as another dtype."""
        return Tile(self.share().view(dtype))

    def astype(self, dtype: Any) -> Tile:
        """Return a copy in another dtype."""
        return result(lambda: _cast(self.read(), dtype))


class Element(Tile):
    """One element of a tile, chosen by numbers: as an index it takes its dimension away, as a number does."""

    __slots__ = ()


def _is_indices(item: Any) -> bool:
    return isinstance(item, Tile) and not isinstance(item, Element)


def _cast(view: NkiTensor, dtype: Any) -> NkiTensor:
    made = nl.ndarray(view.shape, dtype)
    isa.tensor_copy(made, view)
    return made


def _operator(name: str, reverse: bool = False) -> Any:
    def method(self: Tile, other: Any) -> Any:
        if isinstance(other, Index):
            return NotImplemented  # the index adds the tile to itself
        first, second = (other, self) if reverse else (self, other)
        kind = of_result(name, (first, second))
        return result(lambda: tiles.apply(name, of_one_rank(plain(first), plain(second)), kind))

    return method


for _name, _word in {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "pow": "power", "and": "bitwise_and",
    "or": "bitwise_or", "xor": "bitwise_xor", "mod": "mod",
}.items():  # fmt: skip
    setattr(Tile, f"__{_name}__", _operator(_word))
    setattr(Tile, f"__r{_name}__", _operator(_word, reverse=True))


def _comparison(name: str) -> Any:
    compare = _operator(name)

    def method(self: Tile, other: Any) -> Any:
        return compare(self, other) if isinstance(other, (Tile, NkiTensor, Real, Index)) else NotImplemented

    return method


for _name, _word in {"eq": "equal", "ne": "not_equal"}.items():
    setattr(Tile, f"__{_name}__", _comparison(_word))
for _name, _word in {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}.items():
    setattr(Tile, f"__{_name}__", _operator(_word))


refuse(Tile, "a tile of neuronxcc.nki")


def result(compute: Callable[..., Any]) -> Tile:
    """Return the tile that `compute` returns as a view, with what made it; also inside lists and tuples."""
    since = len(recorder().instructions)
    found = compute()
    if isinstance(found, NkiTensor):
        if len(recorder().instructions) > since:
            psum.wrote(found)
        return Tile(found, born(found, since))
    inside: Tile = dressed(found)
    return inside


def assign(target: Tile, value: Any) -> None:
    """Do `target[...] = value`."""
    if isinstance(value, Tile):
        if value is target or take_over(target, value):
            return
        if value.only is not None and value.shape == target.shape:
            for box in value.only:
                write(target.within(box).place(), value.within(box).read())
            return
        if same_view(value.own(), target.place()):
            return
        write(target.place(), value.read())
    else:
        write(target.place(), plain(value))


def _box(items: tuple[Any, ...], shape: tuple[int, ...]) -> Box | None:
    """Return what slices without steps choose of a shape; None for anything else, and where they end outside of it."""
    every = (*items, *(slice(None),) * (len(shape) - len(items)))
    if len(every) != len(shape) or not all(isinstance(item, slice) and item.step in (None, 1) for item in every):
        return None
    ends = [(item.start or 0, size if item.stop is None else item.stop) for item, size in zip(every, shape)]
    inside = all(isinstance(end, int) and 0 <= end <= size for both, size in zip(ends, shape) for end in both)
    return tuple(ends) if inside and all(first < stop for first, stop in ends) else None


def _plain_item(item: Any) -> Any:
    if isinstance(item, int):
        return item
    if isinstance(item, Tile):
        return item.read()
    if item is Ellipsis or isinstance(item, (slice, NkiTensor)) or item is None:
        return item
    if isinstance(item, DynamicSlice):
        return DynamicSlice(_plain_item(item.start), item.size)
    try:
        return as_int(item)
    except TypeError:
        raise invalid(
            f"{check.shown(item)} cannot index a tile: a number, a slice, nl.ds or nl.arange is expected"
        ) from None


def _affine(view: NkiTensor, items: tuple[Any, ...]) -> list[Any]:
    """Return slices outside the tensor, or beside a tile of indices, as indices of their own axes; such a tile has the first.

    Raises for slices beside affine indices: AWS docs nki/api/nki.errors.rst, unsupported_mixing_basic_advanced_tensor_indexing.
    """
    by_tile = any(_is_indices(item) for item in items)
    if by_tile:
        items = (*items, *(slice(None),) * (view.ndim - len(items)))
    if not any(isinstance(item, slice) for item in items):
        return [item if isinstance(item, Index) else _plain_item(item) for item in items]
    if any(isinstance(item, Index) for item in items):
        raise invalid("a slice beside indices of nl.arange or nl.mgrid; the compiler takes the one or the other")
    items = (*items, *(slice(None),) * (view.ndim - len(items)))
    rank = sum(isinstance(item, slice) for item in items) + by_tile
    made: list[Any] = []
    axis = int(by_tile)
    for item, size in zip(items, view.shape):
        if not isinstance(item, slice):
            made.append(_plain_item(item))
            continue
        start, stop = item.start or 0, size if item.stop is None else item.stop
        shape = tuple(stop - start if at == axis else 1 for at in range(rank))
        made.append(Index(shape, tuple(int(at == axis) for at in range(rank)), start))
        axis += 1
    return made


def plain(value: Any) -> Any:
    """Return the view inside a tile as an operand, also inside lists, tuples and dicts; anything else as it is."""
    if isinstance(value, Tile):
        return value.read()
    if type(value) in (list, tuple):
        return type(value)(plain(item) for item in value)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


def dressed(value: Any) -> Any:
    """Return a tile for a view, also inside lists and tuples; anything else as it is."""
    if isinstance(value, NkiTensor):
        return Tile(value)
    if type(value) in (list, tuple):
        return type(value)(dressed(item) for item in value)
    return value
