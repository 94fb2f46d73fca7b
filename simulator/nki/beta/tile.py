"""Tiles with operators: views of the current dialect in the clothes of the old one."""

from __future__ import annotations

from typing import Any

from neff_bench.simulator.nki import isa
from neff_bench.simulator.nki import language as nl
from neff_bench.simulator.nki.beta.index import Index, take
from neff_bench.simulator.nki.language import tiles
from neff_bench.simulator.recording.recorder import not_modelled
from neff_bench.simulator.recording.tensor import NkiTensor


class Tile:
    """`view`, of which dimensions 1 to `blocks` are the block dimensions that a kernel writes before the partition."""

    __slots__ = ("blocks", "view")

    def __init__(self, view: NkiTensor, blocks: int = 0) -> None:
        self.view = view
        self.blocks = blocks

    @property
    def shape(self) -> tuple[int, ...]:
        shape, blocks = self.view.shape, self.blocks
        return (*shape[1 : blocks + 1], shape[0], *shape[blocks + 1 :])

    @property
    def dtype(self) -> str:
        return self.view.dtype

    @property
    def buffer(self) -> Any:
        return self.view.buffer

    def __getitem__(self, key: Any) -> Tile:
        items = key if isinstance(key, tuple) else (key,)
        if self.blocks:
            if not all(isinstance(item, int) for item in items[: self.blocks]):
                raise not_modelled("a block dimension indexed by more than one number")
            if len(items) <= self.blocks:
                items = (*items, slice(None))
            items = (items[self.blocks], *items[: self.blocks], *items[self.blocks + 1 :])
        if any(isinstance(item, Index) for item in items):
            return Tile(take(self.view, items))
        return Tile(self.view[items])

    def __setitem__(self, key: Any, value: Any) -> None:
        target = self[key].view
        source = plain(value)
        if isinstance(source, NkiTensor) and same_view(source, target):
            return
        write(target, source)

    def __iadd__(self, other: Any) -> Tile:
        isa.tensor_tensor(self.view, self.view, plain(other), "add")
        return self

    def reshape(self, shape: Any) -> Tile:
        return Tile(self.view.reshape(shape))

    def broadcast_to(self, shape: Any) -> Tile:
        return Tile(nl.broadcast_to(self.view, shape))

    def __add__(self, other: Any) -> Tile:
        return _apply("add", self, other)

    def __radd__(self, other: Any) -> Tile:
        return _apply("add", other, self)

    def __sub__(self, other: Any) -> Tile:
        return _apply("subtract", self, other)

    def __rsub__(self, other: Any) -> Tile:
        return _apply("subtract", other, self)

    def __mul__(self, other: Any) -> Tile:
        return _apply("multiply", self, other)

    def __rmul__(self, other: Any) -> Tile:
        return _apply("multiply", other, self)

    def __truediv__(self, other: Any) -> Tile:
        return _apply("divide", self, other)

    def __neg__(self) -> Tile:
        return Tile(tiles.apply("negative", (self.view,), None))


def _apply(name: str, first: Any, second: Any) -> Tile:
    return Tile(tiles.apply(name, (plain(first), plain(second)), None))


def plain(value: Any) -> Any:
    """The view inside a tile, also inside lists, tuples and dicts; anything else as it is."""
    if isinstance(value, Tile):
        return value.view
    if isinstance(value, (list, tuple)):
        return type(value)(plain(item) for item in value)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


def dressed(value: Any) -> Any:
    """A tile for a view, also inside lists and tuples; anything else as it is."""
    if isinstance(value, NkiTensor):
        return Tile(value)
    if isinstance(value, (list, tuple)):
        return type(value)(dressed(item) for item in value)
    return value


def same_view(first: NkiTensor, second: NkiTensor) -> bool:
    return (first.storage, first.offset, first.shape, first.strides) == (
        second.storage,
        second.offset,
        second.shape,
        second.strides,
    )


def write(target: NkiTensor, source: Any) -> None:
    """Put a tile or a number into a view."""
    if not target.on_chip:
        nl.store(target, source)
    elif isinstance(source, NkiTensor):
        isa.tensor_copy(target, source)
    else:
        isa.memset(target, source)
