"""Finds the largest values of a partition, where they are, and where anything is not zero."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from neff_bench.simulator.costs.engine_work import engine_work
from neff_bench.simulator.machine.operands import Operands
from neff_bench.simulator.numpy_dtypes import to_float32
from neff_bench.simulator.operations.declaration import operation
from neff_bench.simulator.recording import check
from neff_bench.simulator.recording.recorder import NkiInstruction, emit, invalid
from neff_bench.simulator.recording.tensor import NkiTensor

_FOUND_BY_ONE_INSTRUCTION = 8
_PARTITIONS_OF_A_GPSIMD_CORE = 16
_UNSIGNED = frozenset({"uint8", "uint16", "uint32"})


def _max8(o: Operands) -> None:
    values = o.rows("src")
    if values.shape[1] < _FOUND_BY_ONE_INSTRUCTION:
        o.refuse(f"src has {values.shape[1]} elements a partition, expected at least {_FOUND_BY_ONE_INSTRUCTION}")
    o.write("dst", np.sort(values, axis=1)[:, : -_FOUND_BY_ONE_INSTRUCTION - 1 : -1])


@operation(execute=_max8, cost=engine_work(), opcode="MAX8")
def max8(dst: NkiTensor, src: NkiTensor, name: str | None = None) -> NkiInstruction:
    """Write to `dst` [P, 8] the eight largest of each partition, descending; 8 to 16,384 elements."""
    check.on_chip("max8", dst=dst, src=src)
    check.eight("max8", "dst", dst, src)
    if not 8 <= check.free(src) <= 16384:
        raise invalid(f"max8: 8 to 16384 elements in a partition: {src!r}")
    return emit("max8", "vector", {"dst": dst}, {"src": src}, {})


def _nc_find_index8(o: Operands) -> None:
    """Find the position of each value; equal values get successive positions, and a value that is not there gets all ones."""
    positions = _match(o, range(_FOUND_BY_ONE_INSTRUCTION))
    o.write("dst", positions)


@operation(execute=_nc_find_index8, cost=engine_work(), opcode="FIND_INDEX8")
def nc_find_index8(dst: NkiTensor, data: NkiTensor, vals: NkiTensor, name: str | None = None) -> NkiInstruction:
    """Write to `dst` [P, 8] where each of the eight `vals` stands first in `data`."""
    check.on_chip("nc_find_index8", dst=dst, data=data, vals=vals)
    check.eight("nc_find_index8", "dst", dst, data)
    check.eight("nc_find_index8", "vals", vals, data)
    if dst.dtype not in _UNSIGNED:
        raise invalid(f"nc_find_index8: dst must be uint16 or uint32: {dst!r}")
    return emit("nc_find_index8", "vector", {"dst": dst}, {"data": data, "vals": vals}, {})


def _nc_match_replace8(o: Operands) -> None:
    """Replace one occurrence of each value in data by `imm`; of equal values, the last takes the first occurrence."""
    positions = _match(o, reversed(range(_FOUND_BY_ONE_INSTRUCTION)))
    result = o.rows("data").copy()
    rows, columns = np.nonzero(positions >= 0)
    result[rows, positions[rows, columns]] = np.float32(o.attributes["imm"])
    if "dst_idx" in o.instruction.writes:
        o.write("dst_idx", positions)
    o.write("dst", result)


@operation(execute=_nc_match_replace8, cost=engine_work(), opcode="MATCH_REPLACE8")
def nc_match_replace8(
    dst: NkiTensor,
    data: NkiTensor,
    vals: NkiTensor,
    imm: float,
    dst_idx: NkiTensor | None = None,
    name: str | None = None,
) -> NkiInstruction:
    """Compute `dst` = `data` with the first occurrence of each of the eight `vals` replaced by `imm`."""
    check.on_chip("nc_match_replace8", dst=dst, data=data, vals=vals)
    check.same_tile("nc_match_replace8", "data", data, dst)
    check.eight("nc_match_replace8", "vals", vals, data)
    writes = {"dst": dst}
    if dst_idx is not None:
        check.eight("nc_match_replace8", "dst_idx", dst_idx, data)
        writes["dst_idx"] = dst_idx
    attributes = {"imm": check.number("nc_match_replace8", "imm", imm)}
    return emit("nc_match_replace8", "vector", writes, {"data": data, "vals": vals}, attributes)


def _nonzero_with_count(o: Operands) -> None:
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


@operation(execute=_nonzero_with_count, cost=engine_work(), opcode="CUSTOM_OP")
def nonzero_with_count(
    dst: NkiTensor, src: NkiTensor, index_offset: int = 0, padding_val: int = -1, name: str | None = None
) -> NkiInstruction:
    """Positions of non-zero elements, padding, and their count, in partitions 0, 16, 32 ... of `dst`; on GpSimd."""
    check.on_chip("nonzero_with_count", dst=dst, src=src)
    check.no_psum_on_gpsimd("nonzero_with_count", "gpsimd", dst, src)
    if dst.shape[0] != src.shape[0] or check.free(dst) != check.free(src) + 1:
        raise invalid(f"nonzero_with_count: dst must have one element more than src: {dst!r}, {src!r}")
    if dst.dtype != "int32" or src.dtype not in ("float32", "int32"):
        raise invalid(f"nonzero_with_count: src float32 or int32, dst int32: {src!r}, {dst!r}")
    attributes = {"index_offset": int(index_offset), "padding_val": int(padding_val)}
    return emit("nonzero_with_count", "gpsimd", {"dst": dst}, {"src": src}, attributes)


@operation(execute=None, cost=engine_work(), opcode="CUSTOM_OP")
def topk(val_dst: NkiTensor, idx_dst: NkiTensor, src: NkiTensor, n: int, name: str | None = None) -> NkiInstruction:
    """Find the K largest of the first `n` elements of each 16-partition snake, ascending, and their positions; on GpSimd."""
    check.on_chip("topk", val_dst=val_dst, idx_dst=idx_dst, src=src)
    check.no_psum_on_gpsimd("topk", "gpsimd", val_dst, idx_dst, src)
    check.same_tile("topk", "idx_dst", idx_dst, val_dst)
    if src.shape[0] % 16 or check.free(src) * 16 < n or check.free(val_dst) > n:
        raise invalid(f"topk: {src!r} does not hold {n} elements for each 16 partitions")
    writes = {"val_dst": val_dst, "idx_dst": idx_dst}
    return emit("topk", "gpsimd", writes, {"src": src}, {"n": int(n)})


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
