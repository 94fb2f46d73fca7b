"""Where views lie: a storage, and a rectangle in it.

On chip a rectangle is partitions x bytes of the partition, in HBM rows x bytes of the last dimension. A strided view counts as the
rectangle around it, and one with a run-time address as the whole buffer. Buffers with an address are views of one storage.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from neff_bench.chips.dtypes import SIZE_BYTES
from neff_bench.simulator.compiler.program.columns import HBM, Buffers, Columns
from neff_bench.simulator.program import Access, Buffer

if TYPE_CHECKING:
    import numpy as np


class Box(NamedTuple):
    """Half-open rectangle: rows [r0, r1), bytes [c0, c1) within a row."""

    r0: int
    r1: int
    c0: int
    c1: int


class Regions(NamedTuple):
    """of_view: the number of each view's region. different: storage, r0, r1, c0 and c1 of each different region, in (n, 5) of int64.

    Storage 0 is SBUF and 1 is PSUM where an address is known; else it is 2 + the buffer's number.
    """

    of_view: np.ndarray
    different: np.ndarray


_SHARED = 2
"""Storages that are no buffer's own."""


def box_of(access: Access, buffer: Buffer) -> Box:
    """The rectangle around a view."""
    row = max(buffer.row_bytes, 1)
    return Box(*_box(access.offset, SIZE_BYTES[access.dtype], bool(access.dynamic), access.pattern, row, buffer.size_bytes // row, 0, 0))  # fmt: skip


def overlap(a: Box, b: Box) -> bool:
    """Whether two rectangles share a byte."""
    return a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3]


def regions_of(buffers: Buffers, columns: Columns, address: np.ndarray) -> Regions:
    """`address`, by buffer: the byte in each partition where it is known, and -1 elsewhere. simulator/native/rectangles.c is the same in C."""
    import numpy as np

    shared = (address >= 0) & (buffers.memory != HBM)
    storage = np.where(shared, buffers.memory - 1, np.arange(len(address)) + _SHARED).tolist()
    down, right = (np.where(shared, column, 0).tolist() for column in (buffers.partition, address))
    row, rows = buffers.row_bytes.tolist(), buffers.rows.tolist()
    buffer, offset, dtype, dynamic, start, step, length = (column.tolist() for column in columns.views)
    sizes = list(SIZE_BYTES.values())
    pairs = list(zip(step, length, strict=True))
    numbers: dict[tuple[int, ...], int] = {}
    of_view = []
    for view, b in enumerate(buffer):
        pattern = pairs[start[view] : start[view + 1]]
        box = _box(offset[view], sizes[dtype[view]], dynamic[view] != 0, pattern, row[b], rows[b], down[b], right[b])
        of_view.append(numbers.setdefault((storage[b], *box), len(numbers)))
    return Regions(np.array(of_view, np.int64), np.array(list(numbers), np.int64).reshape(-1, 5))


def _box(
    offset: int,
    size: int,
    dynamic: bool,
    pattern: Sequence[tuple[int, int]],
    row: int,
    rows: int,
    down: int,
    right: int,
) -> tuple[int, int, int, int]:
    """The rectangle around a view of elements of `size` bytes, in a buffer of `rows` rows of `row` bytes that begins at row `down` and
    byte `right`."""
    if dynamic:
        return down, rows + down, right, row + right
    r0, c0 = divmod(offset * size, row)
    r1, c1 = r0, c0 + size
    for step, count in pattern:
        span = step * size * (count - 1)
        if step * size % row == 0:
            r0, r1 = r0 + min(span // row, 0), r1 + max(span // row, 0)
        else:
            c0, c1 = c0 + min(span, 0), c1 + max(span, 0)
    if c0 < 0 or c1 > row:
        # It runs over the ends of rows.
        return r0 + c0 // row + down, r1 + (c1 - 1) // row + 1 + down, right, row + right
    return r0 + down, r1 + 1 + down, c0 + right, c1 + right
