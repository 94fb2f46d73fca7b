"""Running results along the free dimensions, each element from the one before it."""

from __future__ import annotations

import numpy as np

from neff_bench.simulator.machine import alu
from neff_bench.simulator.machine.accumulators import prepare
from neff_bench.simulator.machine.operands import Operands
from neff_bench.simulator.operations.elementwise import scalar_operator

_ACCUMULATE = {"add": np.add, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum}


def tensor_tensor_scan(o: Operands) -> None:
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


def tensor_scalar_cumulative(o: Operands) -> None:
    """register = (src[i] op0 imm0) op1 register, every register value stored."""
    values = scalar_operator(o, o.rows("src"), "op0", "imm0", "reverse0")
    op = o.attributes["op1"]
    command = o.attributes.get("reduce_cmd", "reset_reduce")
    rows = values.shape[0]
    registers = prepare(o, rows, command, "vector", op, "imm1")
    if op in _ACCUMULATE:
        running = np.concatenate([registers[:rows, None], values], axis=1)
        result = _ACCUMULATE[op].accumulate(running, axis=1)[:, 1:]
    elif op == "subtract":
        result, state = np.empty_like(values), registers[:rows].copy()
        for i in range(values.shape[1]):
            state = values[:, i] - state
            result[:, i] = state
    else:
        o.refuse(f"op1 {op!r} is not modelled")
    registers[:rows] = result[:, -1]
    o.write("dst", result)


OPERATIONS = {"tensor_tensor_scan": tensor_tensor_scan, "tensor_scalar_cumulative": tensor_scalar_cumulative}
