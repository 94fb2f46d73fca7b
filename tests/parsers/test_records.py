"""The fast arithmetic gives what the obvious loops give."""

from collections import defaultdict, deque

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neff_bench.parsers import records
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
    group = np.array([record[0] for record in records], np.uint8)
    ticks = np.array([record[1] for record in records], np.int64)
    is_end = np.array([record[2] for record in records], bool)
    begin_group, begin_ticks, end_group, end_ticks = group[~is_end], ticks[~is_end], group[is_end], ticks[is_end]
    pairs = pair_fifo(begin_group, begin_ticks, end_group, end_ticks, 4)
    assert (begin_group[pairs.begins] == pairs.group).all() and (end_group[pairs.ends] == pairs.group).all()
    assert (begin_ticks[pairs.begins] == pairs.begin_ticks).all() and (end_ticks[pairs.ends] == pairs.end_ticks).all()
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
    group = np.repeat(np.arange(groups, dtype=np.uint32), each)
    is_end = np.tile(np.arange(each) % 2 == 1, groups)
    is_end[::each] = True  # the first begin of every group is lost: its end has no partner
    ticks = np.tile(np.arange(each, dtype=np.int64), groups)
    pairs = pair_fifo(group[~is_end], ticks[~is_end], group[is_end], ticks[is_end], groups)
    assert len(pairs.group) == groups * (each // 2 - 1) and (pairs.end_ticks - pairs.begin_ticks == 1).all()


def test_groups_past_16_bits_stand_in_order():
    group = np.array([70_000, 3, 70_000, 65_536 + 3, 3, 0], np.uint32)
    pairs = pair_fifo(group, np.arange(6), group, np.arange(6) + 10, 70_001)
    assert pairs.group.tolist() == [0, 3, 3, 65_539, 70_000, 70_000] and pairs.begins.tolist() == [5, 1, 4, 3, 0, 2]
    assert pairs.end_ticks.tolist() == [15, 11, 14, 13, 10, 12]


def test_the_union_is_disjoint_intervals_by_begin_and_those_that_touch_are_one():
    begin, end = merged(np.array([20, 0, 1, 9, 30]), np.array([21, 8, 2, 12, 30]))
    assert list(zip(begin.tolist(), end.tolist(), strict=True)) == [(0, 8), (9, 12), (20, 21), (30, 30)]
    assert [len(column) for column in merged(np.array([], np.int64), np.array([], np.int64))] == [0, 0]
    assert [column.tolist() for column in merged(np.array([3, 5]), np.array([5, 6]))] == [[3], [6]]


@pytest.mark.parametrize("many", [1, records.MANY])
@pytest.mark.parametrize("scale", [1, 1 << 20, 1 << 40])
def test_the_union_covers_what_the_intervals_cover(monkeypatch, scale, many):
    monkeypatch.setattr(records, "MANY", many)
    random = np.random.default_rng(3)
    for count in range(1, 60):
        begin = random.integers(0, 50, count)
        end = begin + random.integers(0, 6, count)
        begins, ends = merged(begin * scale, end * scale)
        assert (begins[1:] > ends[:-1]).all()
        covered = {ps for one, other in zip(begins // scale, ends // scale) for ps in range(one, other + 1)}
        assert covered == {ps for one, other in zip(begin, end) for ps in range(one, other + 1)}
        assert union_length(begin * scale, end * scale) == (ends - begins).sum()
