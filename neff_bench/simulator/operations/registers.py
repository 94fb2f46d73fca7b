"""Keeps registers of the engines' sequencers, each held in a one-element buffer of 32-bit integers (AWS docs,
nki.isa.register_*).
"""

from __future__ import annotations

from typing import Any

from neff_bench.simulator.costs.engine_work import engine_work
from neff_bench.simulator.machine.operands import Operands
from neff_bench.simulator.operations.declaration import function, operation
from neff_bench.simulator.operations.dma import write_converted
from neff_bench.simulator.operations.elementwise import fill
from neff_bench.simulator.recording import check
from neff_bench.simulator.recording.creation import allocate, whole
from neff_bench.simulator.recording.numbers import number_of, whole_number
from neff_bench.simulator.recording.recorder import NkiInstruction, emit, invalid, recorder
from neff_bench.simulator.recording.regions import MemoryRegion
from neff_bench.simulator.recording.register import VirtualRegister
from neff_bench.simulator.recording.tensor import NkiTensor


@function
def register_alloc(x: Any = None) -> VirtualRegister:
    """Make a register, kept in the program as an SBUF buffer [1, 1] int32 named "register". `x`: what it holds, a number or one element of a
    tensor.
    """
    now = recorder()
    cell = allocate(now, (1, 1), "int32", MemoryRegion.sbuf, "register", "internal", now.core, now.source())
    register = VirtualRegister(whole(cell))
    if isinstance(x, NkiTensor):
        register_load(register, x)
    elif x is not None:
        register_move(register, x)
    return register


def _register_move(o: Operands) -> None:
    if "src" in o.instruction.reads:
        write_converted(o, o.raw("src"))
    else:
        fill(o, "dst", o.attributes["src"])


@operation(execute=_register_move, cost=engine_work(), opcode="REGISTER_MOVE")
def register_move(dst: VirtualRegister, src: Any) -> NkiInstruction:
    """Compute `dst` = `src`, a register or a constant (attribute `src`)."""
    target = {"dst": _register("register_move", "dst", dst).cell}
    if isinstance(src, VirtualRegister):
        return emit("register_move", "sync", target, {"src": src.cell}, {})
    return emit("register_move", "sync", target, {}, {"src": whole_number("register_move: src", src)})


def _register_copy(o: Operands) -> None:
    write_converted(o, o.raw("src"))


@operation(execute=_register_copy, cost=engine_work(), opcode="TENSOR_LOAD")
def register_load(dst: VirtualRegister, src: NkiTensor) -> NkiInstruction:
    """Compute `dst` = the one element of `src`."""
    target = {"dst": _register("register_load", "dst", dst).cell}
    if check.tensor("register_load", "src", src).size != 1:
        raise invalid(f"register_load: src must hold one element: {src!r}")
    return emit("register_load", "sync", target, {"src": src}, {})


@operation(execute=_register_copy, cost=engine_work(), opcode="TENSOR_STORE")
def register_store(dst: NkiTensor, src: VirtualRegister) -> NkiInstruction:
    """Write `src` into the one element of `dst`."""
    if check.tensor("register_store", "dst", dst).size != 1:
        raise invalid(f"register_store: dst must hold one element: {dst!r}")
    cell = (register_alloc(src) if number_of(src) is not None else _register("register_store", "src", src)).cell
    return emit("register_store", "sync", {"dst": dst}, {"src": cell}, {})


def _compare_branch(o: Operands) -> None:
    """Check the trips of a recorded loop: they are those of the data that it was recorded with, and other data need another program."""
    value, wanted = int(o.raw("src").reshape(-1)[0]), o.attributes["value"]
    if value != wanted:
        o.refuse(f"the program was recorded for data that make this register {wanted}; these make it {value}")


@operation(execute=_compare_branch, cost=engine_work(), opcode="COMPARE_BRANCH", offered=False)
def compare_branch(src: VirtualRegister, value: int) -> NkiInstruction:
    """Record a loop or a branch that the value of `src` decides; `value` is what it is for the data of the recording."""
    return emit("compare_branch", "sync", {}, {"src": src.cell}, {"value": value})


def _register(op: str, key: str, value: Any) -> VirtualRegister:
    if not isinstance(value, VirtualRegister):
        raise invalid(f"{op}: {key} must be a register, not {value!r}")
    return value
