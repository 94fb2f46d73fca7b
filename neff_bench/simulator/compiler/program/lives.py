"""How long tensors live: from the first to the last instruction of a core, in program order, that uses them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

from neff_bench.simulator import native
from neff_bench.simulator.compiler.program.columns import INDEX, Columns, Table, table_of, transposed
from neff_bench.simulator.program import Program

if TYPE_CHECKING:
    import numpy as np


Life = tuple[int, int]
"""The first and the last instruction, as indices into the core's list."""


class Lives(NamedTuple):
    """Of each buffer that a core uses, in order of first use: the first and the last instruction, as indices into the core's list.
    Arrays of int64."""

    buffer: np.ndarray
    first: np.ndarray
    last: np.ndarray


def lives(program: Program, core: int, moving: Collection[str] = ()) -> dict[int, Life]:
    """The life of each buffer that a core uses, by its index, in order of first use. `moving`: operations that do not lengthen the
    lives of their operands."""
    import numpy as np

    table = table_of(program)
    moves = np.array([first.op in moving for first in table.kinds], np.int64)
    buffer, first, last = (column.tolist() for column in lives_of(table.cores[core], len(program.buffers), moves))
    return dict(zip(buffer, zip(first, last, strict=True), strict=True))


def lives_of_all(table: Table, core: int, moving: Sequence[bool] = ()) -> Lives:
    """The lives of one core's buffers as columns. `moving`: for each kind of instruction, whether it does not lengthen the lives of its
    operands; none does when it is left out."""
    import numpy as np

    moves = np.zeros(len(table.kinds), np.int64)
    moves[: len(moving)] = moving
    return lives_of(table.cores[core], len(table.buffers.memory), moves)


def lives_of(columns: Columns, buffers: int, moves: np.ndarray) -> Lives:
    """`buffers`: how many the program has. `moves`: 1 for each kind of instruction that does not lengthen the lives of its operands, in
    int64.

    A buffer that only such instructions use lives at the last of them; these come behind all others.
    """
    return _plain(columns, moves) if native.library() is None else _compiled(columns.block, buffers, moves)


def _compiled(block: np.ndarray, buffers: int, moves: np.ndarray) -> Lives:
    """`_plain` in C."""
    import numpy as np

    found = np.empty((3, buffers), np.int64)
    count = native.call("lives_of", block, buffers, moves, tuple(native.rows(found)))
    return Lives._make(found[:, :count])


def _plain(columns: Columns, moves: np.ndarray) -> Lives:
    import numpy as np

    at = np.repeat(np.arange(len(columns.kind)), np.diff(columns.use_start))
    moving = (moves[columns.kind][at] > 0) & (columns.role != INDEX)
    buffer = columns.views.buffer[columns.view]
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    moved: dict[int, int] = {}
    for here, number, only_moves in zip(at.tolist(), buffer.tolist(), moving.tolist(), strict=True):
        (moved if only_moves else last)[number] = here
        if not only_moves:
            first.setdefault(number, here)
    found = {number: (here, last[number]) for number, here in first.items()}
    for number, here in moved.items():
        found.setdefault(number, (here, here))
    return Lives._make(transposed([(number, *life) for number, life in found.items()], 3))
