"""Arithmetic on columns of trace records: pairing begins with ends, unions of intervals, exact sums.

Sorting is what costs here. numpy sorts plain integers about ten times faster than it finds a sorting permutation, hence keys
that carry the position in their low bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

POSITION_BITS = 34
"""Room for 16 Gi records in the low bits of a sorting key, and for 2^29 groups above them."""


def pair_fifo(group: Integers, ticks: Integers, is_end: NDArray[np.bool_], groups: int) -> tuple[Integers, Integers]:
    """Positions of begins and of their ends: within a group the first begin goes with the first end, and so on.

    `group`: (n,) in [0, groups); `ticks`: (n,). Ends before any open begin and begins that never end are left out.
    """
    import numpy as np

    begins, ends = np.flatnonzero(~is_end), np.flatnonzero(is_end)
    uneven = np.bincount(group[begins], minlength=groups) != np.bincount(group[ends], minlength=groups)
    begins, ends = _by_group(group, begins, uneven), _by_group(group, ends, uneven)
    # File order is time order inside a group, except when it is not; an end before its begin betrays a lost record.
    broken = np.zeros(groups, bool)
    for chosen in (begins, ends):
        step = (np.diff(ticks[chosen]) < 0) & (np.diff(group[chosen]) == 0)
        broken[group[chosen[1:]][step]] = True
    broken[group[begins[ticks[ends] < ticks[begins]]]] = True
    if broken.any():
        kept = ~broken[group[begins]]
        begins, ends = begins[kept], ends[kept]
    careful = uneven | broken
    if careful.any():
        odd = np.flatnonzero(careful[group])
        more_begins, more_ends = _pair_by_time(group[odd], ticks[odd], is_end[odd])
        begins, ends = np.concatenate((begins, odd[more_begins])), np.concatenate((ends, odd[more_ends]))
    return begins, ends


def _by_group(group: Integers, positions: Integers, leave_out: NDArray[np.bool_]) -> Integers:
    """The positions ordered by group, then by position, without those of the groups to leave out."""
    import numpy as np

    key = (group[positions] << POSITION_BITS) | positions
    if leave_out.any():
        key = key[~leave_out[group[positions]]]
    key.sort()
    return key & np.int64((1 << POSITION_BITS) - 1)


def _pair_by_time(group: Integers, ticks: Integers, is_end: NDArray[np.bool_]) -> tuple[Integers, Integers]:
    """The same pairing for groups where records are missing or out of order."""
    import numpy as np

    order = np.lexsort((is_end, ticks, group))
    group, ended = group[order], is_end[order]
    first = np.ones(len(group), bool)
    first[1:] = group[1:] != group[:-1]
    starts = np.flatnonzero(first)
    lengths = np.diff(np.append(starts, len(group)))
    # How many intervals are open after each record; an end that takes the count to a new low below zero has no begin.
    step = np.where(ended, -1, 1)
    level = np.cumsum(step)
    level -= np.repeat(level[starts] - step[starts], lengths)
    shift = np.cumsum(first) * (2 * len(group) + 2)
    lowest = np.minimum.accumulate(level - shift) + shift
    before = np.where(first, 0, np.minimum(np.append(0, lowest[:-1]), 0))
    orphan = ended & (level < before)
    begins, ends = np.flatnonzero(~ended), np.flatnonzero(ended & ~orphan)
    size = len(group) + 1
    _, paired_begins, paired_ends = np.intersect1d(
        group[begins] * size + _rank(group[begins]),
        group[ends] * size + _rank(group[ends]),
        assume_unique=True,
        return_indices=True,
    )
    return order[begins[paired_begins]], order[ends[paired_ends]]


def _rank(group: Integers) -> Integers:
    """The running number of each element inside its run of equal groups."""
    import numpy as np

    first = np.ones(len(group), bool)
    first[1:] = group[1:] != group[:-1]
    starts = np.flatnonzero(first)
    return np.arange(len(group)) - np.repeat(starts, np.diff(np.append(starts, len(group))))


def union_length(begin: Integers, end: Integers) -> int:
    """Length of the union of the intervals [begin, end).

    With both columns sorted on their own, the union has a gap exactly where a begin follows the end of the same rank before it.
    """
    import numpy as np

    if not len(begin):
        return 0
    begin, end = np.sort(begin), np.sort(end)
    gaps = begin[1:] - end[:-1]
    return int(end[-1] - begin[0]) - exact_sum(gaps[gaps > 0])


def exact_sum(values: Any) -> int:
    """Sum of int64 values without overflow."""
    import numpy as np

    return (int(np.sum(values >> 32)) << 32) + int(np.sum(values & 0xFFFF_FFFF))
