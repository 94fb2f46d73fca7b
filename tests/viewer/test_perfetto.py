"""Perfetto traces, read back with Perfetto's own messages."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neff_bench.parsers.event_rows import (
    DmaRow,
    LinkedInstructionRow,
    Predecessor,
    SemaphoreRow,
    Timeline,
    UsageRow,
)
from neff_bench.viewer.perfetto import AT_ONCE, _levels, to_perfetto

messages = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")


def row(begin, duration, engine, opcode, number, after=(), **more):
    predecessors = [Predecessor(one) for one in after]
    return LinkedInstructionRow(
        timestamp=begin, duration=duration, subgroup=engine, subgraph="sg00", opcode=opcode, pc=number, id=number,
        predecessors=predecessors, **more,
    )  # fmt: skip


ROWS = [
    row(10, 5, "Vector", "COPY", 1, nki_source_location="mm.py:3", nki_call_stack=("k.py:9",)),
    row(20, 30, "Tensor", "MATMUL", 2, after=[1], operands="src=x"),
    row(30, 30, "Tensor", "MATMUL", 3),
    row(60, 0, "Tensor", "MATMUL", 4, after=[2]),
    row(60, 15, "Tensor", "MATMUL", 5, after=[3]),
]
PACKETS = [DmaRow(0, 8, 512, "Q1-E64", "sg00", "64", "1", "hardware_dynamic", variable=name) for name in ("x", "y")]
TIMELINE = Timeline(
    "x.json", True, {}, ROWS, PACKETS, [SemaphoreRow(12, "S[5] (Tensor)", 3, "sg00")],
    usage=[UsageRow(0, "sb", 0.25, "sg00")],
)  # fmt: skip


class Read:
    """A trace as Perfetto's messages tell it: tracks by uuid, slices, counters, flows."""

    def __init__(self, data):
        trace = messages.Trace()
        trace.ParseFromString(data)
        events = [packet for packet in trace.packet if packet.HasField("track_event")]
        self.times = [packet.timestamp for packet in events]
        interned = trace.packet[0].interned_data
        self.names = {one.iid: one.name for one in interned.event_names}
        self.keys = {one.iid: one.name for one in interned.debug_annotation_names}
        self.texts = {one.iid: one.str.decode() for one in interned.debug_annotation_string_values}
        self.tracks = {
            one.track_descriptor.uuid: one.track_descriptor
            for one in trace.packet[1:]
            if one.HasField("track_descriptor")
        }
        self.slices, self.counters, self.flows, opened = [], [], Counter(), {}
        for packet in events:
            event = packet.track_event
            if event.type == event.TYPE_SLICE_BEGIN:
                assert event.track_uuid not in opened, "slices of a track overlap"
                opened[event.track_uuid] = packet
                self.flows.update([("from", one) for one in event.flow_ids])
                self.flows.update([("to", one) for one in event.terminating_flow_ids])
            elif event.type == event.TYPE_SLICE_END:
                begin = opened.pop(event.track_uuid)
                known = {
                    self.keys[one.name_iid]: self.texts[one.string_value_iid]
                    if one.string_value_iid
                    else one.uint_value
                    for one in begin.track_event.debug_annotations
                }
                name = self.names[begin.track_event.name_iid]
                self.slices.append((self.tracks[event.track_uuid].name, name, begin.timestamp, packet.timestamp, known))
            else:
                assert event.type == event.TYPE_COUNTER
                self.counters.append((self.tracks[event.track_uuid].name, packet.timestamp, event.double_counter_value))
        assert not opened


@pytest.fixture(scope="module")
def read():
    return Read(to_perfetto([TIMELINE]))


def test_each_row_is_one_slice_at_its_time_on_its_track(read):
    found = Counter(one[:4] for one in read.slices)
    assert found == Counter(
        [(f"{one.subgroup} core 0", one.opcode, one.timestamp, one.timestamp + one.duration) for one in ROWS]
        + [("Q1-E64 core 0", one.variable, 0, 8) for one in PACKETS]
    )
    assert read.times == sorted(read.times)


def test_slices_carry_what_the_row_says(read):
    (copy,) = [one[4] for one in read.slices if one[1] == "COPY"]
    assert copy == {
        "pc": 1,
        "waited_ns": 0,
        "line": "mm.py:3",
        "called_from": "k.py:9",
        "critical_path": "Vector, latency",
    }
    assert {one[4]["bytes"] for one in read.slices if one[1] in "xy"} == {512}


def test_semaphores_and_memory_are_counters(read):
    assert set(read.counters) == {("semaphore S[5] (Tensor) core 0", 12, 3.0), ("SBUF in use core 0", 0, 25.0)}


def test_arrows_follow_the_critical_path(read):
    ends = Counter(number for (end, number) in read.flows)
    assert ends and set(ends.values()) == {2}
    on_path = {one[2:4] for one in read.slices if one[4].get("critical_path")}
    assert on_path == {(10, 15), (20, 50), (30, 60), (60, 75)}


def test_a_simulated_timeline_says_so(read):
    assert [track.name for track in read.tracks.values() if not track.parent_uuid] == ["x.json (SIMULATED)"]


def test_a_queue_may_have_a_number_or_a_name():
    rows = [DmaRow(10 * at, 8, 512, "Q1-E64", dma_queue=queue) for at, queue in enumerate((3, "4", -1))]
    read = Read(to_perfetto([Timeline("x.json", False, {}, [], rows, [])]))
    assert [one[4]["queue"] for one in read.slices] == [3, "4", 0]


def test_a_row_without_an_opcode_says_so():
    read = Read(to_perfetto([Timeline("x.json", False, {}, [row(0, 5, "Vector", "", 1)], [], [])]))
    assert [one[1] for one in read.slices] == ["(no opcode)"]


def test_many_events_of_one_time_keep_their_order():
    rows = [row(at // 3, 0, "Vector", f"O{at}", at) for at in range(AT_ONCE)]
    read = Read(to_perfetto([Timeline("x.json", False, {}, rows, [], [])]))
    assert [one[1] for one in read.slices] == [one.opcode for one in rows]


def test_no_event_begins_before_the_execution():
    with pytest.raises(ValueError, match="before the start"):
        to_perfetto([Timeline("x.json", False, {}, [row(-5, 5, "Vector", "COPY", 1)], [], [])])


def test_tracks_stand_below_their_timeline_queues_above_engines_above_counters():
    engines = ("GpSimd", "Zed", "Vector", "Tensor", "Sync", "Scalar", "Abc")
    rows = [row(0, 5, engine, "X", at) for at, engine in enumerate(engines)]
    packets = [*PACKETS, DmaRow(0, 8, 512, "Q1-E64", "sg01", queue_name="qA")]
    usage = [UsageRow(at, kind, 0.5, "sg01") for at, kind in enumerate(("sb", "psum", "zz"))]
    semaphores = [SemaphoreRow(12, "S[5]", 3, "sg00"), SemaphoreRow(1, 3, 3, "")]
    timelines = [Timeline(name, False, {}, rows, packets, semaphores, usage=usage) for name in ("one", "two")]
    read = Read(to_perfetto(timelines))
    by_core = ["Sync", "Tensor", "Vector", "Scalar", "GpSimd", "Abc", "Zed"]
    expected = [("Q1-E64 core 0", 0, ""), ("Q1-E64 core 0", 0, ""), ("qA core 1", 1, "")]
    expected += [(f"{engine} core 0", 100_000 + at, "") for at, engine in enumerate(by_core)]
    expected += [(f"{memory} in use core 1", 200_000 + at, "%") for at, memory in enumerate(("SBUF", "PSUM", "ZZ"))]
    expected += [("semaphore S[5] core 0", 300_000, ""), ("semaphore 3", 300_001, "")]
    groups = [uuid for uuid, track in read.tracks.items() if not track.parent_uuid]
    assert [read.tracks[uuid].name for uuid in groups] == ["one", "two"]
    for group in groups:
        tracks = [track for track in read.tracks.values() if track.parent_uuid == group]
        assert [(one.name, one.sibling_order_rank, one.counter.unit_name) for one in tracks] == expected
        assert [one.HasField("counter") for one in tracks] == [rank >= 200_000 for _, rank, _ in expected]
    assert len({number for _, number in read.flows}) == 0


def test_arrows_of_two_timelines_have_numbers_of_their_own():
    one, both = (Read(to_perfetto([TIMELINE] * count)).flows for count in (1, 2))
    assert len(both) == 2 * len(one) and set(both.values()) == {1}


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 6)), max_size=12))
def test_events_that_overlap_are_on_several_tracks_the_fewest_that_do(spans):
    spans = sorted((begin, begin + length) for begin, length in spans)
    begin, end = np.array(spans, np.int64).reshape(-1, 2).T
    levels = _levels(begin, end).tolist()
    assert len(levels) == len(spans)
    for at, (first, _) in enumerate(spans):
        before = {levels[other] for other in range(at) if spans[other][1] > first}
        assert levels[at] not in before
    most = max((sum(until > first for _, until in spans[:at]) for at, (first, _) in enumerate(spans)), default=-1)
    assert max(levels, default=-1) == most


@pytest.mark.parametrize(
    ("variable", "kind", "name"),
    [("x", "static", "x"), ("", "static", "static"), ("unknown", "static", "static"), ("unknown", "", "DMA")],
)
def test_a_packet_is_called_by_its_variable_or_its_kind(variable, kind, name):
    packet = DmaRow(0, 8, 512, "Q1-E64", queue_type=kind, variable=variable)
    assert [one[1] for one in Read(to_perfetto([Timeline("x", False, {}, [], [packet], [])])).slices] == [name]


def test_slices_have_arguments_for_all_that_is_known_and_for_nothing_else():
    known = row(
        0, 5, "Vector", "COPY", 7, evt_wait_time=2.6, operands=" a=1 ", bir_instruction_name="I-1", hlo_name="dot",
        nki_source_location="k.py:2", nki_call_stack=("m.py:1", "n.py:3"), alignment="unaligned",
    )  # fmt: skip
    bare = row(10, 5, "Tensor", "NOP", -5, evt_wait_time=-3, alignment="compiled")
    placeless = row(20, 5, "Scalar", "DRAIN", -1)
    found = Read(to_perfetto([Timeline("x", False, {}, [known, bare, placeless], [], [])])).slices
    said = {name: {key: value for key, value in one.items() if key != "critical_path"} for _, name, _, _, one in found}
    assert said == {
        "COPY": {"pc": 7, "waited_ns": 3, "instruction": "I-1", "operands": "a=1", "hlo": "dot", "line": "k.py:2",
                 "called_from": "m.py:1 > n.py:3", "alignment": "unaligned"},
        "NOP": {"waited_ns": 0}, "DRAIN": {"waited_ns": 0},
    }  # fmt: skip


def test_of_slices_that_meet_the_first_ends_before_the_next_begins_also_where_one_takes_no_time():
    spans = [(0, 10), (10, 0), (10, 0), (10, 5), (15, 5), (15, 0)]
    rows = [row(begin, duration, "Vector", f"O{at}", at) for at, (begin, duration) in enumerate(spans)]
    read = Read(to_perfetto([Timeline("x.json", False, {}, rows[::-1], [], [])]))
    assert sorted(one[1:4] for one in read.slices) == [(f"O{at}", a, a + b) for at, (a, b) in enumerate(spans)]
    assert len({one[0] for one in read.slices}) == 1 and len(read.tracks) == 2
