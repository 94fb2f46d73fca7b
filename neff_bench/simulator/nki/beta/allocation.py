"""Says where a kernel places its tensors: `nki.compiler.sbuf` and `nki.compiler.psum`.

`alloc` takes a function from the block's index, partitions and bytes to its place; `mod_alloc` places block i where block i modulo a number is.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from math import prod
from typing import Any

from neff_bench.simulator.recording.recorder import invalid
from neff_bench.simulator.recording.regions import PSUM_BANK_BYTES, MemoryRegion

Place = Callable[[tuple[int, ...], int, int], tuple[int, int]]


class Placed:
    """A buffer whose blocks the kernel places. `place`: (partition, byte) from index, partitions and bytes of a block."""

    def __init__(self, region: MemoryRegion, place: Place) -> None:
        self.region = region
        self.place = place


class Sbuf:
    """`nki.compiler.sbuf`."""

    @staticmethod
    def alloc(func: Any) -> Placed:
        """Place a tile where `func` says: it returns (partition, byte)."""

        def place(index: tuple[int, ...], partitions: int, size: int) -> tuple[int, int]:
            partition, byte = _called(func, index, partitions, size)
            return int(partition), int(byte)

        return Placed(MemoryRegion.sbuf, place)

    @staticmethod
    def mod_alloc(
        *, base_addr: int, base_partition: int = 0, num_par_tiles: Any = (), num_free_tiles: Any = ()
    ) -> Placed:
        """Place blocks by their index, modulo the numbers of tiles, from a base partition and a byte in each partition."""

        def place(index: tuple[int, ...], partitions: int, size: int) -> tuple[int, int]:
            return (
                int(base_partition) + _modulo(index, num_par_tiles) * partitions,
                int(base_addr) + _modulo(index, num_free_tiles) * size,
            )

        return Placed(MemoryRegion.sbuf, place)

    @staticmethod
    def auto_alloc() -> MemoryRegion:
        """Return a tile in SBUF, at an address of the compiler's choice."""
        return MemoryRegion.sbuf


class Psum:
    """`nki.compiler.psum`."""

    @staticmethod
    def alloc(func: Any) -> Placed:
        """Place a tile where `func` says: it returns (bank, partition, byte in the bank)."""

        def place(index: tuple[int, ...], partitions: int, size: int) -> tuple[int, int]:
            bank, partition, byte = _called(func, index, partitions, size)
            return int(partition), int(bank) * PSUM_BANK_BYTES + int(byte)

        return Placed(MemoryRegion.psum, place)

    @staticmethod
    def mod_alloc(
        *,
        base_bank: int,
        base_addr: int = 0,
        base_partition: int = 0,
        num_bank_tiles: Any = (),
        num_par_tiles: Any = (),
        num_free_tiles: Any = (),
    ) -> Placed:
        """Place blocks by their index, modulo the numbers of tiles, from a base bank, partition and byte in the bank."""

        def place(index: tuple[int, ...], partitions: int, size: int) -> tuple[int, int]:
            bank = int(base_bank) + _modulo(index, num_bank_tiles)
            byte = int(base_addr) + _modulo(index, num_free_tiles) * size
            return int(base_partition) + _modulo(index, num_par_tiles) * partitions, bank * PSUM_BANK_BYTES + byte

        return Placed(MemoryRegion.psum, place)

    @staticmethod
    def auto_alloc() -> MemoryRegion:
        """Return a tile in PSUM, in a bank of the compiler's choice."""
        return MemoryRegion.psum


def _called(func: Any, index: tuple[int, ...], partitions: int, size: int) -> Any:
    """Return the kernel's function of a place, by the names of AWS's documentation where it has them."""
    named = {"idx": index, "pdim_size": partitions, "fdim_size": size}
    if named.keys() <= inspect.signature(func).parameters.keys():
        return func(**named)
    return func(index, partitions, size)


def _modulo(index: tuple[int, ...], tiles: Any) -> int:
    """Return the number of a block among the `tiles` that there is memory for."""
    sizes = tuple(map(int, tiles)) if isinstance(tiles, (tuple, list)) else (int(tiles),)
    if len(index) > len(sizes) > 0:
        raise invalid(f"{len(index)} block dimensions are placed in {list(sizes)} tiles")
    return sum((at % size) * prod(sizes[dim + 1 :]) for dim, (at, size) in enumerate(zip(index, sizes)))
