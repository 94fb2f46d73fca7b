"""The fast arithmetic gives what the obvious loops give."""

from collections import defaultdict, deque

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from neff_bench.parsers.records import exact_sum, merged, pair_fifo, union_length

BOUNDED = settings(derandomize=True, max_examples=200, deadline=None)

RECORDS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 30), st.booleans()), max_size=60)


def by_loop(records):
    open_ones, pairs = defaultdict(deque), []
    for position in sorted(range(len(records)), key=lambda index: (records[index][1], records[index][2], index)):
        group, ticks, is_end = records[position]
        if not is_end:
            open_ones[group].append(ticks)
        elif open_ones[group]:
            pairs.append((group, open_ones[group].popleft(), ticks))
    return sorted(pairs)


@BOUNDED
@given(RECORDS)
def test_pairing_in_any_order_with_records_missing(records):
    group = np.array([record[0] for record in records], np.int64)
    ticks = np.array([record[1] for record in records], np.int64)
    is_end = np.array([record[2] for record in records], bool)
    pairs = pair_fifo(group, ticks, is_end, 4)
    assert (group[pairs.begins] == pairs.group).all() and (group[pairs.ends] == pairs.group).all()
    assert (ticks[pairs.begins] == pairs.begin_ticks).all() and (ticks[pairs.ends] == pairs.end_ticks).all()
    assert sorted(zip(pairs.group.tolist(), pairs.begin_ticks.tolist(), pairs.end_ticks.tolist())) == by_loop(records)


@BOUNDED
@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=30))
def test_union_of_intervals(intervals):
    covered = {tick for begin, length in intervals for tick in range(begin, begin + length)}
    begin = np.array([one[0] for one in intervals], np.int64)
    assert union_length(begin, begin + np.array([one[1] for one in intervals], np.int64)) == len(covered)


@BOUNDED
@given(st.lists(st.integers(-(1 << 62), 1 << 62), max_size=20))
def test_sums_do_not_overflow(values):
    assert exact_sum(np.array(values, np.int64)) == sum(values)


def test_many_groups_of_32_bits_with_a_record_missing_in_each():
    groups, each = 1500, 1200
    group = np.repeat(np.arange(groups, dtype=np.int32), each)
    is_end = np.tile(np.arange(each) % 2 == 1, groups)
    is_end[::each] = True  # the first begin of every group is lost: its end has no partner
    ticks = np.tile(np.arange(each, dtype=np.int64), groups)
    pairs = pair_fifo(group, ticks, is_end, groups)
    assert len(pairs.group) == groups * (each // 2 - 1) and (pairs.end_ticks - pairs.begin_ticks == 1).all()


def test_the_union_is_disjoint_intervals_by_begin_and_those_that_touch_are_one():
    begin, end = merged(np.array([20, 0, 1, 9, 30]), np.array([21, 8, 2, 12, 30]))
    assert list(zip(begin.tolist(), end.tolist(), strict=True)) == [(0, 8), (9, 12), (20, 21), (30, 30)]
    assert [len(column) for column in merged(np.array([], np.int64), np.array([], np.int64))] == [0, 0]
    assert [column.tolist() for column in merged(np.array([3, 5]), np.array([5, 6]))] == [[3], [6]]
