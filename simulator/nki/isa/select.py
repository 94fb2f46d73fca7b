"""Selecting, searching and generating by position (AWS docs, nki.isa.iota, affine_select, range_select ...)."""

from __future__ import annotations

from math import prod
from typing import Any

from neff_bench.simulator.dtypes import FLOATS
from neff_bench.simulator.nki.isa.reduce import check_eight
from neff_bench.simulator.recording import check
from neff_bench.simulator.recording.enums import reduce_cmd as reduce_enum
from neff_bench.simulator.recording.enums import word
from neff_bench.simulator.recording.operators import COMPARE, alu
from neff_bench.simulator.recording.recorder import NkiInstruction, invalid, recorder
from neff_bench.simulator.recording.tensor import NkiTensor, access

_FP32_MIN = -3.4028234663852886e38
_MAXIMUM = "maximum"
_EQUAL = "equal"
_UNSIGNED = frozenset({"uint8", "uint16", "uint32"})
_INTEGER_PREDICATES = frozenset({"int8", "uint8", "int16", "uint16", "int32", "uint32"})


def _pattern(op: str, pattern: Any, dst: NkiTensor) -> list[list[int]]:
    pairs = [[int(step), int(count)] for step, count in pattern]
    if not 1 <= len(pairs) <= 4:
        raise invalid(f"{op}: a pattern has 1 to 4 dimensions, not {len(pairs)}")
    if prod(count for _, count in pairs) != check.free(dst):
        raise invalid(f"{op}: pattern {pairs} does not give the {check.free(dst)} elements in a partition of {dst!r}")
    return pairs


def iota(
    dst: NkiTensor, pattern: Any, offset: int = 0, channel_multiplier: int = 0, name: str | None = None
) -> NkiInstruction:
    """`dst`[p, ...] = offset + p * channel_multiplier + pattern's affine value, on GpSimd in SBUF."""
    now = recorder()
    check.on_chip("iota", dst=dst)
    check.no_psum_on_gpsimd("iota", "gpsimd", dst)
    attributes = {
        "pattern": _pattern("iota", pattern, dst),
        "offset": int(offset),
        "channel_multiplier": int(channel_multiplier),
    }
    return now.emit("iota", "gpsimd", {"dst": access(dst)}, {}, attributes)


def affine_select(
    dst: NkiTensor,
    pattern: Any,
    channel_multiplier: int,
    on_true_tile: NkiTensor,
    on_false_value: float,
    cmp_op: Any = _EQUAL,
    offset: int = 0,
    name: str | None = None,
) -> NkiInstruction:
    """`dst` = `on_true_tile` where cmp_op(affine value, 0), else `on_false_value`; on GpSimd in SBUF."""
    now = recorder()
    check.on_chip("affine_select", dst=dst, on_true_tile=on_true_tile)
    check.no_psum_on_gpsimd("affine_select", "gpsimd", dst, on_true_tile)
    check.same_tile("affine_select", "on_true_tile", on_true_tile, dst)
    attributes = {
        "pattern": _pattern("affine_select", pattern, dst),
        "offset": int(offset),
        "channel_multiplier": int(channel_multiplier),
        "on_false_value": check.number("affine_select", "on_false_value", on_false_value),
        "cmp_op": alu("affine_select", "cmp_op", cmp_op, COMPARE),
    }
    return now.emit("affine_select", "gpsimd", {"dst": access(dst)}, {"on_true_tile": access(on_true_tile)}, attributes)


def range_select(
    dst: NkiTensor,
    on_true_tile: NkiTensor,
    comp_op0: Any,
    comp_op1: Any,
    bound0: NkiTensor,
    bound1: NkiTensor,
    reduce_cmd: Any = reduce_enum.reset_reduce,
    reduce_res: NkiTensor | None = None,
    reduce_op: Any = _MAXIMUM,
    range_start: int = 0,
    on_false_value: float = _FP32_MIN,
    name: str | None = None,
) -> NkiInstruction:
    """`dst` = `on_true_tile` where both comparisons of the position with the bounds hold, else FP32_MIN."""
    now = recorder()
    check.on_chip("range_select", dst=dst, on_true_tile=on_true_tile)
    check.same_tile("range_select", "on_true_tile", on_true_tile, dst)
    if on_true_tile.dtype not in FLOATS:
        raise invalid(f"range_select: on_true_tile must be a float tile: {on_true_tile!r}")
    rows = dst.shape[0]
    reads = {
        "on_true_tile": access(on_true_tile),
        "bound0": check.vector("range_select", "bound0", bound0, rows),
        "bound1": check.vector("range_select", "bound1", bound1, rows),
    }
    writes = {"dst": access(dst)}
    if reduce_res is not None:
        writes["reduce_res"] = check.vector("range_select", "reduce_res", reduce_res, rows)
    attributes = {
        "comp_op0": alu("range_select", "comp_op0", comp_op0, COMPARE),
        "comp_op1": alu("range_select", "comp_op1", comp_op1, COMPARE),
        "reduce_cmd": word(reduce_enum, reduce_cmd),
        "reduce_op": alu("range_select", "reduce_op", reduce_op, frozenset({"maximum"})),
        "range_start": int(range_start),
        "on_false_value": check.number("range_select", "on_false_value", on_false_value),
    }
    return now.emit("range_select", "vector", writes, reads, attributes)


def select_reduce(
    dst: NkiTensor,
    predicate: NkiTensor,
    on_true: NkiTensor,
    on_false: Any,
    reduce_res: NkiTensor | None = None,
    reduce_cmd: Any = reduce_enum.idle,
    reduce_op: Any = _MAXIMUM,
    reverse_pred: bool = False,
    name: str | None = None,
) -> NkiInstruction:
    """`dst` = `on_true` where `predicate`, else `on_false` (a number or one element for each partition)."""
    now = recorder()
    check.on_chip("select_reduce", dst=dst, predicate=predicate, on_true=on_true)
    check.same_tile("select_reduce", "on_true", on_true, dst)
    check.same_tile("select_reduce", "predicate", predicate, dst)
    if predicate.dtype not in _INTEGER_PREDICATES:
        raise invalid(f"select_reduce: predicate must be an integer tile: {predicate!r}")
    reads = {"predicate": access(predicate), "on_true": access(on_true)}
    writes = {"dst": access(dst)}
    attributes: dict[str, Any] = {}
    check.operand("select_reduce", "on_false", on_false, dst.shape[0], reads, attributes)
    command = word(reduce_enum, reduce_cmd)
    if command != "idle":
        attributes["reduce_cmd"] = command
        attributes["reduce_op"] = alu("select_reduce", "reduce_op", reduce_op, frozenset({"maximum"}))
    if reduce_res is not None:
        writes["reduce_res"] = check.vector("select_reduce", "reduce_res", reduce_res, dst.shape[0])
    if reverse_pred:
        attributes["reverse_pred"] = True
    return now.emit("select_reduce", "vector", writes, reads, attributes)


def tensor_copy_predicated(
    dst: NkiTensor, src: Any, predicate: NkiTensor, reverse_pred: bool = False, name: str | None = None
) -> NkiInstruction:
    """`dst` = `src` (a tile or a number) where `predicate`; elsewhere `dst` keeps its value."""
    now = recorder()
    check.on_chip("tensor_copy_predicated", dst=dst, predicate=predicate)
    check.same_tile("tensor_copy_predicated", "predicate", predicate, dst)
    if predicate.dtype not in _INTEGER_PREDICATES:
        raise invalid(f"tensor_copy_predicated: predicate must be uint8, uint16 or uint32: {predicate!r}")
    reads = {"predicate": access(predicate)}
    attributes: dict[str, Any] = {}
    if type(src) is NkiTensor:
        check.on_chip("tensor_copy_predicated", src=src)
        check.same_tile("tensor_copy_predicated", "src", src, dst)
        reads["src"] = access(src)
    else:
        attributes["src"] = check.number("tensor_copy_predicated", "src", src)
    if reverse_pred:
        attributes["reverse_pred"] = True
    return now.emit("tensor_copy_predicated", "vector", {"dst": access(dst)}, reads, attributes)


def nc_find_index8(dst: NkiTensor, data: NkiTensor, vals: NkiTensor, name: str | None = None) -> NkiInstruction:
    """`dst` [P, 8]: where each of the eight `vals` stands first in `data`."""
    now = recorder()
    check.on_chip("nc_find_index8", dst=dst, data=data, vals=vals)
    check_eight("nc_find_index8", "dst", dst, data)
    check_eight("nc_find_index8", "vals", vals, data)
    if dst.dtype not in _UNSIGNED:
        raise invalid(f"nc_find_index8: dst must be uint16 or uint32: {dst!r}")
    return now.emit("nc_find_index8", "vector", {"dst": access(dst)}, {"data": access(data), "vals": access(vals)}, {})


def nc_match_replace8(
    dst: NkiTensor,
    data: NkiTensor,
    vals: NkiTensor,
    imm: float,
    dst_idx: NkiTensor | None = None,
    name: str | None = None,
) -> NkiInstruction:
    """`dst` = `data` with the first occurrence of each of the eight `vals` replaced by `imm`."""
    now = recorder()
    check.on_chip("nc_match_replace8", dst=dst, data=data, vals=vals)
    check.same_tile("nc_match_replace8", "data", data, dst)
    check_eight("nc_match_replace8", "vals", vals, data)
    writes = {"dst": access(dst)}
    if dst_idx is not None:
        check_eight("nc_match_replace8", "dst_idx", dst_idx, data)
        writes["dst_idx"] = access(dst_idx)
    attributes = {"imm": check.number("nc_match_replace8", "imm", imm)}
    return now.emit("nc_match_replace8", "vector", writes, {"data": access(data), "vals": access(vals)}, attributes)


def nonzero_with_count(
    dst: NkiTensor, src: NkiTensor, index_offset: int = 0, padding_val: int = -1, name: str | None = None
) -> NkiInstruction:
    """Positions of non-zero elements, padding, and their count, in partitions 0, 16, 32 ... of `dst`; on GpSimd."""
    now = recorder()
    check.on_chip("nonzero_with_count", dst=dst, src=src)
    check.no_psum_on_gpsimd("nonzero_with_count", "gpsimd", dst, src)
    if dst.shape[0] != src.shape[0] or check.free(dst) != check.free(src) + 1:
        raise invalid(f"nonzero_with_count: dst must have one element more than src: {dst!r}, {src!r}")
    if dst.dtype != "int32" or src.dtype not in ("float32", "int32"):
        raise invalid(f"nonzero_with_count: src float32 or int32, dst int32: {src!r}, {dst!r}")
    attributes = {"index_offset": int(index_offset), "padding_val": int(padding_val)}
    return now.emit("nonzero_with_count", "gpsimd", {"dst": access(dst)}, {"src": access(src)}, attributes)


def topk(val_dst: NkiTensor, idx_dst: NkiTensor, src: NkiTensor, n: int, name: str | None = None) -> NkiInstruction:
    """The K largest of the first `n` elements of each 16-partition snake, ascending, and their positions; on GpSimd."""
    now = recorder()
    check.on_chip("topk", val_dst=val_dst, idx_dst=idx_dst, src=src)
    check.no_psum_on_gpsimd("topk", "gpsimd", val_dst, idx_dst, src)
    check.same_tile("topk", "idx_dst", idx_dst, val_dst)
    if src.shape[0] % 16 or check.free(src) * 16 < n or check.free(val_dst) > n:
        raise invalid(f"topk: {src!r} does not hold {n} elements for each 16 partitions")
    writes = {"val_dst": access(val_dst), "idx_dst": access(idx_dst)}
    return now.emit("topk", "gpsimd", writes, {"src": access(src)}, {"n": int(n)})


def sequence_bounds(dst: NkiTensor, segment_ids: NkiTensor, name: str | None = None) -> NkiInstruction:
    """`dst` [1, 2, N]: start and end of the segment that each of the N elements belongs to; on GpSimd."""
    now = recorder()
    check.on_chip("sequence_bounds", dst=dst, segment_ids=segment_ids)
    if segment_ids.shape[0] != 1 or dst.shape[0] != 1 or check.free(dst) != 2 * check.free(segment_ids):
        raise invalid(f"sequence_bounds: dst must be [1, 2, {check.free(segment_ids)}]: {dst!r}")
    return now.emit("sequence_bounds", "gpsimd", {"dst": access(dst)}, {"segment_ids": access(segment_ids)}, {})
