"""Keeps registers of the engines' sequencers: what a kernel holds, and what it can know of their values while it is recorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from neff_bench.simulator.program import Access, Instruction
from neff_bench.simulator.recording.recorder import invalid, not_modelled, recorder

if TYPE_CHECKING:
    from neff_bench.simulator.recording.tensor import NkiTensor


class VirtualRegister:
    """A register: one int32 that lives in a cell of its own."""

    __slots__ = ("cell",)

    def __init__(self, cell: NkiTensor) -> None:
        self.cell = cell

    def index_access(self) -> Access:
        """Return the element that a run-time index reads."""
        return self.cell.index_access()

    def value(self) -> int:
        """Return what the register holds at this point: a constant, or what the kernel's data make it. Raises NotModelledError where those are not at hand."""
        now = recorder()
        known = constant(now.instructions, self.cell.storage.index)
        if known is not None:
            return known
        if now.run is None:
            raise not_modelled(
                "a loop or a branch that the data of a register decide, without the data"
                " (nki.simulate, neff-bench run and profile have them),"
            )
        return now.run(self)

    def __bool__(self) -> bool:
        return self.value() != 0

    def _unknown(self, *_: Any) -> Any:
        raise invalid("a register's value is not known while the kernel is recorded; it cannot steer Python")

    __int__ = __index__ = __float__ = _unknown
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _unknown
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __floordiv__ = __mod__ = _unknown
    __hash__ = object.__hash__


def constant(instructions: Sequence[Instruction], cell: int) -> int | None:
    """Return the constant that was last moved into the register of buffer `cell`; None where it was read from memory."""
    for step in reversed(instructions):
        if all(to.buffer != cell for to in step.writes.values()):
            continue
        if step.op != "register_move":
            return None
        if "src" not in step.reads:
            return int(step.attributes["src"])
        cell = step.reads["src"].buffer
    return None
