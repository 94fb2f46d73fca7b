"""Registers of the engines' sequencers, each held in a one-element buffer of 32-bit integers."""

from __future__ import annotations

from neff_bench.simulator.machine.operands import Operands
from neff_bench.simulator.operations.dma import write_converted
from neff_bench.simulator.operations.elementwise import fill


def register_alloc(o: Operands) -> None:
    if o.has("x"):
        fill(o, "dst", o.attributes["x"])


def register_move(o: Operands) -> None:
    if "src" in o.instruction.reads:
        write_converted(o, o.raw("src"))
    else:
        fill(o, "dst", o.attributes["src"])


def register_copy(o: Operands) -> None:
    write_converted(o, o.raw("src"))


OPERATIONS = {
    "register_alloc": register_alloc,
    "register_move": register_move,
    "register_load": register_copy,
    "register_store": register_copy,
}
