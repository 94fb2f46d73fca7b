"""Reductions and scans, Vector unless said otherwise (AWS docs, nki.isa.tensor_reduce and neighbours)."""

from __future__ import annotations

from math import prod
from typing import Any

from neff_bench.simulator.nki.isa.elementwise import scalar_stage
from neff_bench.simulator.recording import check
from neff_bench.simulator.recording.enums import reduce_cmd as reduce_enum
from neff_bench.simulator.recording.enums import word
from neff_bench.simulator.recording.operators import BINARY, BITVEC, REDUCTIONS, alu
from neff_bench.simulator.recording.recorder import NkiInstruction, invalid, recorder
from neff_bench.simulator.recording.tensor import NkiTensor, access

_ARITHMETIC = BINARY - BITVEC
_ACCUMULATE = frozenset({"add", "subtract", "multiply", "maximum", "minimum"})
_PARTITION_OPS = frozenset({"add", "average", "maximum", "bitwise_or", "bitwise_and"})
_RESET_REDUCE = reduce_enum.reset_reduce


def tensor_reduce(
    dst: NkiTensor,
    op: Any,
    data: NkiTensor,
    axis: Any,
    negate: bool = False,
    keepdims: bool = False,
    name: str | None = None,
) -> NkiInstruction:
    """`dst` = reduction of `data` over its last free dimensions; `axis` is recorded as the list of them."""
    now = recorder()
    check.on_chip("tensor_reduce", dst=dst, data=data)
    word_op = alu("tensor_reduce", "op", op, REDUCTIONS)
    axes = _axes(dst, data, axis)
    if dst.shape[0] != data.shape[0]:
        raise invalid(f"tensor_reduce: dst has {dst.shape[0]} partitions, expected {data.shape[0]}")
    attributes: dict[str, Any] = {"op": word_op, "axis": axes}
    if negate:
        attributes["negate"] = True
    return now.emit("tensor_reduce", "vector", {"dst": access(dst)}, {"data": access(data)}, attributes)


def _axes(dst: NkiTensor, data: NkiTensor, axis: Any) -> list[int]:
    """The reduced dimensions, last ones first given.

    Dialects before 0.3 count `axis` from the inside: 1 on a 3-d tile is its last dimension, 2 are its last two.
    Which one is meant shows in the size of `dst`.
    """
    rank = len(data.shape)
    given = sorted({int(at) % rank for at in (axis if isinstance(axis, (tuple, list)) else (axis,))})
    free = check.free(dst)
    for axes in (given, list(range(rank - len(given), rank)), list(range(rank - given[-1], rank))):
        if axes == list(range(rank - len(axes), rank)) and 0 not in axes:
            if prod(data.shape[1 : axes[0]]) == free:
                return axes
    raise invalid(f"tensor_reduce: axis {axis} of {data!r} does not give {dst!r}; the last free dimensions are reduced")


def tensor_partition_reduce(dst: NkiTensor, op: Any, data: NkiTensor, name: str | None = None) -> NkiInstruction:
    """`dst` [1, F] = reduction of `data` [P, F] across partitions, on GpSimd."""
    now = recorder()
    check.on_chip("tensor_partition_reduce", dst=dst, data=data)
    check.no_psum_on_gpsimd("tensor_partition_reduce", "gpsimd", dst, data)
    if dst.shape[0] != 1 or check.free(dst) != check.free(data):
        raise invalid(f"tensor_partition_reduce: dst must be [1, {check.free(data)}]: {dst!r}")
    attributes = {"op": alu("tensor_partition_reduce", "op", op, _PARTITION_OPS)}
    return now.emit("tensor_partition_reduce", "gpsimd", {"dst": access(dst)}, {"data": access(data)}, attributes)


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
    """`dst` = `data` op0 operand0, `reduce_res` = its reduction over the free dimensions."""
    now = recorder()
    check.on_chip("tensor_scalar_reduce", dst=dst, data=data)
    check.same_tile("tensor_scalar_reduce", "data", data, dst)
    reads, writes = {"data": access(data)}, {"dst": access(dst)}
    attributes: dict[str, Any] = {}
    scalar_stage("tensor_scalar_reduce", "0", op0, operand0, reverse0, data, reads, attributes)
    attributes["reduce_op"] = alu("tensor_scalar_reduce", "reduce_op", reduce_op, _ACCUMULATE)
    attributes["reduce_cmd"] = word(reduce_enum, reduce_cmd)
    check.operand("tensor_scalar_reduce", "reduce_init", reduce_init, data.shape[0], reads, attributes)
    if reduce_res_negate:
        attributes["reduce_res_negate"] = True
    if reduce_res is not None:
        writes["reduce_res"] = check.vector("tensor_scalar_reduce", "reduce_res", reduce_res, data.shape[0])
    return now.emit("tensor_scalar_reduce", "vector", writes, reads, attributes)


def tensor_scalar_cumulative(
    dst: NkiTensor,
    src: NkiTensor,
    op0: Any,
    op1: Any,
    imm0: Any,
    imm1: Any = None,
    reduce_cmd: Any = _RESET_REDUCE,
    name: str | None = None,
) -> NkiInstruction:
    """`dst`[i] = op1(op0(`src`[i], imm0), `dst`[i - 1]) along the free dimensions."""
    now = recorder()
    check.on_chip("tensor_scalar_cumulative", dst=dst, src=src)
    check.same_tile("tensor_scalar_cumulative", "src", src, dst)
    reads = {"src": access(src)}
    attributes: dict[str, Any] = {
        "op0": alu("tensor_scalar_cumulative", "op0", op0, _ARITHMETIC),
        "op1": alu("tensor_scalar_cumulative", "op1", op1, _ACCUMULATE),
        "reduce_cmd": word(reduce_enum, reduce_cmd),
    }
    for value in (dst, src):
        if value.dtype in ("int32", "uint32"):
            raise invalid(f"tensor_scalar_cumulative: int32 and uint32 are not supported: {value!r}")
    check.operand("tensor_scalar_cumulative", "imm0", imm0, src.shape[0], reads, attributes)
    check.operand("tensor_scalar_cumulative", "imm1", imm1, src.shape[0], reads, attributes)
    return now.emit("tensor_scalar_cumulative", "vector", {"dst": access(dst)}, reads, attributes)


def tensor_tensor_scan(
    dst: NkiTensor,
    data0: NkiTensor,
    data1: NkiTensor,
    initial: Any,
    op0: Any,
    op1: Any,
    reverse0: bool = False,
    reverse1: bool = False,
    name: str | None = None,
) -> NkiInstruction:
    """`dst`[i] = op1(op0(`data0`[i], `dst`[i - 1]), `data1`[i]), starting from `initial`."""
    now = recorder()
    check.on_chip("tensor_tensor_scan", dst=dst, data0=data0, data1=data1)
    check.same_tile("tensor_tensor_scan", "data0", data0, dst)
    check.same_tile("tensor_tensor_scan", "data1", data1, dst)
    reads = {"data0": access(data0), "data1": access(data1)}
    attributes: dict[str, Any] = {
        "op0": alu("tensor_tensor_scan", "op0", op0, _ARITHMETIC),
        "op1": alu("tensor_tensor_scan", "op1", op1, _ARITHMETIC),
    }
    check.operand("tensor_tensor_scan", "initial", initial, dst.shape[0], reads, attributes)
    if reverse0:
        attributes["reverse0"] = True
    if reverse1:
        attributes["reverse1"] = True
    return now.emit("tensor_tensor_scan", "vector", {"dst": access(dst)}, reads, attributes)


def scalar_tensor_tensor(
    dst: NkiTensor,
    data: NkiTensor,
    op0: Any,
    operand0: Any,
    op1: Any,
    operand1: NkiTensor,
    reverse0: bool = False,
    reverse1: bool = False,
    name: str | None = None,
    engine: Any = None,
) -> NkiInstruction:
    """`dst` = (`data` op0 operand0) op1 `operand1`; operand0 as in tensor_scalar, operand1 a tile."""
    now = recorder()
    check.on_chip("scalar_tensor_tensor", dst=dst, data=data, operand1=operand1)
    check.same_tile("scalar_tensor_tensor", "data", data, dst)
    check.same_tile("scalar_tensor_tensor", "operand1", operand1, dst)
    reads = {"data": access(data), "operand1": access(operand1)}
    attributes: dict[str, Any] = {}
    scalar_stage("scalar_tensor_tensor", "0", op0, operand0, reverse0, data, reads, attributes)
    attributes["op1"] = alu("scalar_tensor_tensor", "op1", op1, _ARITHMETIC)
    if reverse1:
        attributes["reverse1"] = True
    chosen = check.chosen_engine("scalar_tensor_tensor", engine, ("vector", "gpsimd"), "vector")
    check.no_psum_on_gpsimd("scalar_tensor_tensor", chosen, dst, data, operand1)
    return now.emit("scalar_tensor_tensor", chosen, {"dst": access(dst)}, reads, attributes)


def reciprocal(dst: NkiTensor, data: NkiTensor, name: str | None = None, engine: Any = None) -> NkiInstruction:
    """`dst` = 1 / `data`."""
    now = recorder()
    check.on_chip("reciprocal", dst=dst, data=data)
    check.same_tile("reciprocal", "data", data, dst)
    chosen = check.chosen_engine("reciprocal", engine, ("vector", "gpsimd", "scalar"), "vector")
    return now.emit("reciprocal", chosen, {"dst": access(dst)}, {"data": access(data)}, {})


def bn_stats(dst: NkiTensor, data: NkiTensor, name: str | None = None) -> NkiInstruction:
    """`dst` [P, 6]: count, mean, variance * count of the even and of the odd elements; at most 512 of them."""
    now = recorder()
    check.on_chip("bn_stats", dst=dst, data=data)
    if dst.shape[0] != data.shape[0] or check.free(dst) != 6:
        raise invalid(f"bn_stats: dst must be [{data.shape[0]}, 6]: {dst!r}")
    if check.free(data) > 512:
        raise invalid(f"bn_stats: at most 512 elements in a partition: {data!r}")
    return now.emit("bn_stats", "vector", {"dst": access(dst)}, {"data": access(data)}, {})


def bn_aggr(dst: NkiTensor, data: NkiTensor, name: str | None = None) -> NkiInstruction:
    """`dst` [P, 2]: mean and variance of the tuples (count, mean, variance * count) in `data`."""
    now = recorder()
    check.on_chip("bn_aggr", dst=dst, data=data)
    if dst.shape[0] != data.shape[0] or check.free(dst) != 2 or check.free(data) % 3:
        raise invalid(f"bn_aggr: dst must be [{data.shape[0]}, 2] and data a multiple of three: {dst!r}, {data!r}")
    return now.emit("bn_aggr", "vector", {"dst": access(dst)}, {"data": access(data)}, {})


def max8(dst: NkiTensor, src: NkiTensor, name: str | None = None) -> NkiInstruction:
    """`dst` [P, 8]: the eight largest of each partition, descending; 8 to 16,384 elements."""
    now = recorder()
    check.on_chip("max8", dst=dst, src=src)
    check_eight("max8", "dst", dst, src)
    if not 8 <= check.free(src) <= 16384:
        raise invalid(f"max8: 8 to 16384 elements in a partition: {src!r}")
    return now.emit("max8", "vector", {"dst": access(dst)}, {"src": access(src)}, {})


def check_eight(op: str, key: str, value: NkiTensor, like: NkiTensor) -> None:
    if value.shape[0] != like.shape[0] or check.free(value) != 8:
        raise invalid(f"{op}: {key} must be [{like.shape[0]}, 8]: {value!r}")


def exponential(
    dst: NkiTensor,
    src: NkiTensor,
    max_value: Any = 0.0,
    reduce_res: NkiTensor | None = None,
    reduce_cmd: Any = reduce_enum.idle,
    reduce_init: Any = 0.0,
    name: str | None = None,
) -> NkiInstruction:
    """`dst` = exp(`src` - max_value), with an optional running sum; NeuronCore-v4."""
    now = recorder()
    if now.target != "trn3":
        raise invalid(f"exponential: only on trn3, not on {now.target}")
    check.on_chip("exponential", dst=dst, src=src)
    check.same_tile("exponential", "src", src, dst)
    reads, writes = {"src": access(src)}, {"dst": access(dst)}
    attributes: dict[str, Any] = {}
    check.operand("exponential", "max_value", max_value, src.shape[0], reads, attributes)
    command = word(reduce_enum, reduce_cmd)
    if command != "idle":
        attributes["reduce_cmd"] = command
        check.operand("exponential", "reduce_init", reduce_init, src.shape[0], reads, attributes)
    if reduce_res is not None:
        writes["reduce_res"] = check.vector("exponential", "reduce_res", reduce_res, src.shape[0])
    return now.emit("exponential", "vector", writes, reads, attributes)
