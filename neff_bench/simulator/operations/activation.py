"""Computes functions: of (data * scale + bias) on the Scalar Engine, and exp on the Vector Engine (AWS docs, nki.isa.activation,
activation_reduce, activate2, exponential).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from neff_bench.chips import chip_for, names_from
from neff_bench.simulator.costs.engine_work import engine_work
from neff_bench.simulator.machine import alu
from neff_bench.simulator.machine.accumulators import accumulate
from neff_bench.simulator.machine.activations import activation_function, prelu
from neff_bench.simulator.machine.operands import Operands
from neff_bench.simulator.operations.declaration import operation
from neff_bench.simulator.recording import check
from neff_bench.simulator.recording.enums import reduce_cmd as reduce_enum
from neff_bench.simulator.recording.enums import word
from neff_bench.simulator.recording.operator_names import ACTIVATIONS
from neff_bench.simulator.recording.operator_names import alu as operator_name
from neff_bench.simulator.recording.recorder import NkiInstruction, emit, invalid, recorder
from neff_bench.simulator.recording.tensor import NkiTensor

_IDLE = reduce_enum.idle
_STAGES = frozenset({"multiply", "add", "subtract", "bypass"})
_STAGE_PAIRS = frozenset(
    {
        ("multiply", "add"),
        ("multiply", "subtract"),
        ("multiply", "bypass"),
        ("add", "bypass"),
        ("subtract", "bypass"),
        ("bypass", "bypass"),
    }
)
_REDUCE = frozenset({"add", "maximum", "minimum", "abs_max", "abs_min"})


def _activation(o: Operands) -> None:
    data = o.float32("data")
    result = activation_function(o.attributes["op"])(_scale_and_bias(o, data))
    accumulate(o, result, o.attributes.get("reduce_cmd", "idle"), "scalar")
    o.write("dst", result)


@operation(execute=_activation, cost=engine_work(function=True), opcode="ACTIVATE")
def activation(
    dst: NkiTensor,
    op: Any,
    data: NkiTensor,
    bias: Any = None,
    scale: Any = 1.0,
    reduce_op: Any = None,
    reduce_res: NkiTensor | None = None,
    reduce_cmd: Any = None,
    name: str | None = None,
) -> NkiInstruction:
    """Compute `dst` = op(`data` * scale + bias), with an optional sum over the free dimensions into engine registers.

    `reduce_cmd` is reset_reduce where it is left out beside `reduce_res`: AWS documents idle, but public kernels read the sum of each tile, right on trn2.
    """
    default = "idle" if reduce_res is None else "reset_reduce"
    command = default if reduce_cmd is None else word(reduce_enum, reduce_cmd)
    return _record("activation", dst, op, data, bias, scale, reduce_op, reduce_res, command)


def _activation_reduce(o: Operands) -> None:
    data = o.float32("data")
    result = activation_function(o.attributes["op"])(_scale_and_bias(o, data))
    accumulate(o, result, "reset_reduce", "scalar")
    o.write("dst", result)


@operation(execute=_activation_reduce, cost=engine_work(function=True), opcode="ACTIVATE_REDUCE")
def activation_reduce(
    dst: NkiTensor,
    op: Any,
    data: NkiTensor,
    reduce_op: Any,
    reduce_res: NkiTensor | None,
    bias: Any = None,
    scale: Any = 1.0,
    name: str | None = None,
) -> NkiInstruction:
    """Compute `activation` with `reduce_cmd` reset_reduce; recorded as `activation` with these attributes."""
    return _record("activation", dst, op, data, bias, scale, reduce_op, reduce_res, "reset_reduce")


def _activate2(o: Operands) -> None:
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


@operation(execute=_activate2, cost=engine_work(function=True), opcode="ACTIVATE")
def activate2(
    dst: NkiTensor,
    op: Any,
    data: NkiTensor,
    imm0: Any,
    imm1: Any,
    op0: Any,
    op1: Any,
    relu_param: Any = 0.0,
    reverse0: bool = False,
    reverse1: bool = False,
    reduce_op: Any = None,
    reduce_res: NkiTensor | None = None,
    reduce_cmd: Any = _IDLE,
    name: str | None = None,
) -> NkiInstruction:
    """Compute `dst` = op((`data` op0 imm0) op1 imm1), with an optional reduction into engine registers; NeuronCore-v4."""
    if chip_for(recorder().target).generation < 4:
        raise invalid(f"activate2: only on {names_from(generation=4)}, not on {recorder().target}")
    check.on_chip("activate2", dst=dst, data=data)
    check.same_tile("activate2", "data", data, dst)
    stages = (operator_name("activate2", "op0", op0, _STAGES), operator_name("activate2", "op1", op1, _STAGES))
    if stages not in _STAGE_PAIRS:
        raise invalid(f"activate2: the stages {stages[0]} and {stages[1]} do not go together")
    attributes: dict[str, Any] = {
        "op": operator_name("activate2", "op", op, ACTIVATIONS),
        "op0": stages[0],
        "op1": stages[1],
    }
    reads, writes = {"data": data}, {"dst": dst}
    for key, value in (("imm0", imm0), ("imm1", imm1), ("relu_param", relu_param)):
        check.operand("activate2", key, value, data.shape[0], reads, attributes)
    if reverse0:
        attributes["reverse0"] = True
    if reverse1:
        attributes["reverse1"] = True
    _reduction("activate2", data, reduce_op, reduce_res, word(reduce_enum, reduce_cmd), writes, attributes)
    return emit("activate2", "scalar", writes, reads, attributes)


def _exponential(o: Operands) -> None:
    """exp(src - max_value) on the Vector Engine, with an optional running sum."""
    source = o.float32("src")
    result = np.exp(source - o.per_partition("max_value", source))
    accumulate(o, result, o.attributes.get("reduce_cmd", "idle"), "vector", start="reduce_init")
    o.write("dst", result)


@operation(execute=_exponential, cost=engine_work(), opcode="EXPONENTIAL")
def exponential(
    dst: NkiTensor,
    src: NkiTensor,
    max_value: Any = 0.0,
    reduce_res: NkiTensor | None = None,
    reduce_cmd: Any = reduce_enum.idle,
    reduce_init: Any = 0.0,
    name: str | None = None,
) -> NkiInstruction:
    """Compute `dst` = exp(`src` - max_value), with an optional running sum; NeuronCore-v4."""
    if chip_for(recorder().target).generation < 4:
        raise invalid(f"exponential: only on {names_from(generation=4)}, not on {recorder().target}")
    check.on_chip("exponential", dst=dst, src=src)
    check.same_tile("exponential", "src", src, dst)
    reads, writes = {"src": src}, {"dst": dst}
    attributes: dict[str, Any] = {}
    check.operand("exponential", "max_value", max_value, src.shape[0], reads, attributes)
    command = word(reduce_enum, reduce_cmd)
    if command != "idle":
        attributes["reduce_cmd"] = command
        check.operand("exponential", "reduce_init", reduce_init, src.shape[0], reads, attributes)
    if reduce_res is not None:
        writes["reduce_res"] = check.vector("exponential", "reduce_res", reduce_res, src.shape[0])
    return emit("exponential", "vector", writes, reads, attributes)


def _scale_and_bias(o: Operands, data: np.ndarray) -> np.ndarray:
    values = data
    if o.has("scale"):
        values = values * o.per_partition("scale", data, 1.0)
    if o.has("bias"):
        values = values + o.per_partition("bias", data)
    return values


def _record(
    name: str,
    dst: NkiTensor,
    op: Any,
    data: NkiTensor,
    bias: Any,
    scale: Any,
    reduce_op: Any,
    reduce_res: NkiTensor | None,
    command: str,
) -> NkiInstruction:
    check.on_chip(name, dst=dst, data=data)
    check.same_tile(name, "data", data, dst)
    attributes: dict[str, Any] = {"op": operator_name(name, "op", op, ACTIVATIONS)}
    reads = {"data": data}
    writes = {"dst": dst}
    check.operand(name, "bias", bias, data.shape[0], reads, attributes)
    check.operand(name, "scale", scale, data.shape[0], reads, attributes)
    if attributes.get("scale") == 1:
        del attributes["scale"]
    _reduction(name, data, reduce_op, reduce_res, command, writes, attributes)
    return emit(name, "scalar", writes, reads, attributes)


def _reduction(
    name: str,
    data: NkiTensor,
    reduce_op: Any,
    reduce_res: NkiTensor | None,
    command: str,
    writes: dict[str, NkiTensor],
    attributes: dict[str, Any],
) -> None:
    if command != "idle":
        attributes["reduce_cmd"] = command
    if reduce_op is not None:
        attributes["reduce_op"] = operator_name(name, "reduce_op", reduce_op, _REDUCE)
    if reduce_res is not None:
        writes["reduce_res"] = check.vector(name, "reduce_res", reduce_res, data.shape[0])
        if reduce_op is None:
            raise invalid(f"{name}: reduce_res needs reduce_op")
        if command == "idle" and not any(
            step.engine == "scalar" and "reduce_cmd" in step.attributes for step in recorder().instructions
        ):
            raise invalid(f"{name}: reduce_res reads the engine's registers, and no instruction has reduced into them; "
                          "reduce_cmd is reset_reduce to reduce this one's values")  # fmt: skip
