"""Tensors with block dimensions: those before `par_dim`. Each block is a tile of its own.

A block comes into being when the kernel first touches it, so that it takes memory from there to its last use only.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from math import prod
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
        numbers = tuple(self._number(item, size) for item, size in zip(items, self.blocks))
        if len(numbers) < len(self.blocks):
            rest = self.blocks[len(numbers) :]
            return Blocks(rest, self.tile, self.dtype, self.buffer, self.make, self.made, self.at + numbers)
        tile = self._block(self.at + numbers)
        rest_of_key = items[len(numbers) :]
        return tile[rest_of_key] if rest_of_key else tile

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(self._items(key)[0], slice):
            for at in itertools.product(*map(range, self.blocks)):
                self[at + self._items(key)[len(self.blocks) :]] = value
            return
        part = self[key]
        if isinstance(part, Blocks):
            part[...] = value
        elif part is not value:
            assign(part, value)

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
        if isinstance(item, Index) and item.moved is None and prod(item.shape) == 1:
            item = item.start
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
