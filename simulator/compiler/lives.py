"""How long tensors live: from the first to the last instruction of a core, in program order, that uses them."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from neff_bench.simulator.program import Instruction

Life = tuple[int, int]
"""The first and the last instruction, as indices into the core's list."""


def lives(instructions: Iterable[Instruction], moving: Collection[str] = ()) -> dict[int, Life]:
    """The life of each buffer that a core uses, by its index, in order of first use.

    `moving`: operations that do not lengthen the lives of their operands. A buffer that only they use lives at the last of them.
    """
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    moved: dict[int, int] = {}
    for at, instruction in enumerate(instructions):
        moves = instruction.op in moving
        for operands in (instruction.reads, instruction.writes):
            for access in operands.values():
                buffer = access.buffer
                if moves:
                    moved[buffer] = at
                else:
                    last[buffer] = at
                    if buffer not in first:
                        first[buffer] = at
                for part in access.dynamic:
                    last[part.index.buffer] = at
                    first.setdefault(part.index.buffer, at)
    found = {buffer: (at, last[buffer]) for buffer, at in first.items()}
    for buffer, at in moved.items():
        found.setdefault(buffer, (at, at))
    return found
