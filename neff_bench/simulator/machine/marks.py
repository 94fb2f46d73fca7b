"""Keeps flags for the bytes of a buffer: which were written, which two cores share. One flag stands for a granule, the longest run of
bytes that every access takes whole or not at all."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable

import numpy as np

from neff_bench.chips.dtypes import SIZE_BYTES
from neff_bench.simulator.program import Access, Program


class Marks:
    """The flags of one buffer, all down. `granule_bytes`: see `granule`."""

    def __init__(self, size_bytes: int, granule_bytes: int) -> None:
        self.granule_bytes = granule_bytes
        self.flags = np.zeros(size_bytes // granule_bytes, bool)

    def of(self, access: Access, offset: int) -> np.ndarray:
        """Return a view of the flags of an access that starts at element `offset`; its shape is that of the granules."""
        run, around = _split(access)
        grain = self.granule_bytes
        shape = [size for _, size in around] + [run // grain]
        strides = [step // grain for step, _ in around] + [1]
        view: np.ndarray = np.ndarray(shape, bool, self.flags, offset * SIZE_BYTES[access.dtype] // grain, strides)
        return view

    def at(self, access: Access, flat: np.ndarray) -> np.ndarray:
        """Return the places among the flags of each byte of elements at flat indices."""
        item = SIZE_BYTES[access.dtype]
        return (flat[..., None] * item + np.arange(item)) // self.granule_bytes


def granule(size_bytes: int, accesses: Iterable[Access]) -> int:
    """Return the longest run of bytes that each access takes whole or not at all; `size_bytes`: of their buffer."""
    return math.gcd(size_bytes, *(part for access in accesses for part in _parts(access)))


def granules(program: Program, watched: Collection[int], size_bytes: Iterable[int]) -> dict[int, int]:
    """Return the granule of each watched buffer under all accesses of a program. `size_bytes`: of every buffer."""
    accesses: defaultdict[int, set[Access]] = defaultdict(set)
    for core in program.cores:
        for instruction in core:
            for access in (*instruction.writes.values(), *instruction.reads.values()):
                if access.buffer in watched:
                    accesses[access.buffer].add(access)
    return {index: granule(size, accesses[index]) for index, size in enumerate(size_bytes) if index in watched}


def _parts(access: Access) -> list[int]:
    """Return what a granule of an access divides, in bytes: where it starts, how long its runs are and how far apart."""
    item = SIZE_BYTES[access.dtype]
    run, around = _split(access)
    steps = [step for step, _ in around] + [dynamic.step * item for dynamic in access.dynamic]
    return [access.offset * item, run, *steps]


def _split(access: Access) -> tuple[int, list[tuple[int, int]]]:
    """Return the bytes of an access's innermost runs, and the (step in bytes, size) pairs around them."""
    run = SIZE_BYTES[access.dtype]
    around = [(step * run, size) for step, size in access.pattern if size != 1]
    while around and around[-1][0] == run:
        run *= around.pop()[1]
    return run, around
