"""Computes with columns of trace records: pairing begins with ends, unions of intervals, exact sums."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.integer[Any]]

MANY = 1 << 11
"""So many numbers take longer to sort than to be made shorter first."""


class Pairs(NamedTuple):
    """Columns (n,): the group of each pair, positions among the begins and among the ends, and their ticks."""

    group: Integers
    begins: Integers
    ends: Integers
    begin_ticks: Integers
    end_ticks: Integers


def pair_fifo(
    begin_group: Integers, begin_ticks: Integers, end_group: Integers, end_ticks: Integers, groups: int
) -> Pairs:
    """Pair begins with ends: within a group the first begin goes with the first end, and so on. Begins (n,) and ends (m,) stand in file order.

    The groups are unsigned numbers below `groups`. Ends before any open begin and begins that never end are left out.
    """
    import numpy as np

    begins, ends = _by_group(begin_group), _by_group(end_group)
    of_begin, of_end = begin_group.take(begins), end_group.take(ends)
    careful = np.zeros(groups, bool)
    if len(begins) != len(ends) or (of_begin != of_end).any():
        careful = np.bincount(of_begin, minlength=groups) != np.bincount(of_end, minlength=groups)
        kept = ~careful[of_begin]
        of_begin, begins, ends = of_begin[kept], begins[kept], ends[~careful[of_end]]
    pairs = Pairs(of_begin, begins, ends, begin_ticks.take(begins), end_ticks.take(ends))
    # File order is time order inside a group, except when it is not; an end before its begin betrays a lost record.
    broken = pairs.end_ticks < pairs.begin_ticks
    back = (pairs.begin_ticks[1:] < pairs.begin_ticks[:-1]) | (pairs.end_ticks[1:] < pairs.end_ticks[:-1])
    broken[1:] |= back & (of_begin[1:] == of_begin[:-1])
    if broken.any():
        careful[of_begin[broken]] = True
        kept = ~careful[of_begin]
        pairs = Pairs(*(column[kept] for column in pairs))
    if not careful.any():
        return pairs
    begins, ends = np.flatnonzero(careful[begin_group]), np.flatnonzero(careful[end_group])
    chosen = _pair_by_time(begin_group[begins], begin_ticks[begins], end_group[ends], end_ticks[ends])
    begins, ends = begins[chosen[0]], ends[chosen[1]]
    more = Pairs(begin_group[begins], begins, ends, begin_ticks[begins], end_ticks[ends])
    return Pairs(*(np.concatenate(both) for both in zip(pairs, more)))


def _by_group(group: Integers) -> Integers:
    """Return the positions ordered by group, then by position. numpy sorts numbers of 16 bits by far the fastest, so the two halves one after the other."""
    import numpy as np

    order = np.argsort(group.astype(np.uint16, copy=False), kind="stable")
    if group.dtype.itemsize <= 2:
        return order
    high = (group >> 16).astype(np.uint32)
    return order[np.argsort(high[order], kind="stable")]


def _pair_by_time(
    begin_group: Integers, begin_ticks: Integers, end_group: Integers, end_ticks: Integers
) -> tuple[Integers, Integers]:
    """Return the same pairing for groups where records are missing or out of order."""
    import numpy as np

    group = np.concatenate([begin_group, end_group])
    is_end = np.arange(len(group)) >= len(begin_group)
    order = np.lexsort((is_end, np.concatenate([begin_ticks, end_ticks]), group))
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
    return order[begins[paired_begins]], order[ends[paired_ends]] - len(begin_group)


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
    if not len(begin):
        return 0
    begin, end = _sorted(begin), _sorted(end)
    gaps = begin[1:] - end[:-1]
    return int(end[-1] - begin[0]) - exact_sum(gaps[gaps > 0])


def merged(begin: Any, end: Any, kind: Literal["quicksort", "stable"] = "quicksort") -> tuple[Any, Any]:
    """Return the union of the intervals as disjoint intervals, by begin; those that touch are one. Any unit, any number type.

    `kind`: of numpy's sort. "stable" is the faster one for a few runs that are sorted.
    """
    # Neighbours that touch, as packets of one DMA do, are joined first: the fewer there are to be sorted, the better.
    touch = (begin[1:] >= begin[:-1]) & (begin[1:] <= end[:-1]) & (end[1:] >= end[:-1])
    begin, end = _apart(begin, end, ~touch)
    begin, end = _sorted(begin, kind), _sorted(end, kind)
    return _apart(begin, end, begin[1:] > end[:-1])


def _apart(begin: Any, end: Any, gaps: Any) -> tuple[Any, Any]:
    """Return intervals as one where there is no gap between them and the next."""
    import numpy as np

    opens, closes = np.ones((2, len(begin)), bool)
    opens[1:] = closes[:-1] = gaps
    return begin.compress(opens), end.compress(closes)  # twice as fast as by subscript


def _sorted(values: Any, kind: Literal["quicksort", "stable"] = "quicksort") -> Any:
    """Return the numbers in order. numpy sorts many of 32 bits twice as fast as those of 64."""
    import numpy as np

    if values.dtype != np.int64 or len(values) < MANY:
        return np.sort(values, kind=kind)
    least = values.min()
    if int(values.max()) - int(least) > np.iinfo(np.uint32).max:
        return np.sort(values, kind=kind)
    return np.sort((values - least).astype(np.uint32), kind=kind).astype(np.int64) + least


def exact_sum(values: Any) -> int:
    """Return the sum of int64 values without overflow."""
    import numpy as np

    halves = np.ascontiguousarray(values, "<i8").view("<u4")
    return (int(halves[1::2].view("<i4").sum(dtype=np.int64)) << 32) + int(halves[::2].sum(dtype=np.int64))
