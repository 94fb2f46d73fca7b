"""Says how long tensors live: from the first to the last instruction of a core, in program order, that uses them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

from neff_bench.simulator.compiler.program.columns import INDEX, Columns, Table, table_of
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

    at = columns.instruction
    buffer = columns.views.buffer[columns.view]
    if not moves.any():
        used, first, last = _first_and_last(buffer, at, buffers)
        return Lives(used, first[used], last[used])
    moving = (moves[columns.kind][at] > 0) & (columns.role != INDEX)
    used, first, last = _first_and_last(buffer[~moving], at[~moving], buffers)
    moved, _, last_moved = _first_and_last(buffer[moving], at[moving], buffers)
    only = moved[first[moved] < 0]
    at_last = last_moved[only]
    return Lives(*(np.concatenate(both) for both in ((used, only), (first[used], at_last), (last[used], at_last))))


def _first_and_last(buffer: np.ndarray, at: np.ndarray, buffers: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the buffers of these uses in order of first use; and by buffer the instruction of the first and of the last use, or -1."""
    import numpy as np

    place = np.arange(len(buffer))
    first, last = np.full((2, buffers), -1)
    last[buffer] = place  # of several uses the last one stays
    first[buffer[::-1]] = place[::-1]
    used = np.flatnonzero(first >= 0)
    at = np.append(at, -1)  # what is not used has the place -1
    return used[np.argsort(first[used])], at[first], at[last]
