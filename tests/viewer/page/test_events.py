"""Timelines as columns and tracks."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neff_bench.parsers.event_rows import Dependence, DmaRow, Predecessor
from neff_bench.viewer.page.events import (
    DEPENDENCES,
    Side,
    Track,
    _by_start,
    _levels,
    _order,
    _stack,
    engine_of,
    events_of,
    queue_of,
)
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


def test_the_place_of_an_event_in_its_stream_is_counted_from_one_and_zero_is_none():
    timeline = small()
    timeline.instructions[0].pc, timeline.instructions[1].pc, timeline.instructions[2].pc = 7, 0, -1
    events = events_of([Side("", timeline)])
    assert [int(events.pc[find(events, name)]) for name in ("DMA_DIRECT2D", "MATMUL", "COPY", "lhs")] == [8, 1, 0, 0]


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 6)), max_size=12))
def test_an_event_stands_on_the_first_row_on_which_it_overlaps_nothing(spans):
    start, duration = np.array(sorted(spans), float).reshape(-1, 2).T
    levels, ends = _levels(start, duration).tolist(), {}
    for level, begins, lasts in zip(levels, start.tolist(), duration.tolist()):
        assert level == next(one for one in range(13) if ends.get(one, -1) <= begins)
        ends[level] = begins + lasts


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), max_size=12))
def test_events_stand_by_start_and_the_longest_first(spans):
    start, duration = np.array(spans, float).reshape(-1, 2).T
    found = [(start[at], -duration[at]) for at in _by_start(start, duration).tolist()]
    assert found == sorted(found) and len(found) == len(spans)


@pytest.mark.parametrize(
    ("kind", "name", "family"),
    [("engine", "TensorMatrix", "tensor"), ("engine", "GpSimd", "gpsimd"), ("engine", "Zed", "wait"), ("dma", "Sync", "dma"), ("semaphore", "Sync", "wait")],
)  # fmt: skip
def test_a_track_has_the_colour_of_its_engine(kind, name, family):
    assert Track(name, "core 0", kind, "", ((0, 3), (3, 7))).family == family
    assert Track(name, "core 0", kind, "A", ((1, 3), (3, 7))).span == slice(1, 7)


@pytest.mark.parametrize(
    ("fields", "name"),
    [(("qA", "Q1-E3", "x"), "qA"), (("", "Q1-E3", "x"), "Q1 x"), (("", "Q1-E3", ""), "Q1"), (("", "", ""), "DMA")],
)
def test_a_queue_is_called_by_its_name_else_by_its_number_and_kind(fields, name):
    assert queue_of(*fields) == name


@pytest.mark.parametrize(
    ("engine", "opcode", "name"), [("Tensor", "MATMUL", "TensorMatrix"), ("Tensor", "LDWEIGHTS", "Tensor"), ("Vector", "MATMUL", "Vector"), ("", "MATMUL", "(no engine)")]
)  # fmt: skip
def test_products_stand_on_a_track_of_their_own(engine, opcode, name):
    assert engine_of(engine, opcode) == name


@pytest.mark.parametrize(
    ("line", "calls", "operation", "stack"),
    [("k:1", ("m:1", "n:2"), "dot", ("k:1", "n:2", "m:1")), (None, ("m:1",), "dot", ("dot", "m:1")), (None, ("m:1",), "", ()), ("k:1", (), "", ("k:1",))],
)  # fmt: skip
def test_a_stack_is_the_line_or_the_operation_and_those_that_call_it(line, calls, operation, stack):
    assert _stack(line, calls, operation) == stack


def test_of_packets_that_end_together_what_waits_waits_for_the_last():
    timeline = small()
    timeline.dma[0].timestamp, timeline.dma[0].duration = 70, 210
    events = events_of([Side("", timeline)])
    product = find(events, "MATMUL")
    [before] = events.before[events.before_start[product] : events.before_start[product + 1]].tolist()
    assert before == events.tracks[0].span.stop - 1


def test_what_is_only_ordered_is_no_predecessor():
    timeline = small()
    timeline.instructions[2].predecessors = [Predecessor(2, Dependence.ORDERED)]
    events = events_of([Side("", timeline)])
    copy = find(events, "COPY")
    assert events.before_start[copy] == events.before_start[copy + 1]


@pytest.mark.parametrize(
    ("kind", "name", "place"),
    [
        ("engine", "Sync", 0),
        ("engine", "GpSimd", 5),
        ("engine", "Zed", 6),
        ("dma", "Sync", 6),
        ("semaphore", "Semaphores", 6),
    ],
)
def test_engines_that_are_known_stand_in_their_order_above_all_others(kind, name, place):
    assert _order(kind, name) == place


def test_an_instruction_without_an_opcode_says_so():
    timeline = small()
    timeline.instructions[2].opcode = ""
    assert find(events_of([Side("", timeline)]), "(no opcode)") >= 0
