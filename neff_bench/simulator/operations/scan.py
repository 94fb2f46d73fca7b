"""Computes running results along the free dimensions, each element from the one before it."""

from __future__ import annotations

from typing import Any

import numpy as np

from neff_bench.simulator.costs.engine_work import engine_work
from neff_bench.simulator.machine import alu
from neff_bench.simulator.machine.accumulators import prepare
from neff_bench.simulator.machine.operands import Operands
from neff_bench.simulator.operations.declaration import operation
from neff_bench.simulator.operations.elementwise import scalar_operator
from neff_bench.simulator.recording import check
from neff_bench.simulator.recording.enums import reduce_cmd as reduce_enum
from neff_bench.simulator.recording.enums import word
from neff_bench.simulator.recording.operator_names import BINARY, BITVEC
from neff_bench.simulator.recording.operator_names import alu as operator_name
from neff_bench.simulator.recording.recorder import NkiInstruction, emit, invalid
from neff_bench.simulator.recording.tensor import NkiTensor

_ARITHMETIC = BINARY - BITVEC
_ACCUMULATE = frozenset({"add", "subtract", "multiply", "maximum", "minimum"})
_RUNNING = {"add": np.add, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum}
_RESET_REDUCE = reduce_enum.reset_reduce


def _tensor_tensor_scan(o: Operands) -> None:
    """result[i] = (data0[i] op0 result[i - 1]) op1 data1[i], from `initial`."""
    first, second = o.rows("data0").T.copy(), o.rows("data1").T.copy()
    op0, op1 = alu.binary(o.attributes["op0"]), alu.binary(o.attributes["op1"])
    reverse0, reverse1 = o.attributes.get("reverse0"), o.attributes.get("reverse1")
    state = np.broadcast_to(np.asarray(o.per_partition("initial", first.T)).reshape(-1), first.shape[1:])
    result = np.empty_like(first)
    for i in range(len(first)):
        state = op0(state, first[i]) if reverse0 else op0(first[i], state)
        state = op1(second[i], state) if reverse1 else op1(state, second[i])
        result[i] = state
    o.write("dst", result.T)


@operation(execute=_tensor_tensor_scan, cost=engine_work(), opcode="TENSOR_TENSOR_SCAN")
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
    """Compute `dst`[i] = op1(op0(`data0`[i], `dst`[i - 1]), `data1`[i]), starting from `initial`."""
    check.on_chip("tensor_tensor_scan", dst=dst, data0=data0, data1=data1)
    check.same_tile("tensor_tensor_scan", "data0", data0, dst)
    check.same_tile("tensor_tensor_scan", "data1", data1, dst)
    reads = {"data0": data0, "data1": data1}
    attributes: dict[str, Any] = {
        "op0": operator_name("tensor_tensor_scan", "op0", op0, _ARITHMETIC),
        "op1": operator_name("tensor_tensor_scan", "op1", op1, _ARITHMETIC),
    }
    check.operand("tensor_tensor_scan", "initial", initial, dst.shape[0], reads, attributes)
    if reverse0:
        attributes["reverse0"] = True
    if reverse1:
        attributes["reverse1"] = True
    return emit("tensor_tensor_scan", "vector", {"dst": dst}, reads, attributes)


def _tensor_scalar_cumulative(o: Operands) -> None:
    """Compute register = (src[i] op0 imm0) op1 register, and store every value of the register."""
    values = scalar_operator(o, o.rows("src"), "op0", "imm0", "reverse0")
    op = o.attributes["op1"]
    command = o.attributes.get("reduce_cmd", "reset_reduce")
    rows = values.shape[0]
    registers = prepare(o, rows, command, "vector", op, "imm1")
    if op in _RUNNING:
        running = np.concatenate([registers[:rows, None], values], axis=1)
        result = _RUNNING[op].accumulate(running, axis=1)[:, 1:]
    elif op == "subtract":
        result, state = np.empty_like(values), registers[:rows].copy()
        for i in range(values.shape[1]):
            state = values[:, i] - state
            result[:, i] = state
    else:
        o.refuse(f"op1 {op!r} is not modelled")
    registers[:rows] = result[:, -1]
    o.write("dst", result)


@operation(execute=_tensor_scalar_cumulative, cost=engine_work(), opcode="TENSOR_SCALAR_CUMULATIVE")
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
    """Compute `dst`[i] = op1(op0(`src`[i], imm0), `dst`[i - 1]) along the free dimensions."""
    check.on_chip("tensor_scalar_cumulative", dst=dst, src=src)
    check.same_tile("tensor_scalar_cumulative", "src", src, dst)
    reads = {"src": src}
    attributes: dict[str, Any] = {
        "op0": operator_name("tensor_scalar_cumulative", "op0", op0, _ARITHMETIC),
        "op1": operator_name("tensor_scalar_cumulative", "op1", op1, _ACCUMULATE),
        "reduce_cmd": word(reduce_enum, reduce_cmd),
    }
    for value in (dst, src):
        if value.dtype in ("int32", "uint32"):
            raise invalid(f"tensor_scalar_cumulative: int32 and uint32 are not supported: {value!r}")
    check.operand("tensor_scalar_cumulative", "imm0", imm0, src.shape[0], reads, attributes)
    check.operand("tensor_scalar_cumulative", "imm1", imm1, src.shape[0], reads, attributes)
    return emit("tensor_scalar_cumulative", "vector", {"dst": dst}, reads, attributes)
