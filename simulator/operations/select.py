"""Patterns of numbers, and choices between values by a pattern, a range or a predicate."""

from __future__ import annotations

import numpy as np

from neff_bench.simulator.dtypes import to_float32
from neff_bench.simulator.machine import alu
from neff_bench.simulator.machine.accumulators import accumulate
from neff_bench.simulator.machine.operands import Operands

_FLOAT32_MIN = np.finfo(np.float32).min


def iota(o: Operands) -> None:
    o.write("dst", _affine(o, o.shape("dst")[0]).astype(np.int32))


def affine_select(o: Operands) -> None:
    """on_true_tile where the affine pattern compares true with zero, else on_false_value."""
    values = o.rows("on_true_tile")
    affine = _affine(o, values.shape[0])
    if affine.shape != values.shape:
        o.refuse(f"pattern has {affine.shape[1]} elements a partition, on_true_tile {values.shape[1]}")
    chosen = alu.binary(o.attributes.get("cmp_op", "equal"))(affine, np.int64(0)) != 0
    o.write("dst", np.where(chosen, values, np.float32(o.attributes["on_false_value"])))


def range_select(o: Operands) -> None:
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


def select_reduce(o: Operands) -> None:
    values = o.rows("on_true")
    chosen = _predicate(o).reshape(values.shape)
    result = np.where(chosen, values, o.per_partition("on_false", values))
    accumulate(o, result, o.attributes.get("reduce_cmd", "idle"), "vector", "maximum")
    o.write("dst", result)


def tensor_copy_predicated(o: Operands) -> None:
    """src where the predicate is true; dst is unchanged elsewhere."""
    current = o.memory.read(o.access("dst"))
    chosen = _predicate(o).reshape(current.shape)
    if "src" in o.instruction.reads and o.dtype("src") == o.dtype("dst"):
        word = f"u{current.dtype.itemsize}"
        source = o.raw("src").reshape(current.shape)
        o.write_bits("dst", np.where(chosen, source.view(word), current.view(word)).view(current.dtype))
        return
    given = o.float32("src").reshape(current.shape) if "src" in o.instruction.reads else o.attributes["src"]
    o.write("dst", np.where(chosen, np.asarray(given, np.float32), to_float32(current)))


def sequence_bounds(o: Operands) -> None:
    """For each element the start and the end of its run of equal ids; n and -1 for padding (id 0)."""
    ids = o.rows("segment_ids")[0]
    n = len(ids)
    edges = np.flatnonzero(np.concatenate([[True], ids[1:] != ids[:-1], [True]]))
    lengths = np.diff(edges)
    starts, ends = np.repeat(edges[:-1], lengths), np.repeat(edges[1:], lengths)
    padding = ids == 0
    o.write("dst", np.stack([np.where(padding, n, starts), np.where(padding, -1, ends)]))


def _predicate(o: Operands) -> np.ndarray:
    chosen = o.raw("predicate") != 0
    return ~chosen if o.attributes.get("reverse_pred") else chosen


def _affine(o: Operands, rows: int) -> np.ndarray:
    """offset + partition * channel_multiplier + the pattern's steps: (rows, elements), int64."""
    values = np.full((), o.attributes.get("offset", 0), np.int64)
    for step, size in o.attributes["pattern"]:
        values = values[..., None] + step * np.arange(size, dtype=np.int64)
    channels = np.arange(rows, dtype=np.int64) * o.attributes.get("channel_multiplier", 0)
    return channels[:, None] + values.reshape(1, -1)


OPERATIONS = {
    "iota": iota,
    "affine_select": affine_select,
    "range_select": range_select,
    "select_reduce": select_reduce,
    "tensor_copy_predicated": tensor_copy_predicated,
    "sequence_bounds": sequence_bounds,
}
