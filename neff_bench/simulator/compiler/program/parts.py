"""Cuts the rectangles that instructions touch into parts that are touched whole or not at all.

Two rectangles share bytes exactly where they share a part, so what the last writer of a byte was is kept for a part at once.

Each storage has a grid of cells of about the size of its rectangles, and what is live is known cell by cell: a write is seen
in the cells that it touches, and elsewhere what it wrote over stays live. So a part is a set of bytes in a cell, and a rectangle
has it where it holds the bytes and touches the cell, wherever in the storage the bytes are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np

_CELLS = 8
"""Cells along a side of the largest rectangle, at most."""
_DENSE = 16
"""Numbers of places for each pair up to which they need not be numbered anew."""
_SEEDS = (0x9E3779B97F4A7C15, 0xD1B54A32D192ED03)
"""Odd 64-bit numbers: the steps of SplitMix64 and of its sister generator in two dimensions (M. Roberts, R2 sequence)."""


class Parts(NamedTuple):
    """Rectangle i consists of the parts `part[first[i] : first[i + 1]]`; parts are numbered from 0 over all storages."""

    first: np.ndarray
    part: np.ndarray


def cut(rectangles: np.ndarray) -> Parts:
    """Return the parts of rectangles (storage, r0, r1, c0, c1), half-open, in (n, 5) of int64. No rectangle occurs twice."""
    import numpy as np

    if not len(rectangles):
        return Parts(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int64))
    box, (_, storage) = rectangles[:, 1:], np.unique(rectangles[:, 0], return_inverse=True)
    group = _groups(storage, box)
    if int(group.max()) + 1 == len(box):  # nothing overlaps
        return Parts(np.arange(len(box) + 1), np.arange(len(box)))
    cells = _cells(storage, box)
    rows, columns = (_ranks(group, box[:, low : low + 2]) for low in (0, 2))
    which, part = _merged(*_inside(rows, columns), len(box))
    # Every part of the bytes of a rectangle, in every part of the cells that it touches.
    rows, columns = (_ranks(group, cells[:, low : low + 2], dense=True) for low in (0, 2))
    owner, cell = _merged(*_inside(rows, columns), len(box))
    many = np.bincount(owner, minlength=len(box))
    if (many > 1).any():
        pair = np.repeat(np.arange(len(which)), many[which])
        within = np.arange(len(pair)) - np.repeat(np.cumsum(many[which]) - many[which], many[which])
        in_cell = cell[(np.cumsum(many) - many)[which][pair] + within]
        which, part = _merged(which[pair], part[pair] * (int(cell.max()) + 1) + in_cell, len(box))
    return Parts(np.searchsorted(which, np.arange(len(box) + 1)), part)


def _ranks(group: np.ndarray, ranges: np.ndarray, dense: bool = False) -> np.ndarray:
    """Return half-open ranges as places among all the ends of ranges, those of one group after those of another. `dense`: among all numbers
    between the ends."""
    import numpy as np

    ends = group[:, None] * (int(ranges.max()) + 1) + ranges
    return ends if dense else np.unique(ends, return_inverse=True)[1].reshape(ranges.shape)


def _cells(storage: np.ndarray, box: np.ndarray) -> np.ndarray:
    """Return for each rectangle the cells that it touches, as a rectangle of them."""
    import numpy as np

    cells = np.empty_like(box)
    for low in (0, 2):
        size = box[:, low + 1] - box[:, low]
        least, most = (np.full(int(storage.max()) + 1, start) for start in (size.max(), 0))
        np.minimum.at(least, storage, size)
        np.maximum.at(most, storage, size)
        side = np.maximum(np.maximum(least, -(-most // _CELLS)), 1)[storage]
        cells[:, low] = box[:, low] // side
        cells[:, low + 1] = (box[:, low + 1] - 1) // side + 1
    return cells


def _groups(group: np.ndarray, box: np.ndarray) -> np.ndarray:
    """Return a number for each rectangle; those of different numbers share nothing. Storages are split where no rectangle spans a row,
    then where none spans a column, until nothing can be split."""
    count, unsplit, low = int(group.max()) + 1, 0, 0
    while unsplit < 2:
        group = _split(group, box[:, low], box[:, low + 1])
        unsplit = unsplit + 1 if int(group.max()) + 1 == count else 0
        count, low = int(group.max()) + 1, 2 - low
    return group


def _split(group: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the groups, split where no interval [low, high) of them reaches on."""
    import numpy as np

    order = np.lexsort((low, group))
    offset = group[order] * (int(high.max()) + 1)
    reach = np.maximum.accumulate(high[order] + offset)
    begins = np.append(True, (low[order] + offset)[1:] >= reach[:-1])
    made = np.empty_like(group)
    made[order] = np.cumsum(begins) - 1
    return made


def _inside(rows: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (index, number of a place) for each place in each rectangle of ranges, by index."""
    import numpy as np

    (r0, r1), (c0, c1) = rows.T, columns.T
    width, area = c1 - c0, (r1 - r0) * (c1 - c0)
    which = np.repeat(np.arange(len(rows)), area)
    within = np.arange(len(which)) - np.repeat(np.cumsum(area) - area, area)
    row, column = np.divmod(within, width[which])
    return which, (r0[which] + row) * (int(columns.max()) + 1) + c0[which] + column


def _merged(which: np.ndarray, place: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the same pairs, with places that the same rectangles hold merged into one and numbered; by index."""
    import numpy as np

    if int(place.max(initial=0)) > _DENSE * len(place):
        place = np.unique(place, return_inverse=True)[1]
    # Each rectangle adds a number of its own to its places; 128 bits let no two sets of rectangles have the same sum.
    sums = np.zeros((2, int(place.max(initial=0)) + 1), dtype=np.uint64)
    for sum_, seed in zip(sums, _SEEDS):
        np.add.at(sum_, place, _mixed(np.arange(1, count + 1, dtype=np.uint64) * np.uint64(seed))[which])
    order = np.lexsort(sums)
    begins = np.append(True, (sums[:, order[1:]] != sums[:, order[:-1]]).any(axis=0))
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.cumsum(begins) - 1
    first = order[begins][number[place]] == place
    return which[first], number[place[first]]


def _mixed(value: np.ndarray) -> np.ndarray:
    """Return the last step of the generator SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): neighbours become unrelated."""
    import numpy as np

    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: np.ndarray = value ^ (value >> np.uint64(31))
    return mixed
