"""Says how long tensors live: from the first to the last instruction of a core, in program order, that uses them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

from neff_bench.simulator import native
from neff_bench.simulator.compiler.program.columns import INDEX, Columns, Table, table_of
from neff_bench.simulator.native.living import Living, find_lives
from neff_bench.simulator.program import Program

if TYPE_CHECKING:
    import numpy as np


Life = tuple[int, int]
"""The first and the last instruction, as indices into the core's list."""


class Lives(NamedTuple):
    """For each buffer that a core uses, in order of first use, the first and the last instruction, as indices into the core's list.
    Arrays of int64."""

    buffer: np.ndarray
    first: np.ndarray
    last: np.ndarray


def lives(program: Program, core: int, moving: Collection[str] = ()) -> dict[int, Life]:
    """Return the life of each buffer that a core uses, by its index, in order of first use. `moving`: operations that do not lengthen the
    lives of their operands."""
    import numpy as np

    table = table_of(program)
    moves = np.array([first.op in moving for first in table.kinds], np.int64)
    buffer, first, last = (column.tolist() for column in lives_of(table.cores[core], len(program.buffers), moves))
    return dict(zip(buffer, zip(first, last, strict=True), strict=True))


def lives_of_all(table: Table, core: int, moving: Sequence[bool] = ()) -> Lives:
    """Return the lives of one core's buffers as columns. `moving`: for each kind of instruction, whether it does not lengthen the lives of its
    operands; none does when it is left out."""
    import numpy as np

    moves = np.zeros(len(table.kinds), np.int64)
    moves[: len(moving)] = moving
    return lives_of(table.cores[core], len(table.buffers.memory), moves)


def lives_of(columns: Columns, buffers: int, moves: np.ndarray) -> Lives:
    """Return the lives of buffers. `buffers`: how many the program has. `moves`: 1 in int64 for each kind of instruction that does not lengthen the
    lives of its operands. A buffer that only such instructions use lives at the last of them; these come behind all others."""
    import numpy as np

    place, buffer, first, last = np.full((4, buffers), -1)
    of_uses = (columns.kind, columns.use_start, columns.view, columns.role, columns.views.buffer)
    used = native.run(find_lives, Living(len(columns.kind), INDEX, *of_uses, moves, place, buffer, first, last))
    return Lives(buffer[:used], first[:used], last[:used])
