"""Says where views lie: a storage, and a rectangle in it.

On chip a rectangle is partitions x bytes of the partition, in HBM rows x bytes of the last dimension. A strided view counts as the
rectangle around it, and one with a run-time address as the whole buffer. Buffers with an address are views of one storage.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from neff_bench.chips.dtypes import SIZE_BYTES
from neff_bench.simulator import native
from neff_bench.simulator.compiler.program.columns import HBM, Buffers, Columns, item_bytes
from neff_bench.simulator.native.edges import Views, find_regions
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
    """Return the rectangle around a view."""
    row = max(buffer.row_bytes, 1)
    if access.dynamic:
        return Box(0, buffer.size_bytes // row, 0, row)
    size = SIZE_BYTES[access.dtype]
    r0, c0 = divmod(access.offset * size, row)
    r1, c1 = r0, c0 + size
    for step, count in access.pattern:
        span = step * size * (count - 1)
        if step * size % row == 0:
            r0, r1 = r0 + min(span // row, 0), r1 + max(span // row, 0)
        else:
            c0, c1 = c0 + min(span, 0), c1 + max(span, 0)
    if c0 < 0 or c1 > row:
        # It runs over the ends of rows.
        return Box(r0 + c0 // row, r1 + (c1 - 1) // row + 1, 0, row)
    return Box(r0, r1 + 1, c0, c1)


def overlap(a: Box, b: Box) -> bool:
    """Return whether two rectangles share a byte."""
    return a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3]


def regions_of(buffers: Buffers, columns: Columns, address: np.ndarray) -> Regions:
    """Return the addresses by buffer: the byte in each partition where it is known, and -1 elsewhere."""
    import numpy as np

    shared = (address >= 0) & (buffers.memory != HBM)
    storage = np.where(shared, buffers.memory - 1, np.arange(len(address)) + _SHARED)
    down, right = (np.where(shared, column, 0) for column in (buffers.partition, address))
    views = len(columns.views.buffer)
    of_view, different = np.empty(views, np.int64), np.empty(5 * (views + 1), np.int64)
    room = 2 * views + 1
    slots = np.full(room, -1)
    places = (item_bytes(), storage, buffers.row_bytes, buffers.rows, down, right)
    count = native.run(find_regions, Views(views, room, *columns.views, *places, of_view, different, slots))
    return Regions(of_view, different.reshape(-1, 5)[:count])
