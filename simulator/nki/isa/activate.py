"""Scalar engine: activations (AWS docs, nki.isa.activation, activation_reduce, activate2)."""

from __future__ import annotations

from typing import Any

from neff_bench.simulator.program import Access
from neff_bench.simulator.recording import check
from neff_bench.simulator.recording.enums import reduce_cmd as reduce_enum
from neff_bench.simulator.recording.enums import word
from neff_bench.simulator.recording.operators import ACTIVATIONS, alu
from neff_bench.simulator.recording.recorder import NkiInstruction, invalid, recorder
from neff_bench.simulator.recording.tensor import NkiTensor, access

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


def activation(
    dst: NkiTensor,
    op: Any,
    data: NkiTensor,
    bias: Any = None,
    scale: Any = 1.0,
    reduce_op: Any = None,
    reduce_res: NkiTensor | None = None,
    reduce_cmd: Any = _IDLE,
    name: str | None = None,
) -> NkiInstruction:
    """`dst` = op(`data` * scale + bias), with an optional sum over the free dimensions into engine registers."""
    command = "idle" if reduce_cmd is _IDLE else word(reduce_enum, reduce_cmd)
    return _activation("activation", dst, op, data, bias, scale, reduce_op, reduce_res, command)


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
    """`activation` with `reduce_cmd` reset_reduce; recorded as `activation` with these attributes."""
    return _activation("activation", dst, op, data, bias, scale, reduce_op, reduce_res, "reset_reduce")


def _activation(
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
    now = recorder()
    check.on_chip(name, dst=dst, data=data)
    check.same_tile(name, "data", data, dst)
    attributes: dict[str, Any] = {"op": alu(name, "op", op, ACTIVATIONS)}
    reads = {"data": access(data)}
    writes = {"dst": access(dst)}
    check.operand(name, "bias", bias, data.shape[0], reads, attributes)
    if type(scale) is not float or scale != 1.0:
        check.operand(name, "scale", scale, data.shape[0], reads, attributes)
    _reduction(name, data, reduce_op, reduce_res, command, writes, attributes)
    return now.emit(name, "scalar", writes, reads, attributes)


def _reduction(
    name: str,
    data: NkiTensor,
    reduce_op: Any,
    reduce_res: NkiTensor | None,
    command: str,
    writes: dict[str, Access],
    attributes: dict[str, Any],
) -> None:
    if command != "idle":
        attributes["reduce_cmd"] = command
    if reduce_op is not None:
        attributes["reduce_op"] = alu(name, "reduce_op", reduce_op, _REDUCE)
    if reduce_res is not None:
        writes["reduce_res"] = check.vector(name, "reduce_res", reduce_res, data.shape[0])
        if reduce_op is None:
            raise invalid(f"{name}: reduce_res needs reduce_op")


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
    """`dst` = op((`data` op0 imm0) op1 imm1), with an optional reduction into engine registers; NeuronCore-v4."""
    now = recorder()
    if now.target != "trn3":
        raise invalid(f"activate2: only on trn3, not on {now.target}")
    check.on_chip("activate2", dst=dst, data=data)
    check.same_tile("activate2", "data", data, dst)
    stages = (alu("activate2", "op0", op0, _STAGES), alu("activate2", "op1", op1, _STAGES))
    if stages not in _STAGE_PAIRS:
        raise invalid(f"activate2: the stages {stages[0]} and {stages[1]} do not go together")
    attributes: dict[str, Any] = {"op": alu("activate2", "op", op, ACTIVATIONS), "op0": stages[0], "op1": stages[1]}
    reads, writes = {"data": access(data)}, {"dst": access(dst)}
    for key, value in (("imm0", imm0), ("imm1", imm1), ("relu_param", relu_param)):
        check.operand("activate2", key, value, data.shape[0], reads, attributes)
    if reverse0:
        attributes["reverse0"] = True
    if reverse1:
        attributes["reverse1"] = True
    _reduction("activate2", data, reduce_op, reduce_res, word(reduce_enum, reduce_cmd), writes, attributes)
    return now.emit("activate2", "scalar", writes, reads, attributes)
