"""Computes reductions over the free dimensions or over the partitions, and batch statistics."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from neff_bench.simulator.costs.engine_work import engine_work
from neff_bench.simulator.machine import alu
from neff_bench.simulator.machine.accumulators import accumulate
from neff_bench.simulator.machine.operands import Operands
from neff_bench.simulator.operations.declaration import operation
from neff_bench.simulator.operations.elementwise import check_integers, scalar_operator, scalar_stage
from neff_bench.simulator.recording import check
from neff_bench.simulator.recording.enums import reduce_cmd as reduce_enum
from neff_bench.simulator.recording.enums import word
from neff_bench.simulator.recording.operator_names import REDUCTIONS
from neff_bench.simulator.recording.operator_names import alu as operator_name
from neff_bench.simulator.recording.recorder import NkiInstruction, emit, invalid
from neff_bench.simulator.recording.tensor import NkiTensor

_ACCUMULATE = frozenset({"add", "subtract", "multiply", "maximum", "minimum"})
_PARTITION_OPS = frozenset({"add", "average", "maximum", "bitwise_or", "bitwise_and"})
_RESET_REDUCE = reduce_enum.reset_reduce


def _tensor_reduce(o: Operands) -> None:
    op = o.attributes["op"]
    if alu.is_bitwise(op):
        check_integers(o, "data", "dst")
        values = o.raw("data")
    else:
        values = o.float32("data")
    result = alu.reduce(op, values, _reduced_axes(o, values))
    o.write("dst", -result if o.attributes.get("negate") else result)


@operation(execute=_tensor_reduce, cost=engine_work(), opcode="TENSOR_REDUCE")
def tensor_reduce(
    dst: NkiTensor,
    op: Any,
    data: NkiTensor,
    axis: Any,
    negate: bool = False,
    keepdims: bool = False,
    name: str | None = None,
) -> NkiInstruction:
    """Compute `dst` = reduction of `data` over its last free dimensions; `axis` is recorded as the list of them."""
    check.on_chip("tensor_reduce", dst=dst, data=data)
    word_op = operator_name("tensor_reduce", "op", op, REDUCTIONS)
    axes = _axes(dst, data, axis)
    if dst.shape[0] != data.shape[0]:
        raise invalid(f"tensor_reduce: dst has {dst.shape[0]} partitions, expected {data.shape[0]}")
    attributes: dict[str, Any] = {"op": word_op, "axis": axes}
    if negate:
        attributes["negate"] = True
    return emit("tensor_reduce", "vector", {"dst": dst}, {"data": data}, attributes)


def _tensor_partition_reduce(o: Operands) -> None:
    op = o.attributes["op"]
    values = o.raw("data") if alu.is_bitwise(op) else o.float32("data")
    o.write("dst", alu.reduce(op, values, (0,)))


@operation(execute=_tensor_partition_reduce, cost=engine_work(), opcode="TENSOR_PARTITION_REDUCE")
def tensor_partition_reduce(dst: NkiTensor, op: Any, data: NkiTensor, name: str | None = None) -> NkiInstruction:
    """Compute `dst` [1, F] = reduction of `data` [P, F] across partitions, on GpSimd."""
    check.on_chip("tensor_partition_reduce", dst=dst, data=data)
    check.no_psum_on_gpsimd("tensor_partition_reduce", "gpsimd", dst, data)
    if dst.shape[0] != 1 or check.free(dst) != check.free(data):
        raise invalid(f"tensor_partition_reduce: dst must be [1, {check.free(data)}]: {dst!r}")
    attributes = {"op": operator_name("tensor_partition_reduce", "op", op, _PARTITION_OPS)}
    return emit("tensor_partition_reduce", "gpsimd", {"dst": dst}, {"data": data}, attributes)


def _tensor_scalar_reduce(o: Operands) -> None:
    """Compute data op0 operand0, and reduce the results over the free dimensions."""
    result = scalar_operator(o, o.float32("data"), "op0", "operand0", "reverse0")
    accumulate(o, result, o.attributes.get("reduce_cmd", "reset_reduce"), "vector", start="reduce_init")
    o.write("dst", result)


@operation(execute=_tensor_scalar_reduce, cost=engine_work(), opcode="TENSOR_SCALAR_REDUCE")
def tensor_scalar_reduce(
    dst: NkiTensor,
    data: NkiTensor,
    op0: Any,
    operand0: Any,
    reduce_op: Any,
    reduce_res: NkiTensor | None = None,
    reverse0: bool = False,
    reduce_cmd: Any = _RESET_REDUCE,
    reduce_init: Any = None,
    reduce_res_negate: bool = False,
    name: str | None = None,
) -> NkiInstruction:
    """Compute `dst` = `data` op0 operand0, `reduce_res` = its reduction over the free dimensions."""
    check.on_chip("tensor_scalar_reduce", dst=dst, data=data)
    check.same_tile("tensor_scalar_reduce", "data", data, dst)
    reads, writes = {"data": data}, {"dst": dst}
    attributes: dict[str, Any] = {}
    scalar_stage("tensor_scalar_reduce", "0", op0, operand0, reverse0, data, reads, attributes)
    attributes["reduce_op"] = operator_name("tensor_scalar_reduce", "reduce_op", reduce_op, _ACCUMULATE)
    attributes["reduce_cmd"] = word(reduce_enum, reduce_cmd)
    check.operand("tensor_scalar_reduce", "reduce_init", reduce_init, data.shape[0], reads, attributes)
    if reduce_res_negate:
        attributes["reduce_res_negate"] = True
    if reduce_res is not None:
        writes["reduce_res"] = check.vector("tensor_scalar_reduce", "reduce_res", reduce_res, data.shape[0])
    return emit("tensor_scalar_reduce", "vector", writes, reads, attributes)


def _bn_stats(o: Operands) -> None:
    """Count, mean and variance * count of the even elements, then of the odd ones."""
    values = o.rows("data")
    halves = [np.empty((len(values), 0), np.float32)]
    for part in (values[:, 0::2], values[:, 1::2]):
        count = part.shape[1]
        mean = part.sum(axis=1, keepdims=True) / np.float32(max(count, 1))
        squares = np.square(part - mean).sum(axis=1, keepdims=True)
        halves += [np.full_like(mean, count), mean, squares]
    o.write("dst", np.concatenate(halves, axis=1))


@operation(execute=_bn_stats, cost=engine_work(), opcode="BN_STATS")
def bn_stats(dst: NkiTensor, data: NkiTensor, name: str | None = None) -> NkiInstruction:
    """Write to `dst` [P, 6] count, mean, variance * count of the even and of the odd elements; at most 512 of them."""
    check.on_chip("bn_stats", dst=dst, data=data)
    if dst.shape[0] != data.shape[0] or check.free(dst) != 6:
        raise invalid(f"bn_stats: dst must be [{data.shape[0]}, 6]: {dst!r}")
    if check.free(data) > 512:
        raise invalid(f"bn_stats: at most 512 elements in a partition: {data!r}")
    return emit("bn_stats", "vector", {"dst": dst}, {"data": data}, {})


def _bn_aggr(o: Operands) -> None:
    """Mean and variance from any number of (count, mean, variance * count)."""
    values = o.rows("data")
    if values.shape[1] % 3:
        o.refuse(f"{values.shape[1]} elements a partition are not (count, mean, variance * count) triples")
    counts, means, squares = values[:, 0::3], values[:, 1::3], values[:, 2::3]
    total = counts.sum(axis=1, keepdims=True)
    mean = (counts * means).sum(axis=1, keepdims=True) / total
    variance = (squares + counts * np.square(means - mean)).sum(axis=1, keepdims=True) / total
    o.write("dst", np.concatenate([mean, variance], axis=1))


@operation(execute=_bn_aggr, cost=engine_work(), opcode="BN_AGGR")
def bn_aggr(dst: NkiTensor, data: NkiTensor, name: str | None = None) -> NkiInstruction:
    """Write to `dst` [P, 2] mean and variance of the tuples (count, mean, variance * count) in `data`."""
    check.on_chip("bn_aggr", dst=dst, data=data)
    if dst.shape[0] != data.shape[0] or check.free(dst) != 2 or check.free(data) % 3:
        raise invalid(f"bn_aggr: dst must be [{data.shape[0]}, 2] and data a multiple of three: {dst!r}, {data!r}")
    return emit("bn_aggr", "vector", {"dst": dst}, {"data": data}, {})


def _reduced_axes(o: Operands, values: np.ndarray) -> tuple[int, ...]:
    """Return the trailing free dimensions that `axis` names."""
    given = o.attributes["axis"]
    axes = tuple(sorted(axis % values.ndim for axis in ([given] if isinstance(given, int) else given)))
    if not axes or axes[0] == 0 or axes != tuple(range(axes[0], values.ndim)):
        o.refuse(f"axis {given} does not name the last free dimensions of data {list(values.shape)}")
    return axes


_LAST = 4
"""The last of the dimensions that an instruction has: partitions and four free ones."""


def _axes(dst: NkiTensor, data: NkiTensor, axis: Any) -> list[int]:
    """Return the reduced dimensions, the last ones first.

    Dialects before 0.3 count `axis` from the inside: 2 on a 3-d tile are its last two. Which one is meant shows in the size of `dst`. The ISA's last axis, 4,
    is the last one of a tile of fewer dimensions.
    """
    rank = len(data.shape)
    named = [
        -1 if at == _LAST and rank <= _LAST else at for at in (axis if isinstance(axis, (tuple, list)) else [axis])
    ]
    given = check.free_axes("tensor_reduce", data, named)
    free = check.free(dst)
    for axes in (given, list(range(rank - len(given), rank)), list(range(rank - given[-1], rank))):
        if axes == list(range(rank - len(axes), rank)):
            if prod(data.shape[1 : axes[0]]) == free:
                return axes
    raise invalid(f"tensor_reduce: axis {axis} of {data!r} does not give {dst!r}; the last free dimensions are reduced")
