"""Cuts the rectangles that instructions touch into parts that are touched whole or not at all.

Two rectangles share bytes exactly where they share a part. Each storage has a grid of cells of about the size of its rectangles: a write is seen in the
cells that it touches, and elsewhere what it wrote over stays live. A rectangle has a part where it holds the bytes and touches the cell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from neff_bench.simulator import native
from neff_bench.simulator.native.cutting import Cut, Layout, cut_all, lay_out

if TYPE_CHECKING:
    import numpy as np


class Parts(NamedTuple):
    """Rectangle i consists of the parts `part[first[i] : first[i + 1]]`."""

    first: np.ndarray
    part: np.ndarray


def cut(rectangles: np.ndarray) -> Parts:
    """Return the parts of rectangles (storage, r0, r1, c0, c1), half-open, in (n, 5) of int64. No rectangle occurs twice."""
    import numpy as np

    count, storages = len(rectangles), int(rectangles[:, 0].max(initial=-1)) + 1
    least, most = np.zeros((2, 2 * storages), np.int64)
    member, begins, base = np.zeros((3, count + 1), np.int64)
    box, sizes = np.empty(8 * count, np.int64), np.empty(3 * count, np.int64)
    numbers = np.empty(2 * count, np.int64)
    places = native.run(
        lay_out, Layout(count, rectangles.reshape(-1), least, most, member, begins, numbers, box, sizes, base)
    )
    room = 2 * places + 1
    table = np.full((2, room), -1)
    table[1] = 0
    seen, next_ = np.full((2, places + 1), -1)
    first, part = np.zeros(count + 1, np.int64), np.empty(places, np.int64)
    native.run(cut_all, Cut(count, room, box, sizes, base, *table, seen, next_, first, part))
    return Parts(first, part[: first[-1]])
