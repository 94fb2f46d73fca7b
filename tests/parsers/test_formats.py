"""Numbers of formats that others declare."""

import pytest

from neff_bench.parsers.formats import ntff, perfetto
from neff_bench.parsers.formats.opcodes import NAMES, OPCODES, PUBLIC

messages = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")

FIELDS = {
    "Trace": {"PACKET": "packet"},
    "TracePacket": {
        "TIMESTAMP": "timestamp", "SEQUENCE_ID": "trusted_packet_sequence_id", "TRACK_EVENT": "track_event",
        "INTERNED_DATA": "interned_data", "SEQUENCE_FLAGS": "sequence_flags", "TRACK_DESCRIPTOR": "track_descriptor",
        "FIRST_ON_SEQUENCE": "first_packet_on_sequence",
    },
    "TrackDescriptor": {
        "UUID": "uuid", "NAME": "name", "PARENT_UUID": "parent_uuid", "COUNTER": "counter",
        "CHILD_ORDERING": "child_ordering", "SIBLING_RANK": "sibling_order_rank",
    },
    "CounterDescriptor": {"UNIT_NAME": "unit_name"},
    "TrackEvent": {
        "DEBUG_ANNOTATION": "debug_annotations", "TYPE": "type", "NAME_IID": "name_iid", "TRACK_UUID": "track_uuid",
        "DOUBLE_COUNTER_VALUE": "double_counter_value", "FLOW_ID": "flow_ids", "TERMINATING_FLOW_ID": "terminating_flow_ids",
    },
    "DebugAnnotation": {"NAME_IID": "name_iid", "UINT_VALUE": "uint_value", "STRING_VALUE_IID": "string_value_iid"},
    "InternedData": {
        "EVENT_NAMES": "event_names", "ANNOTATION_NAMES": "debug_annotation_names",
        "ANNOTATION_TEXTS": "debug_annotation_string_values",
    },
}  # fmt: skip


@pytest.mark.parametrize("message", FIELDS)
def test_fields_have_perfettos_numbers(message):
    ours, theirs = vars(getattr(perfetto, message)), getattr(messages, message).DESCRIPTOR.fields_by_name
    for name, field in FIELDS[message].items():
        assert ours[name] == theirs[field].number, name


def test_values_are_those_that_perfetto_names():
    event, packet = messages.TrackEvent, messages.TracePacket
    ours = perfetto.TrackEvent
    assert (ours.BEGIN, ours.END, ours.COUNTER) == (event.TYPE_SLICE_BEGIN, event.TYPE_SLICE_END, event.TYPE_COUNTER)
    assert perfetto.TracePacket.STATE_CLEARED == packet.SEQ_INCREMENTAL_STATE_CLEARED
    assert perfetto.TracePacket.NEEDS_STATE == packet.SEQ_NEEDS_INCREMENTAL_STATE
    assert perfetto.TrackDescriptor.EXPLICIT == messages.TrackDescriptor.EXPLICIT


def test_opcodes_without_a_public_number_have_one_that_no_public_opcode_has():
    own = [OPCODES[name] for name in OPCODES if name not in PUBLIC]
    assert own == [*range(0x10, 0x20), *range(0x60, 0x60 + len(own) - 16)]
    assert len(NAMES) == len(OPCODES) and not {*own} & {*PUBLIC.values()}


def test_what_the_simulator_adds_to_a_trace_has_the_numbers_of_the_files_that_are_there():
    names = ("VERSION", "MODEL", "SHA256", "FIRST_EXECUTION", "SCHEDULE_BYTES")
    assert [getattr(ntff.Simulator, name) for name in names] == [1, 2, 3, 4, 5]
