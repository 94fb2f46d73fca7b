"""Timelines as columns and tracks."""

from dataclasses import replace

import numpy as np

from neff_bench.parsers.event_rows import DmaRow
from neff_bench.viewer.page.events import DEPENDENCES, Side, events_of
from tests.viewer.page.profiles import small


def find(events, name):
    return int(np.flatnonzero(events.name == events.names.index(name))[0])


def test_tracks_stand_in_the_order_of_awss_viewer():
    events = events_of([Side("", small())])
    assert [track.title for track in events.tracks] == [
        "Q1 hardware core 0", "Sync core 0", "TensorMatrix core 0", "Vector core 0", "Semaphores core 0",
    ]  # fmt: skip
    assert len(events) == 6


def test_events_that_overlap_stand_in_rows_of_their_own():
    timeline = small()
    packets = [DmaRow(start, 10, 1, "Q1-E3", "sg00") for start in (5, 0, 10, 12, 21)]
    events = events_of([Side("", replace(timeline, instructions=[], dma=packets, semaphores=[]))])
    [track] = events.tracks
    for first, last in track.rows:
        assert (events.start[first + 1 : last] >= events.end[first : last - 1]).all()
    assert len(track.rows) == 3
    assert sorted(events.start.tolist()) == [0, 5, 10, 12, 21]


def test_of_events_that_start_together_the_longest_stands_first():
    packets = [DmaRow(start, length, 1, "Q1-E3", "sg00") for start, length in ((5, 2), (0, 4), (5, 30), (5, 10))]
    events = events_of([Side("", replace(small(), instructions=[], dma=packets, semaphores=[]))])
    assert events.tracks[0].rows == ((0, 2), (2, 3), (3, 4)) and events.duration.tolist() == [4, 30, 10, 2]


def test_what_waits_for_a_dma_waits_for_its_last_packet():
    events = events_of([Side("", small())])
    product, load = find(events, "MATMUL"), find(events, "DMA_DIRECT2D")
    [before] = events.before[events.before_start[product] : events.before_start[product + 1]].tolist()
    assert events.end[before] == 280 and events.names[events.name[before]] == "lhs"
    assert DEPENDENCES[events.reason[events.before_start[product]]].name == "FLOW"
    assert events.before[events.before_start[before]] == load


def test_a_stack_holds_the_innermost_line_first():
    events = events_of([Side("", small())])
    assert [events.lines[line] for line in events.stacks[events.stack[find(events, "MATMUL")]]] == [
        "kernel.py:4",
        "kernel.py:9",
    ]
    assert events.stacks[events.stack[-1]] == ()  # a semaphore has no line


def test_what_has_no_line_has_its_operation_of_the_graph():
    timeline = small()
    timeline.instructions[2].nki_source_location, timeline.instructions[2].hlo_name = None, "%dot.3 = dot(%a, %b)"
    events = events_of([Side("", timeline)])
    assert [events.lines[line] for line in events.stacks[events.stack[find(events, "COPY")]]] == [
        "%dot.3 = dot(%a, %b)"
    ]


def test_two_timelines_stand_over_each_other_track_by_track():
    events = events_of([Side("A", small()), Side("B", small())])
    assert [track.title for track in events.tracks][:4] == [
        "A Q1 hardware core 0",
        "B Q1 hardware core 0",
        "A Sync core 0",
        "B Sync core 0",
    ]
    before = np.repeat(np.arange(len(events)), np.diff(events.before_start))
    letters = np.concatenate([[track.letter] * (track.span.stop - track.span.start) for track in events.tracks])
    assert (letters[before] == letters[events.before]).all()


def test_no_events_are_no_tracks():
    empty = replace(small(), instructions=[], dma=[], semaphores=[])
    assert len(events_of([Side("", empty)])) == 0 == len(events_of([]))
