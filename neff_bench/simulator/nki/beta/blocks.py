"""Holds tensors with block dimensions: those before `par_dim`. Each block is a tile of its own, from where the kernel first touches it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from neff_bench.simulator.errors import MissingAttribute
from neff_bench.simulator.nki.beta.index import Index
from neff_bench.simulator.nki.beta.tile import Tile, _plain_item, assign
from neff_bench.simulator.recording.recorder import here, invalid, not_modelled


class Blocks:
    """`blocks`: the block dimensions that are still to be indexed, after the numbers `at`; `tile`: shape of a block."""

    def __init__(
        self,
        blocks: tuple[int, ...],
        tile: tuple[int, ...],
        dtype: str,
        buffer: Any,
        make: Callable[[tuple[int, ...]], Tile],
        made: dict[tuple[int, ...], Tile] | None = None,
        at: tuple[int, ...] = (),
    ) -> None:
        self.blocks = blocks
        self.tile = tile
        self.dtype = dtype
        self.buffer = buffer
        self.make = make
        self.made = {} if made is None else made
        self.at = at

    @property
    def shape(self) -> tuple[int, ...]:
        """Blocks along each dimension, then the elements of a block."""
        return (*self.blocks, *self.tile)

    @property
    def ndim(self) -> int:
        """Number of dimensions, of blocks and elements."""
        return len(self.shape)

    def __repr__(self) -> str:
        return f"blocks{list(self.blocks)} of {list(self.tile)}:{self.dtype}"

    def __getattr__(self, name: str) -> Any:
        raise MissingAttribute(f"a tensor with block dimensions has no attribute {name!r}", here())

    def __getitem__(self, key: Any) -> Any:
        items = self._items(key)
        if any(isinstance(item, slice) for item in items[: len(self.blocks)]):
            return self._some(items[: len(self.blocks)], items[len(self.blocks) :])
        numbers = tuple(self._number(item, size) for item, size in zip(items, self.blocks))
        if len(numbers) < len(self.blocks):
            rest = self.blocks[len(numbers) :]
            return Blocks(rest, self.tile, self.dtype, self.buffer, self.make, self.made, self.at + numbers)
        tile = self._block(self.at + numbers)
        rest_of_key = items[len(numbers) :]
        return tile[rest_of_key] if rest_of_key else tile

    def __setitem__(self, key: Any, value: Any) -> None:
        part = self[key]
        if part is value:
            return
        if not isinstance(part, Blocks):
            assign(part, value)
            return
        for at in itertools.product(*map(range, part.blocks)):
            assign(part[at], value[at] if isinstance(value, Blocks) else value)

    def _some(self, items: tuple[Any, ...], rest: tuple[Any, ...]) -> Blocks:
        """Return the blocks that slices choose, of each the part `rest`."""
        whole = (*items, *(slice(None),) * (len(self.blocks) - len(items)))
        places = [
            self._range(item, size) if isinstance(item, slice) else self._number(item, size)
            for item, size in zip(whole, self.blocks)
        ]

        def make(at: tuple[int, ...]) -> Tile:
            numbers = iter(at)
            block: Tile = self[tuple(place[next(numbers)] if isinstance(place, range) else place for place in places)]
            return block[rest] if rest else block

        sizes = tuple(len(place) for place in places if isinstance(place, range))
        shape = make((0,) * len(sizes)).shape if rest else self.tile
        return Blocks(sizes, shape, self.dtype, self.buffer, make)

    def _range(self, part: slice, size: int) -> range:
        """Return the blocks of a slice. Raises where numpy would cut it short."""
        found = range(size)[part]
        if not found or any(at is not None and not -size <= at <= size for at in (part.start, part.stop)):
            raise invalid(f"slice {part.start}:{part.stop} of a block dimension of {size} is outside {self!r}")
        return found

    def _items(self, key: Any) -> tuple[Any, ...]:
        items = key if isinstance(key, tuple) else (key,)
        dots = [place for place, item in enumerate(items) if item is Ellipsis]
        if dots:
            missing = self.ndim - len(items) + 1
            items = items[: dots[0]] + (slice(None),) * missing + items[dots[0] + 1 :]
        return items

    def _number(self, item: Any, size: int) -> int:
        if isinstance(item, int) and 0 <= item < size:
            return item
        if isinstance(item, Index) and item.moved is None and len({*item.bounds()}) == 1:
            item = item.start
        if isinstance(item, Index) and item.moved is None and not 0 <= item.start <= item.last() < size:
            raise invalid(f"index {item.start} to {item.last()} of a block dimension of {size} is outside {self!r}")
        if isinstance(item, (slice, Index)) or not isinstance(_plain_item(item), int):
            raise not_modelled("a block dimension indexed by more than one number")
        number: int = _plain_item(item)
        if not -size <= number < size:
            raise invalid(f"index {number} of a block dimension of {size} is outside {self!r}")
        return number % size

    def _block(self, at: tuple[int, ...]) -> Tile:
        tile = self.made.get(at)
        if tile is None:
            tile = self.made[at] = self.make(at)
        return tile
