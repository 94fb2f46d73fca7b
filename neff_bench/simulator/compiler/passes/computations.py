"""Finds computations that a program repeats: AWS's compiler makes some of them once, and which is not known."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from neff_bench.simulator.compiler.passes.loads import fills
from neff_bench.simulator.program import Access, Buffer, Instruction

_CONSTANT = frozenset({"memset", "iota"})
"""What makes the same tile of nothing each time; other operations without operands draw random numbers."""


def repeated_computation(buffers: Sequence[Buffer], instructions: Sequence[Instruction]) -> Instruction | None:
    """Return the first instruction that makes of the same values what an engine made before, as the same part of a tile; None where there is none.

    Values are numbered: two tiles hold the same value where the same operation wrote the whole of both from the same values.
    """
    holds: dict[int, object] = {}  # by buffer
    made: dict[object, int] = {}  # by what a value is made of: its number
    fresh = count()
    for step in instructions:
        operands = {**step.reads, **(step.writes if _adds(step) else {})}
        views = [*operands.values(), *step.writes.values()]
        if any(view.dynamic for view in views) or not (operands or step.op in _CONSTANT):
            holds.update((to.buffer, next(fresh)) for to in step.writes.values())
            continue
        of = (
            step.op,
            str(step.attributes),
            tuple((name, holds.get(view.buffer, ~view.buffer), *_place(view)) for name, view in operands.items()),
            tuple((name, *_place(view)) for name, view in step.writes.items()),
        )
        if of in made and operands and not step.op.startswith("dma_"):
            return step
        number = made.setdefault(of, next(fresh))
        for name, to in step.writes.items():
            holds[to.buffer] = (number, name) if fills(buffers, to) else next(fresh)
    return None


def _adds(step: Instruction) -> bool:
    """Return whether a product may add to what its tile holds."""
    return step.op == "nc_matmul" and step.attributes.get("accumulate") is not False


def _place(view: Access) -> tuple[object, ...]:
    return view.offset, view.pattern, view.dtype
