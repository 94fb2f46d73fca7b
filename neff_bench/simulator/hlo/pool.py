"""Keeps on-chip tiles of a lowered stage: taken, released and taken again, as a compiler's allocator would rotate them."""

from __future__ import annotations

import math
from collections import deque
from typing import Any

from neff_bench.chips.dtypes import SIZE_BYTES
from neff_bench.simulator.errors import CompileError
from neff_bench.simulator.nki import language as nl
from neff_bench.simulator.program import PARTITIONS
from neff_bench.simulator.recording.regions import PSUM_BANK_BYTES, PSUM_BANKS

ROTATION = 3
LARGE_BYTES = 4096
"""Released tiles of one shape that rest before one is taken again, so that an engine can run ahead; of tiles with
`LARGE_BYTES` or more in each partition, one."""

Shape = tuple[int, ...]


class Pool:
    """Tiles of 128 partitions. `sbuf_bytes`: what a partition may hold in all; `fixed_bytes`: of them for tiles that stay."""

    def __init__(self, sbuf_bytes: int, fixed_bytes: int = 0) -> None:
        self.sbuf_bytes = sbuf_bytes - fixed_bytes
        self._left = sbuf_bytes
        self._banks = PSUM_BANKS
        self._resting: dict[tuple[str, Shape, str], deque[Any]] = {}

    def sbuf(self, free: Shape, dtype: str) -> Any:
        """Return a tile [128, *free] in SBUF. Raises `CompileError` when SBUF is full."""
        resting = self._resting.setdefault(("sbuf", free, dtype), deque())
        size = math.prod(free) * SIZE_BYTES[dtype]
        rotation = 1 if size >= LARGE_BYTES else ROTATION
        if len(resting) >= rotation or (resting and size > self._left):
            return resting.popleft()
        if size > self._left:
            self._evict(size)
        if size > self._left:
            raise CompileError(f"the graph does not fit: a tile of {size} bytes per partition finds SBUF full")
        self._left -= size
        return nl.ndarray((PARTITIONS, *free), dtype=dtype, buffer=nl.sbuf)

    def psum(self, dtype: str) -> Any:
        """Return one bank, as a tile [128, 2048 bytes of `dtype`]. Raises `CompileError` when all eight are in use."""
        resting = self._resting.setdefault(("psum", (), dtype), deque())
        if resting and (len(resting) >= ROTATION or not self._banks):
            return resting.popleft()
        if not self._banks:
            raise CompileError("the graph does not fit: an expression needs more than eight PSUM banks at once")
        self._banks -= 1
        return nl.ndarray((PARTITIONS, PSUM_BANK_BYTES // SIZE_BYTES[dtype]), dtype=dtype, buffer=nl.psum)

    def release(self, tile: Any) -> None:
        """Give a tile back; it can be taken again."""
        place = "psum" if tile.buffer is nl.psum else "sbuf"
        free = () if place == "psum" else tuple(tile.shape[1:])
        self._resting[place, free, tile.dtype].append(tile)

    def _evict(self, size: int) -> None:
        """Give up resting tiles of other shapes; their memory is free to be allocated anew."""
        for (place, free, dtype), resting in self._resting.items():
            while place == "sbuf" and resting and size > self._left:
                resting.popleft()
                self._left += math.prod(free) * SIZE_BYTES[dtype]
