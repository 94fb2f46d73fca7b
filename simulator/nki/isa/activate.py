"""Scalar engine: activations (AWS docs, nki.isa.activation, nki.isa.activation_reduce)."""

from __future__ import annotations

from typing import Any

from simulator.nki.isa import check
from simulator.nki.isa.enums import reduce_cmd as reduce_enum
from simulator.nki.isa.enums import word
from simulator.nki.language.operators import ACTIVATIONS, alu
from simulator.nki.recorder import invalid, recorder
from simulator.nki.tensor import NkiTensor, access

_IDLE = reduce_enum.idle
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
) -> None:
    """`dst` = op(`data` * scale + bias), with an optional sum over the free dimensions into engine registers."""
    _activation("activation", dst, op, data, bias, scale, reduce_op, reduce_res, word(reduce_enum, reduce_cmd))


def activation_reduce(
    dst: NkiTensor,
    op: Any,
    data: NkiTensor,
    reduce_op: Any,
    reduce_res: NkiTensor | None,
    bias: Any = None,
    scale: Any = 1.0,
    name: str | None = None,
) -> None:
    """`activation` with `reduce_cmd` reset_reduce; recorded as `activation` with these attributes."""
    _activation("activation", dst, op, data, bias, scale, reduce_op, reduce_res, "reset_reduce")


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
) -> None:
    now = recorder()
    check.on_chip(name, dst=dst, data=data)
    check.same_tile(name, "data", data, dst)
    attributes: dict[str, Any] = {"op": alu(name, "op", op, ACTIVATIONS)}
    reads = {"data": access(data)}
    writes = {"dst": access(dst)}
    check.operand(name, "bias", bias, data.shape[0], reads, attributes)
    if type(scale) is not float or scale != 1.0:
        check.operand(name, "scale", scale, data.shape[0], reads, attributes)
    if command != "idle":
        attributes["reduce_cmd"] = command
    if reduce_op is not None:
        attributes["reduce_op"] = alu(name, "reduce_op", reduce_op, _REDUCE)
    if reduce_res is not None:
        writes["reduce_res"] = check.vector(name, "reduce_res", reduce_res, data.shape[0])
        if reduce_op is None:
            raise invalid(f"{name}: reduce_res needs reduce_op")
    now.emit(name, "scalar", writes, reads, attributes)
