"""Computes patterns of numbers, and choices between values by a pattern, a range or a predicate (AWS docs, nki.isa.iota,
affine_select, range_select ...).
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from neff_bench.simulator.costs.engine_work import engine_work
from neff_bench.simulator.machine import alu
from neff_bench.simulator.machine.accumulators import accumulate
from neff_bench.simulator.machine.operands import Operands
from neff_bench.simulator.numpy_dtypes import FLOATS, to_float32
from neff_bench.simulator.operations.declaration import operation
from neff_bench.simulator.recording import check
from neff_bench.simulator.recording.enums import reduce_cmd as reduce_enum
from neff_bench.simulator.recording.enums import word
from neff_bench.simulator.recording.operator_names import COMPARE
from neff_bench.simulator.recording.operator_names import alu as operator_name
from neff_bench.simulator.recording.recorder import NkiInstruction, emit, invalid
from neff_bench.simulator.recording.tensor import NkiTensor

_FLOAT32_MIN = np.finfo(np.float32).min
_FP32_MIN = -3.4028234663852886e38
_MAXIMUM = "maximum"
_EQUAL = "equal"
_INTEGER_PREDICATES = frozenset({"int8", "uint8", "int16", "uint16", "int32", "uint32"})


def _iota(o: Operands) -> None:
    o.write("dst", _affine(o, o.shape("dst")[0]).astype(np.int32))


@operation(execute=_iota, cost=engine_work(), opcode="IOTA")
def iota(
    dst: NkiTensor, pattern: Any, offset: int = 0, channel_multiplier: int = 0, name: str | None = None
) -> NkiInstruction:
    """Compute `dst`[p, ...] = offset + p * channel_multiplier + pattern's affine value, on GpSimd in SBUF."""
    check.on_chip("iota", dst=dst)
    check.no_psum_on_gpsimd("iota", "gpsimd", dst)
    attributes = {
        "pattern": _pattern("iota", pattern, dst),
        "offset": int(offset),
        "channel_multiplier": int(channel_multiplier),
    }
    return emit("iota", "gpsimd", {"dst": dst}, {}, attributes)


def _affine_select(o: Operands) -> None:
    """on_true_tile where the affine pattern compares true with zero, else on_false_value."""
    values = o.rows("on_true_tile")
    affine = _affine(o, values.shape[0])
    if affine.shape != values.shape:
        o.refuse(f"pattern has {affine.shape[1]} elements a partition, on_true_tile {values.shape[1]}")
    chosen = alu.binary(o.attributes.get("cmp_op", "equal"))(affine, np.int64(0)) != 0
    o.write("dst", np.where(chosen, values, np.float32(o.attributes["on_false_value"])))


@operation(execute=_affine_select, cost=engine_work(), opcode="AFFINE_SELECT")
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
    """Compute `dst` = `on_true_tile` where cmp_op(affine value, 0), else `on_false_value`; on GpSimd in SBUF."""
    check.on_chip("affine_select", dst=dst, on_true_tile=on_true_tile)
    check.no_psum_on_gpsimd("affine_select", "gpsimd", dst, on_true_tile)
    check.same_tile("affine_select", "on_true_tile", on_true_tile, dst)
    attributes = {
        "pattern": _pattern("affine_select", pattern, dst),
        "offset": int(offset),
        "channel_multiplier": int(channel_multiplier),
        "on_false_value": check.number("affine_select", "on_false_value", on_false_value),
        "cmp_op": operator_name("affine_select", "cmp_op", cmp_op, COMPARE),
    }
    return emit("affine_select", "gpsimd", {"dst": dst}, {"on_true_tile": on_true_tile}, attributes)


def _range_select(o: Operands) -> None:
    """on_true_tile where the element's position compares true with both bounds, else on_false_value."""
    values = o.rows("on_true_tile")
    start = o.attributes.get("range_start", 0)
    positions = np.broadcast_to(np.arange(values.shape[1], dtype=np.float32) + np.float32(start), values.shape)
    chosen = np.ones(values.shape, bool)
    for number in ("0", "1"):
        bound = o.per_partition("bound" + number, values)
        chosen &= alu.binary(o.attributes["comp_op" + number])(positions, bound) != 0
    fill = o.attributes.get("on_false_value")
    result = np.where(chosen, values, _FLOAT32_MIN if fill is None else np.float32(fill))
    accumulate(o, result, o.attributes.get("reduce_cmd", "reset_reduce"), "vector", "maximum")
    o.write("dst", result)


@operation(execute=_range_select, cost=engine_work(), opcode="RANGE_SELECT")
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
    """Compute `dst` = `on_true_tile` where both comparisons of the position with the bounds hold, else FP32_MIN."""
    check.on_chip("range_select", dst=dst, on_true_tile=on_true_tile)
    check.same_tile("range_select", "on_true_tile", on_true_tile, dst)
    if on_true_tile.dtype not in FLOATS:
        raise invalid(f"range_select: on_true_tile must be a float tile: {on_true_tile!r}")
    rows = dst.shape[0]
    reads = {
        "on_true_tile": on_true_tile,
        "bound0": check.vector("range_select", "bound0", bound0, rows),
        "bound1": check.vector("range_select", "bound1", bound1, rows),
    }
    writes = {"dst": dst}
    if reduce_res is not None:
        writes["reduce_res"] = check.vector("range_select", "reduce_res", reduce_res, rows)
    attributes = {
        "comp_op0": operator_name("range_select", "comp_op0", comp_op0, COMPARE),
        "comp_op1": operator_name("range_select", "comp_op1", comp_op1, COMPARE),
        "reduce_cmd": word(reduce_enum, reduce_cmd),
        "reduce_op": operator_name("range_select", "reduce_op", reduce_op, frozenset({"maximum"})),
        "range_start": int(range_start),
        "on_false_value": check.number("range_select", "on_false_value", on_false_value),
    }
    return emit("range_select", "vector", writes, reads, attributes)


def _select_reduce(o: Operands) -> None:
    values = o.rows("on_true")
    chosen = _predicate(o).reshape(values.shape)
    result = np.where(chosen, values, o.per_partition("on_false", values))
    accumulate(o, result, o.attributes.get("reduce_cmd", "idle"), "vector", "maximum")
    o.write("dst", result)


@operation(execute=_select_reduce, cost=engine_work(), opcode="SELECT_REDUCE")
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
    """Compute `dst` = `on_true` where `predicate`, else `on_false` (a number or one element for each partition)."""
    check.on_chip("select_reduce", dst=dst, predicate=predicate, on_true=on_true)
    check.same_tile("select_reduce", "on_true", on_true, dst)
    check.same_tile("select_reduce", "predicate", predicate, dst)
    if predicate.dtype not in _INTEGER_PREDICATES:
        raise invalid(f"select_reduce: predicate must be an integer tile: {predicate!r}")
    reads = {"predicate": predicate, "on_true": on_true}
    writes = {"dst": dst}
    attributes: dict[str, Any] = {}
    check.operand("select_reduce", "on_false", on_false, dst.shape[0], reads, attributes)
    command = word(reduce_enum, reduce_cmd)
    if command != "idle":
        attributes["reduce_cmd"] = command
        attributes["reduce_op"] = operator_name("select_reduce", "reduce_op", reduce_op, frozenset({"maximum"}))
    if reduce_res is not None:
        writes["reduce_res"] = check.vector("select_reduce", "reduce_res", reduce_res, dst.shape[0])
    if reverse_pred:
        attributes["reverse_pred"] = True
    return emit("select_reduce", "vector", writes, reads, attributes)


def _tensor_copy_predicated(o: Operands) -> None:
    """Copy src where the predicate is true; dst is unchanged elsewhere."""
    current = o.memory.read(o.access("dst"))
    chosen = _predicate(o).reshape(current.shape)
    if "src" in o.instruction.reads and o.dtype("src") == o.dtype("dst"):
        word = f"u{current.dtype.itemsize}"
        source = o.raw("src").reshape(current.shape)
        o.write_bits("dst", np.where(chosen, source.view(word), current.view(word)).view(current.dtype))
        return
    given = o.float32("src").reshape(current.shape) if "src" in o.instruction.reads else o.attributes["src"]
    o.write("dst", np.where(chosen, np.asarray(given, np.float32), to_float32(current)))


@operation(execute=_tensor_copy_predicated, cost=engine_work(), opcode="COPY_PREDICATED")
def tensor_copy_predicated(
    dst: NkiTensor, src: Any, predicate: NkiTensor, reverse_pred: bool = False, name: str | None = None
) -> NkiInstruction:
    """Compute `dst` = `src` (a tile or a number) where `predicate`; elsewhere `dst` keeps its value."""
    check.on_chip("tensor_copy_predicated", dst=dst, predicate=predicate)
    check.same_tile("tensor_copy_predicated", "predicate", predicate, dst)
    if predicate.dtype not in _INTEGER_PREDICATES:
        raise invalid(f"tensor_copy_predicated: predicate must be uint8, uint16 or uint32: {predicate!r}")
    reads = {"predicate": predicate}
    attributes: dict[str, Any] = {}
    if type(src) is NkiTensor:
        check.on_chip("tensor_copy_predicated", src=src)
        check.same_tile("tensor_copy_predicated", "src", src, dst)
        reads["src"] = src
    else:
        attributes["src"] = check.number("tensor_copy_predicated", "src", src)
    if reverse_pred:
        attributes["reverse_pred"] = True
    return emit("tensor_copy_predicated", "vector", {"dst": dst}, reads, attributes)


def _sequence_bounds(o: Operands) -> None:
    """Return for each element the start and the end of its run of equal ids; n and -1 for padding (id 0)."""
    ids = o.rows("segment_ids")[0]
    n = len(ids)
    edges = np.flatnonzero(np.concatenate([[True], ids[1:] != ids[:-1], [True]]))
    lengths = np.diff(edges)
    starts, ends = np.repeat(edges[:-1], lengths), np.repeat(edges[1:], lengths)
    padding = ids == 0
    o.write("dst", np.stack([np.where(padding, n, starts), np.where(padding, -1, ends)]))


@operation(execute=_sequence_bounds, cost=engine_work(), opcode="CUSTOM_OP")
def sequence_bounds(dst: NkiTensor, segment_ids: NkiTensor, name: str | None = None) -> NkiInstruction:
    """Write to `dst` [1, 2, N] the start and end of the segment that each of the N elements belongs to; on GpSimd."""
    check.on_chip("sequence_bounds", dst=dst, segment_ids=segment_ids)
    if segment_ids.shape[0] != 1 or dst.shape[0] != 1 or check.free(dst) != 2 * check.free(segment_ids):
        raise invalid(f"sequence_bounds: dst must be [1, 2, {check.free(segment_ids)}]: {dst!r}")
    return emit("sequence_bounds", "gpsimd", {"dst": dst}, {"segment_ids": segment_ids}, {})


def _predicate(o: Operands) -> np.ndarray:
    chosen: np.ndarray = o.raw("predicate") != 0
    return ~chosen if o.attributes.get("reverse_pred") else chosen


def _affine(o: Operands, rows: int) -> np.ndarray:
    """Return offset + partition * channel_multiplier + the pattern's steps: (rows, elements), int64."""
    values = np.full((), o.attributes.get("offset", 0), np.int64)
    for step, size in o.attributes["pattern"]:
        values = values[..., None] + step * np.arange(size, dtype=np.int64)
    channels = np.arange(rows, dtype=np.int64) * o.attributes.get("channel_multiplier", 0)
    affine: np.ndarray = channels[:, None] + values.reshape(1, -1)
    return affine


def _pattern(op: str, pattern: Any, dst: NkiTensor) -> list[list[int]]:
    pairs = [[int(step), int(count)] for step, count in pattern]
    if not 1 <= len(pairs) <= 4:
        raise invalid(f"{op}: a pattern has 1 to 4 dimensions, not {len(pairs)}")
    if prod(count for _, count in pairs) != check.free(dst):
        raise invalid(f"{op}: pattern {pairs} does not give the {check.free(dst)} elements in a partition of {dst!r}")
    return pairs
