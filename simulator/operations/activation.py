"""Scalar Engine: a function of (data * scale + bias), with an optional sum over the free dimensions."""

from __future__ import annotations

import numpy as np

from simulator.operations import alu
from simulator.operations.functions import activation_function, prelu
from simulator.operations.operands import Operands


def activation(o: Operands) -> None:
    data = o.float32("data")
    result = activation_function(o.attributes["op"])(_scale_and_bias(o, data))
    accumulate(o, result, o.attributes.get("reduce_cmd", "idle"), "scalar")
    o.write("dst", result)


def activation_reduce(o: Operands) -> None:
    data = o.float32("data")
    result = activation_function(o.attributes["op"])(_scale_and_bias(o, data))
    accumulate(o, result, "reset_reduce", "scalar")
    o.write("dst", result)


def activate2(o: Operands) -> None:
    """op((data op0 imm0) op1 imm1), the operators programmable."""
    values = o.float32("data")
    for number in ("0", "1"):
        op = o.attributes.get("op" + number) or "bypass"
        if op == "bypass":
            continue
        operand = o.per_partition("imm" + number, values)
        function = alu.binary(op)
        reverse = o.attributes.get("reverse" + number)
        values = function(operand, values) if reverse else function(values, operand)
    if o.attributes["op"] == "prelu":
        result = prelu(values, o.per_partition("relu_param", values))
    else:
        result = activation_function(o.attributes["op"])(values)
    accumulate(o, result, o.attributes.get("reduce_cmd", "idle"), "scalar")
    o.write("dst", result)


def _scale_and_bias(o: Operands, data: np.ndarray) -> np.ndarray:
    values = data
    if o.has("scale"):
        values = values * o.per_partition("scale", data, 1.0)
    if o.has("bias"):
        values = values + o.per_partition("bias", data)
    return values


_START = {"add": 0.0, "subtract": 0.0, "multiply": 1.0, "maximum": -np.inf, "minimum": np.inf}


def accumulate(
    o: Operands, values: np.ndarray, command: str, engine: str, default_op: str = "add", start: np.ndarray | None = None
) -> None:
    """Reduce results over the free dimensions into the engine's registers, as `reduce_cmd` says; write `reduce_res`.

    `start`: the value of load_reduce, one a partition.
    """
    op = alu.operator_name(o.attributes.get("reduce_op") or default_op)
    registers = o.registers.accumulator(engine)
    rows = values.shape[0]
    if command not in ("idle", "reset", "reduce", "reset_reduce", "load_reduce"):
        o.refuse(f"reduce_cmd {command!r} is not modelled")
    if command in ("reset", "reset_reduce"):
        if op not in _START:
            o.refuse(f"reduce_op {op!r} has no initial value that is modelled")
        registers[:] = _START[op]
    if command == "load_reduce":
        if start is None:
            o.refuse("load_reduce without a value to load")
        registers[:rows] = np.broadcast_to(start, (rows,))
    if command in ("reduce", "reset_reduce", "load_reduce"):
        reduced = alu.reduce("add" if op == "subtract" else op, values.reshape(rows, -1), (1,))[:, 0]
        registers[:rows] = alu.binary(op)(registers[:rows], reduced)
    if "reduce_res" in o.instruction.writes:
        o.write("reduce_res", registers[: o.shape("reduce_res")[0]].copy())


OPERATIONS = {"activation": activation, "activation_reduce": activation_reduce, "activate2": activate2}
