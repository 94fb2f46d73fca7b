"""Keeps the accumulators of the Scalar and Vector Engine: one float32 for each lane, which instructions reduce into.

They keep their value between instructions; `reduce_cmd` says whether an instruction resets, loads or extends them, and
`reduce_res`, when given, receives their value.
"""

from __future__ import annotations

import numpy as np

from neff_bench.simulator.machine import alu
from neff_bench.simulator.machine.operands import Operands

_IDENTITY = {"add": 0.0, "subtract": 0.0, "multiply": 1.0, "maximum": -np.inf, "minimum": np.inf}
_COMMANDS = ("idle", "reset", "reduce", "reset_reduce", "load_reduce")


def accumulate(
    o: Operands, values: np.ndarray, command: str, engine: str, default_op: str = "add", start: str = ""
) -> None:
    """Reduce results over the free dimensions into the engine's accumulators; write `reduce_res` when it is given.

    `start`: the operand that load_reduce loads.
    """
    rows = values.shape[0]
    op = o.attributes.get("reduce_op") or default_op
    registers = prepare(o, rows, command, engine, op, start)
    if command in ("reduce", "reset_reduce", "load_reduce"):
        reduced = alu.reduce("add" if op == "subtract" else op, values.reshape(rows, -1), (1,))[:, 0]
        registers[:rows] = alu.binary(op)(registers[:rows], reduced)
    if "reduce_res" in o.instruction.writes:
        kept = registers[: o.shape("reduce_res")[0]]
        o.write("reduce_res", -kept if o.attributes.get("reduce_res_negate") else kept.copy())


def prepare(o: Operands, rows: int, command: str, engine: str, op: str, start: str) -> np.ndarray:
    """Return the engine's accumulators, (128,) float32, reset or loaded as the command says."""
    registers = o.registers.accumulator(engine)
    if command not in _COMMANDS:
        o.refuse(f"reduce_cmd {command!r} is not modelled")
    if command in ("reset", "reset_reduce"):
        if op not in _IDENTITY:
            o.refuse(f"reduction {op!r} has no initial value that is modelled")
        registers[:] = _IDENTITY[op]
    elif command == "load_reduce":
        if not start or not o.has(start):
            o.refuse("load_reduce without a value to load")
        loaded = np.asarray(o.per_partition(start, registers[:rows, None]), np.float32)
        registers[:rows] = np.broadcast_to(loaded.reshape(-1), (rows,))
    return registers
