"""Declares Perfetto's trace, as far as a timeline needs it: field numbers of its messages (github.com/google/perfetto, protos/perfetto/trace/)."""

from __future__ import annotations


class Trace:
    """The file."""

    PACKET = 1


class TracePacket:
    """One event or descriptor. TIMESTAMP in ns. SEQUENCE_FLAGS: 1 on the first packet, 2 on each that uses interned texts."""

    TIMESTAMP, SEQUENCE_ID, TRACK_EVENT, INTERNED_DATA, SEQUENCE_FLAGS, TRACK_DESCRIPTOR = 8, 10, 11, 12, 13, 60
    FIRST_ON_SEQUENCE = 87
    STATE_CLEARED, NEEDS_STATE = 1, 2


class TrackDescriptor:
    """A track. Under a plain named track EXPLICIT order keeps the rows as they are ranked."""

    UUID, NAME, PARENT_UUID, COUNTER, CHILD_ORDERING, SIBLING_RANK = 1, 2, 5, 8, 11, 12
    EXPLICIT = 3


class CounterDescriptor:
    """Holds what a counter counts."""

    UNIT_NAME = 6


class TrackEvent:
    """FLOW_IDS and TERMINATING_FLOW_IDS are fixed64: a flow leads from the one to the other and cannot fork."""

    DEBUG_ANNOTATION, TYPE, NAME_IID, TRACK_UUID = 4, 9, 10, 11
    DOUBLE_COUNTER_VALUE, FLOW_ID, TERMINATING_FLOW_ID = 44, 47, 48
    BEGIN, END, COUNTER = 1, 2, 4


class DebugAnnotation:
    """One argument of a slice."""

    NAME_IID, UINT_VALUE, STRING_VALUE_IID = 1, 3, 17


class InternedData:
    """Texts by number, never 0; each entry is {1: number, 2: text}."""

    EVENT_NAMES, ANNOTATION_NAMES, ANNOTATION_TEXTS = 2, 3, 29
