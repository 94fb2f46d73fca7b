"""Tiles that are set to a value and then written all over before anybody reads them: AWS's compiler leaves the first writing out.

Source: four convolutions of chenhzhu/asst4-trainium2 @fecd8c8 (part2/profile/final_*). Their kernel makes a tile with `nl.zeros` in each round
and loads all of it; the traces have no MEMSET.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from neff_bench.simulator.compiler.program.uses import Uses, uses_of
from neff_bench.simulator.program import Access, Buffer, Instruction

if TYPE_CHECKING:
    import numpy as np


def without_overwritten(buffers: Sequence[Buffer], instructions: Sequence[Instruction]) -> list[Instruction]:
    """The instructions of one core without the memsets of SBUF of which no element is read."""
    if not any(_may_go(buffers, step) for step in instructions):
        return list(instructions)
    uses = uses_of(instructions)
    return [
        step
        for index, step in enumerate(instructions)
        if not (_may_go(buffers, step) and _is_overwritten(buffers, instructions, uses, index))
    ]


def _may_go(buffers: Sequence[Buffer], step: Instruction) -> bool:
    """Whether it sets a tile that the compiler places."""
    if step.op != "memset":
        return False
    tile = buffers[step.writes["dst"].buffer]
    return tile.memory == "sbuf" and tile.kind == "internal" and tile.address is None


def _is_overwritten(buffers: Sequence[Buffer], steps: Sequence[Instruction], uses: Uses, memset: int) -> bool:
    """Whether what follows a memset writes the tile all over before anything reads it."""
    import numpy as np

    tile = steps[memset].writes["dst"].buffer
    buffer = buffers[tile]
    if tile in uses.dynamic or uses.dtypes[tile] != {buffer.dtype}:
        return False
    first_reader = min((at for at in uses.readers[tile] if at > memset), default=len(steps))
    row = np.zeros(prod(buffer.shape[1:]), bool)
    for at in uses.writers[tile]:
        if memset < at < first_reader:
            for to in steps[at].writes.values():
                if to.buffer == tile and not steps[at].attributes.get("accumulate"):
                    _mark(row, buffer, to)
            if row.all():
                return True
    return False


def _mark(row: np.ndarray, buffer: Buffer, to: Access) -> None:
    """The elements of a row that a view of all partitions has."""
    import numpy as np

    if to.pattern[0] != (len(row), buffer.shape[0]) or to.offset >= len(row):
        return
    places = np.array([to.offset])
    for step, size in to.pattern[1:]:
        places = (places[:, None] + step * np.arange(size)).ravel()
    row[places[places < len(row)]] = True
