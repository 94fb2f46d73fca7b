"""Computes with columns of trace records: pairing begins with ends, unions of intervals, exact sums.

Sorting is what costs here, and numpy sorts plain integers fastest, hence keys that carry the position in their low bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.integer[Any]]

POSITION_BITS = 34
"""Room for 16 Gi records in the low bits of a sorting key, and for 2^29 groups above them."""


class Pairs(NamedTuple):
    """Columns (n,): the group of each pair, positions of its begin and end record, and their ticks."""

    group: Integers
    begins: Integers
    ends: Integers
    begin_ticks: Integers
    end_ticks: Integers


def pair_fifo(group: Integers, ticks: Integers, is_end: NDArray[np.bool_], groups: int) -> Pairs:
    """Pair begins with ends: within a group the first begin goes with the first end, and so on.

    `group`: (n,) in [0, groups); `ticks`: (n,). Ends before any open begin and begins that never end are left out.
    """
    import numpy as np

    of_begin, begins, opened = _by_group(group, ~is_end, groups)
    of_end, ends, closed = _by_group(group, is_end, groups)
    careful = opened != closed
    if careful.any():
        kept = ~careful[of_begin]
        of_begin, begins = of_begin[kept], begins[kept]
        kept = ~careful[of_end]
        of_end, ends = of_end[kept], ends[kept]
    begin_ticks, end_ticks = ticks[begins], ticks[ends]
    # File order is time order inside a group, except when it is not; an end before its begin betrays a lost record.
    same = of_begin[1:] == of_begin[:-1]
    broken = end_ticks < begin_ticks
    broken[1:] |= same & ((begin_ticks[1:] < begin_ticks[:-1]) | (end_ticks[1:] < end_ticks[:-1]))
    if broken.any():
        careful[of_begin[broken]] = True
        kept = ~careful[of_begin]
        of_begin, begins, ends, begin_ticks, end_ticks = (
            column[kept] for column in (of_begin, begins, ends, begin_ticks, end_ticks)
        )
    pairs = Pairs(of_begin, begins, ends, begin_ticks, end_ticks)
    if not careful.any():
        return pairs
    odd = np.flatnonzero(careful[group])
    more_begins, more_ends = (odd[chosen] for chosen in _pair_by_time(group[odd], ticks[odd], is_end[odd]))
    more = Pairs(group[more_begins].astype(np.int64), more_begins, more_ends, ticks[more_begins], ticks[more_ends])
    return Pairs(*(np.concatenate(both) for both in zip(pairs, more)))


def _by_group(group: Integers, chosen: NDArray[np.bool_], groups: int) -> tuple[Integers, Integers, Integers]:
    """Return the groups and positions of the chosen records, ordered by group, then by position; and how many each group has."""
    import numpy as np

    positions = np.flatnonzero(chosen)
    of_record = group[positions]
    counts = np.bincount(of_record, minlength=groups)
    key = of_record.astype(np.int64)
    key <<= POSITION_BITS
    key |= positions
    key.sort()
    return key >> POSITION_BITS, key & np.int64((1 << POSITION_BITS) - 1), counts


def _pair_by_time(group: Integers, ticks: Integers, is_end: NDArray[np.bool_]) -> tuple[Integers, Integers]:
    """Return the same pairing for groups where records are missing or out of order."""
    import numpy as np

    order = np.lexsort((is_end, ticks, group))
    group, ended = group[order].astype(np.int64), is_end[order]
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
    """Return the running number of each element inside its run of equal groups."""
    import numpy as np

    first = np.ones(len(group), bool)
    first[1:] = group[1:] != group[:-1]
    starts = np.flatnonzero(first)
    return np.arange(len(group)) - np.repeat(starts, np.diff(np.append(starts, len(group))))


def union_length(begin: Integers, end: Integers) -> int:
    """Return the length of the union of the intervals [begin, end).

    With both columns sorted on their own, the union has a gap exactly where a begin follows the end of the same rank before it.
    """
    import numpy as np

    if not len(begin):
        return 0
    begin, end = np.sort(begin), np.sort(end)
    gaps = begin[1:] - end[:-1]
    return int(end[-1] - begin[0]) - exact_sum(gaps[gaps > 0])


def merged(begin: Any, end: Any) -> tuple[Any, Any]:
    """Return the union of the intervals as disjoint intervals, by begin; those that touch are one. Any unit, any number type."""
    import numpy as np

    begin, end = np.sort(begin), np.sort(end)
    opens, closes = np.ones((2, len(begin)), bool)
    opens[1:] = closes[:-1] = begin[1:] > end[:-1]
    return begin[opens], end[closes]


def exact_sum(values: Any) -> int:
    """Return the sum of int64 values without overflow."""
    import numpy as np

    return (int(np.sum(values >> 32)) << 32) + int(np.sum(values & 0xFFFF_FFFF))
