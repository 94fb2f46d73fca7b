"""The eight largest values of a partition, where they are, and where anything is not zero."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from neff_bench.simulator.dtypes import to_float32
from neff_bench.simulator.machine.operands import Operands

_FOUND_BY_ONE_INSTRUCTION = 8
_PARTITIONS_OF_A_GPSIMD_CORE = 16


def max8(o: Operands) -> None:
    values = o.rows("src")
    if values.shape[1] < _FOUND_BY_ONE_INSTRUCTION:
        o.refuse(f"src has {values.shape[1]} elements a partition, expected at least {_FOUND_BY_ONE_INSTRUCTION}")
    o.write("dst", np.sort(values, axis=1)[:, : -_FOUND_BY_ONE_INSTRUCTION - 1 : -1])


def nc_find_index8(o: Operands) -> None:
    """The position of each value; equal values get successive positions; all ones where there is none."""
    positions = _match(o, range(_FOUND_BY_ONE_INSTRUCTION))
    o.write("dst", positions)


def nc_match_replace8(o: Operands) -> None:
    """data with one occurrence of each value replaced by `imm`; of equal values, the last takes the first occurrence."""
    positions = _match(o, reversed(range(_FOUND_BY_ONE_INSTRUCTION)))
    result = o.rows("data").copy()
    rows, columns = np.nonzero(positions >= 0)
    result[rows, positions[rows, columns]] = np.float32(o.attributes["imm"])
    if "dst_idx" in o.instruction.writes:
        o.write("dst_idx", positions)
    o.write("dst", result)


def _match(o: Operands, order: Iterable[int]) -> np.ndarray:
    """Positions of `vals` in `data`, each occurrence used once, the values taken in `order`; -1 where there is none."""
    data, wanted = o.rows("data"), o.rows("vals")
    if wanted.shape[1] != _FOUND_BY_ONE_INSTRUCTION:
        o.refuse(f"vals has {wanted.shape[1]} elements a partition, expected {_FOUND_BY_ONE_INSTRUCTION}")
    free = np.ones(data.shape, bool)
    positions = np.full(wanted.shape, -1, np.int64)
    every = np.arange(len(data))
    for column in order:
        hits = (data == wanted[:, column : column + 1]) & free
        first = hits.argmax(axis=1)
        found = hits[every, first]
        positions[found, column] = first[found]
        free[every[found], first[found]] = False
    return positions


def nonzero_with_count(o: Operands) -> None:
    """Positions of what is not zero, padding, and the count, in the first partition of each GpSimd core."""
    source = o.raw("src")
    values = to_float32(source) if source.dtype.kind not in "iu" else source
    values = values.reshape(values.shape[0], -1)
    target = o.memory.read(o.access("dst"))
    result = target.reshape(target.shape[0], -1).copy()
    for row in range(0, len(values), _PARTITIONS_OF_A_GPSIMD_CORE):
        found = np.flatnonzero(values[row])
        result[row] = o.attributes.get("padding_val", -1)
        result[row, : len(found)] = found + o.attributes.get("index_offset", 0)
        result[row, -1] = len(found)
    o.write_bits("dst", result)


OPERATIONS = {
    "max8": max8,
    "nc_find_index8": nc_find_index8,
    "nc_match_replace8": nc_match_replace8,
    "nonzero_with_count": nonzero_with_count,
}
