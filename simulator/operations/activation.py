"""Scalar Engine: a function of (data * scale + bias), with an optional sum over the free dimensions."""

from __future__ import annotations

import numpy as np

from neff_bench.simulator.machine import alu
from neff_bench.simulator.machine.accumulators import accumulate
from neff_bench.simulator.machine.activations import activation_function, prelu
from neff_bench.simulator.machine.operands import Operands


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


def exponential(o: Operands) -> None:
    """exp(src - max_value) on the Vector Engine, with an optional running sum."""
    source = o.float32("src")
    result = np.exp(source - o.per_partition("max_value", source))
    accumulate(o, result, o.attributes.get("reduce_cmd", "idle"), "vector", start="reduce_init")
    o.write("dst", result)


OPERATIONS = {
    "activation": activation,
    "activation_reduce": activation_reduce,
    "activate2": activate2,
    "exponential": exponential,
}
