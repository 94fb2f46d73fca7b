"""Columns as text, read again as decode.js does it."""

import base64
import gzip
import json
from dataclasses import replace

import numpy as np
import pytest

from neff_bench.viewer.page.encoding import _kind, pack
from neff_bench.viewer.page.events import Side, events_of
from tests.viewer.page.profiles import small


def unpack(packed):
    data, at, columns = gzip.decompress(base64.b64decode(packed.data)), 0, {}
    for name, kind, count, _ in packed.columns:
        size = np.dtype(kind).itemsize
        planes = np.frombuffer(data, np.uint8, count * size, at).reshape(size, count)
        columns[name] = np.ascontiguousarray(planes.T).view(f"<{kind}").ravel()
        at += count * size
    assert at == len(data)
    return columns


def test_columns_are_read_as_they_were_written():
    events = events_of([Side("", small())])
    packed = pack(events)
    columns = unpack(packed)
    assert np.array_equal(columns["duration"], events.duration) and np.array_equal(columns["amount"], events.amount)
    for track in events.tracks:
        for first, last in track.rows:
            assert np.array_equal(np.cumsum(columns["start"][first:last]), events.start[first:last])
    back = columns["before"].astype(int)
    steps = np.where(back & 1, -(back + 1) // 2, back // 2)
    assert np.array_equal(np.repeat(np.arange(len(events)), columns["before_count"]) - steps, events.before)
    assert json.loads(gzip.decompress(base64.b64decode(packed.details))) == list(events.details)


def test_the_same_events_are_the_same_bytes():
    assert pack(events_of([Side("", small())])) == pack(events_of([Side("", small())]))


def test_times_that_are_no_whole_numbers_or_before_the_start_are_kept():
    timeline = small()
    timeline.instructions[0].timestamp = -12.5
    events = events_of([Side("", timeline)])
    packed = pack(events)
    assert np.array_equal(unpack(packed)["start"], events.start) and packed.columns[0][3] == ""


def test_a_profile_without_events_is_packed():
    assert pack(events_of([Side("", replace(small(), instructions=[], dma=[], semaphores=[]))])).columns[0][2] == 0


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([], "u1"), ([0, 255], "u1"), ([256], "u2"), ([65535.0], "u2"), ([65536], "u4"), ([2**32 - 1], "u4"), ([2**32], "f8"),
        ([-1], "f8"), ([0.5], "f8"), ([3.0], "u1"),
    ],
)  # fmt: skip
def test_a_column_takes_the_smallest_type_that_holds_it(values, kind):
    assert _kind(np.array(values)) == kind


def test_predecessors_that_come_later_are_kept():
    events = events_of([Side("", small())])
    later = replace(events, before=events.before[::-1])
    columns = unpack(pack(later))
    back = columns["before"].astype(int)
    steps = np.where(back & 1, -(back + 1) // 2, back // 2)
    assert (steps < 0).any()
    assert np.array_equal(np.repeat(np.arange(len(events)), columns["before_count"]) - steps, later.before)


def test_a_predecessor_is_written_as_how_far_back_it_is_even_and_how_far_on_odd():
    events = events_of([Side("", small())])
    counts = np.zeros(len(events), np.int64)
    counts[2] = 5
    some = replace(events, before=np.array([0, 1, 2, 3, 4]), before_start=np.cumsum([0, *counts]))
    assert unpack(pack(some))["before"].tolist() == [4, 2, 0, 1, 3]


def test_a_page_says_of_each_column_its_type_its_length_and_its_differences():
    events = events_of([Side("", small())])
    said = {name: (kind, count, difference) for name, kind, count, difference in pack(events).columns}
    assert {name: difference for name, (*_, difference) in said.items() if difference} == {
        "start": "row",
        "before": "self",
    }
    assert {count for _, count, _ in said.values()} == {len(events), len(events.before)}
    assert list(said) == [
        "start",
        "duration",
        "name",
        "stack",
        "amount",
        "detail",
        "pc",
        "before_count",
        "before",
        "reason",
    ]
