"""Reductions over the free dimensions or over the partitions, and batch statistics."""

from __future__ import annotations

import numpy as np

from neff_bench.simulator.machine import alu
from neff_bench.simulator.machine.accumulators import accumulate
from neff_bench.simulator.machine.operands import Operands
from neff_bench.simulator.operations.elementwise import check_integers, scalar_operator


def tensor_reduce(o: Operands) -> None:
    op = o.attributes["op"]
    if alu.is_bitwise(op):
        check_integers(o, "data", "dst")
        values = o.raw("data")
    else:
        values = o.float32("data")
    result = alu.reduce(op, values, _reduced_axes(o, values))
    o.write("dst", -result if o.attributes.get("negate") else result)


def tensor_partition_reduce(o: Operands) -> None:
    op = o.attributes["op"]
    values = o.raw("data") if alu.is_bitwise(op) else o.float32("data")
    o.write("dst", alu.reduce(op, values, (0,)))


def tensor_scalar_reduce(o: Operands) -> None:
    """data op0 operand0, and a reduction of the results over the free dimensions."""
    result = scalar_operator(o, o.float32("data"), "op0", "operand0", "reverse0")
    accumulate(o, result, o.attributes.get("reduce_cmd", "reset_reduce"), "vector", start="reduce_init")
    o.write("dst", result)


def bn_stats(o: Operands) -> None:
    """Count, mean and variance * count of the even elements, then of the odd ones."""
    values = o.rows("data")
    halves = [np.empty((len(values), 0), np.float32)]
    for part in (values[:, 0::2], values[:, 1::2]):
        count = part.shape[1]
        mean = part.sum(axis=1, keepdims=True) / np.float32(max(count, 1))
        squares = np.square(part - mean).sum(axis=1, keepdims=True)
        halves += [np.full_like(mean, count), mean, squares]
    o.write("dst", np.concatenate(halves, axis=1))


def bn_aggr(o: Operands) -> None:
    """Mean and variance from any number of (count, mean, variance * count)."""
    values = o.rows("data")
    if values.shape[1] % 3:
        o.refuse(f"{values.shape[1]} elements a partition are not (count, mean, variance * count) triples")
    counts, means, squares = values[:, 0::3], values[:, 1::3], values[:, 2::3]
    total = counts.sum(axis=1, keepdims=True)
    mean = (counts * means).sum(axis=1, keepdims=True) / total
    variance = (squares + counts * np.square(means - mean)).sum(axis=1, keepdims=True) / total
    o.write("dst", np.concatenate([mean, variance], axis=1))


def _reduced_axes(o: Operands, values: np.ndarray) -> tuple[int, ...]:
    """The trailing free dimensions that `axis` names."""
    given = o.attributes["axis"]
    axes = tuple(sorted(axis % values.ndim for axis in ([given] if isinstance(given, int) else given)))
    if not axes or axes[0] == 0 or axes != tuple(range(axes[0], values.ndim)):
        o.refuse(f"axis {given} does not name the last free dimensions of data {list(values.shape)}")
    return axes


OPERATIONS = {
    "tensor_reduce": tensor_reduce,
    "tensor_partition_reduce": tensor_partition_reduce,
    "tensor_scalar_reduce": tensor_scalar_reduce,
    "bn_stats": bn_stats,
    "bn_aggr": bn_aggr,
}
