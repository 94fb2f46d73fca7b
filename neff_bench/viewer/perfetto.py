"""Writes a timeline as a Perfetto trace (`x.pftrace`, opens in ui.perfetto.dev): one track for each DMA queue and engine, semaphores and memory use
as counters, the critical path as arrows. Slices of one track may not overlap, so an engine or queue whose events overlap has several of one name, which
Perfetto draws as one row. Packets are written in the order of time, which Perfetto opens three times as fast."""

from __future__ import annotations

import heapq
import struct
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from neff_bench.chips.engines import ENGINES, SHOWN, TITLES
from neff_bench.parsers.event_rows import DmaRow, InstructionRow, SemaphoreRow, Timeline, UsageRow, core_name
from neff_bench.parsers.formats.perfetto import (
    CounterDescriptor,
    DebugAnnotation,
    InternedData,
    Trace,
    TracePacket,
    TrackDescriptor,
    TrackEvent,
)
from neff_bench.parsers.wire import encode_field, encode_fixed64, encode_message, encode_varint
from neff_bench.viewer.critical_path import critical_path

SEQUENCE = 1
ENGINE_ORDER = ("Sync", *(TITLES[ENGINES.index(engine)] for engine in SHOWN if engine != "sync"))
"""From top to bottom as neuron-explorer has them: DMA queues above, then Sync, and the engines that compute."""
ENGINES_FROM, USAGE_FROM, SEMAPHORES_FROM = 100_000, 200_000, 300_000
"""Ranks of the tracks below the DMA queues."""
END_FIRST, BEGIN_NEXT, COUNTER_LAST = 0, 1, 2
"""What stands first of the packets of one moment."""

Packet = tuple[int, int, int, bytes]
"""Time in ns, order within that moment, number, bytes."""


class _Texts:
    """Interned texts of one kind."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        return self.numbers.setdefault(text, len(self.numbers) + 1)

    def fields(self, number: int) -> Iterator[tuple[int, bytes]]:
        for text, iid in self.numbers.items():
            yield number, encode_message((1, iid), (2, text.encode()))


class _Writer:
    """Collects tracks and packets; `bytes` puts them in order."""

    def __init__(self) -> None:
        self.names, self.keys, self.texts = _Texts(), _Texts(), _Texts()
        self.heads: dict[tuple[int, int], tuple[bytes, bytes]] = {}
        self.annotations: dict[tuple[str, str | float], bytes] = {}
        self.tracks: list[bytes] = []
        self.packets: list[Packet] = []

    def track(self, name: str, parent: int = 0, rank: int = 0, unit: str | None = None) -> int:
        """Return the uuid of a new track; one with a unit is a counter."""
        uuid = len(self.tracks) + 1
        fields: list[tuple[int, int | bytes]] = [(TrackDescriptor.UUID, uuid), (TrackDescriptor.NAME, name.encode())]
        if parent:
            fields += [(TrackDescriptor.PARENT_UUID, parent), (TrackDescriptor.SIBLING_RANK, rank)]
        if unit is None:
            fields.append((TrackDescriptor.CHILD_ORDERING, TrackDescriptor.EXPLICIT))
        else:
            fields.append((TrackDescriptor.COUNTER, encode_message((CounterDescriptor.UNIT_NAME, unit.encode()))))
        self.tracks.append(encode_message(*fields))
        return uuid

    def slice(self, track: int, name: str, begin_ns: int, end_ns: int, arguments: bytes, flows: bytes) -> None:
        """Add a slice from its begin to its end."""
        number = self.names.number(name)
        if (track, number) not in self.heads:
            on_track = encode_field(TrackEvent.TRACK_UUID, track)
            named = encode_field(TrackEvent.NAME_IID, number)
            self.heads[track, number] = (
                encode_field(TrackEvent.TYPE, TrackEvent.BEGIN) + on_track + named,
                encode_field(TrackEvent.TYPE, TrackEvent.END) + on_track,
            )
        begin, end = self.heads[track, number]
        opens, closes = _event(begin_ns, begin + arguments + flows), _event(end_ns, end)
        if end_ns > begin_ns:
            self.packets.append((begin_ns, BEGIN_NEXT, len(self.packets), opens))
            self.packets.append((end_ns, END_FIRST, len(self.packets), closes))
        else:
            self.packets.append((begin_ns, BEGIN_NEXT, len(self.packets), opens + closes))

    def count(self, track: int, time_ns: int, value: float) -> None:
        """Add a point of a counter."""
        kind = encode_message((TrackEvent.TYPE, TrackEvent.COUNTER), (TrackEvent.TRACK_UUID, track))
        number = encode_fixed64(TrackEvent.DOUBLE_COUNTER_VALUE, int.from_bytes(struct.pack("<d", value), "little"))
        self.packets.append((time_ns, COUNTER_LAST, len(self.packets), _event(time_ns, kind + number)))

    def arguments(self, values: Iterable[tuple[str, str | float | None]]) -> bytes:
        """Return annotations of a slice: numbers as numbers, texts interned; what is not known is left out."""
        return b"".join([self._argument(key, value) for key, value in values if value is not None and value != ""])

    def _argument(self, key: str, value: str | float) -> bytes:
        found = self.annotations.get((key, value))
        if found is None:
            known = (
                (DebugAnnotation.STRING_VALUE_IID, self.texts.number(value))
                if isinstance(value, str)
                else (DebugAnnotation.UINT_VALUE, max(round(value), 0))
            )
            annotation = encode_message((DebugAnnotation.NAME_IID, self.keys.number(key)), known)
            found = self.annotations[key, value] = encode_field(TrackEvent.DEBUG_ANNOTATION, annotation)
        return found

    def bytes(self) -> bytes:
        """Return the file: texts, tracks, events by time."""
        interned = encode_message(
            *self.names.fields(InternedData.EVENT_NAMES),
            *self.keys.fields(InternedData.ANNOTATION_NAMES),
            *self.texts.fields(InternedData.ANNOTATION_TEXTS),
        )
        first = encode_message(
            (TracePacket.SEQUENCE_ID, SEQUENCE),
            (TracePacket.SEQUENCE_FLAGS, TracePacket.STATE_CLEARED),
            (TracePacket.FIRST_ON_SEQUENCE, 1),
            (TracePacket.INTERNED_DATA, interned),
        )
        tracks = [
            encode_message((TracePacket.SEQUENCE_ID, SEQUENCE), (TracePacket.TRACK_DESCRIPTOR, track))
            for track in self.tracks
        ]
        head = [encode_field(Trace.PACKET, packet) for packet in (first, *tracks)]
        return b"".join((*head, *(packet[3] for packet in sorted(self.packets))))


_PACKET, _TIMESTAMP, _EVENT = (
    encode_varint(number << 3 | kind)
    for number, kind in ((Trace.PACKET, 2), (TracePacket.TIMESTAMP, 0), (TracePacket.TRACK_EVENT, 2))
)
_SEQUENCE = encode_message((TracePacket.SEQUENCE_ID, SEQUENCE), (TracePacket.SEQUENCE_FLAGS, TracePacket.NEEDS_STATE))


def _event(time_ns: int, event: bytes) -> bytes:
    """Return a packet of the file; there are two for each slice, so its parts that never change are encoded once."""
    body = b"".join((_TIMESTAMP, encode_varint(time_ns), _SEQUENCE, _EVENT, encode_varint(len(event)), event))
    return b"".join((_PACKET, encode_varint(len(body)), body))


def to_perfetto(timelines: Sequence[Timeline]) -> bytes:
    """Return the trace of one or more timelines, one group of tracks for each."""
    writer = _Writer()
    next_flow = 1
    for timeline in timelines:
        group = writer.track(f"{timeline.path}{' (SIMULATED)' if timeline.simulated else ''}")
        flows = _flows(timeline, next_flow)
        next_flow += len(flows)
        _write_dma(writer, group, timeline.dma)
        _write_instructions(writer, group, timeline.instructions, flows)
        _write_usage(writer, group, timeline.usage)
        _write_semaphores(writer, group, timeline.semaphores)
    return writer.bytes()


def _flows(timeline: Timeline, first: int) -> dict[int, bytes]:
    """Return for each row the ends of the arrows along the critical path."""
    steps = critical_path(timeline)
    flows: dict[int, bytes] = defaultdict(bytes)
    for place, step in enumerate(steps):
        if place > 0:
            flows[step.index] += encode_fixed64(TrackEvent.TERMINATING_FLOW_ID, first + place - 1)
        if place + 1 < len(steps):
            flows[step.index] += encode_fixed64(TrackEvent.FLOW_ID, first + place)
    return flows


def _write_dma(writer: _Writer, group: int, rows: Sequence[DmaRow]) -> None:
    lanes: dict[tuple[str, str], list[DmaRow]] = defaultdict(list)
    for row in rows:
        lanes[row.subgraph, row.queue_name or row.subgroup].append(row)
    for rank, ((core, queue), mine) in enumerate(sorted(lanes.items())):
        name = f"{queue} {core_name(core)}".strip()
        for row, track in _on_tracks(writer, group, name, rank, mine):
            arguments = writer.arguments(
                (
                    ("bytes", row.transfer_size),
                    ("kind", row.queue_type),
                    ("queue", row.dma_queue),
                    ("dma_engine", row.dma_engine),
                    ("line", row.nki_source_location),
                )
            )
            shown = row.variable if row.variable not in ("", "unknown") else row.queue_type or "DMA"
            writer.slice(track, shown, *_span(row), arguments, b"")


def _write_instructions(writer: _Writer, group: int, rows: Sequence[InstructionRow], flows: dict[int, bytes]) -> None:
    lanes: dict[tuple[str, str], list[InstructionRow]] = defaultdict(list)
    rows = list(rows)  # one object for each, known by itself below
    number = {id(row): index for index, row in enumerate(rows)}
    for row in rows:
        lanes[row.subgraph, row.subgroup].append(row)
    order = {engine: place for place, engine in enumerate(ENGINE_ORDER)}
    by_engine = sorted(lanes.items(), key=lambda lane: (order.get(lane[0][1], len(order)), lane[0]))
    for rank, ((core, engine), mine) in enumerate(by_engine, ENGINES_FROM):
        for row, track in _on_tracks(writer, group, f"{engine} {core_name(core)}".strip(), rank, mine):
            flow = flows.get(number[id(row)], b"")
            arguments = writer.arguments(
                (
                    ("pc", row.pc if row.pc >= 0 else None),
                    ("waited_ns", row.evt_wait_time),
                    ("instruction", row.bir_instruction_name),
                    ("operands", row.operands.strip()),
                    ("hlo", row.hlo_name),
                    ("line", row.nki_source_location),
                    ("called_from", " > ".join(row.nki_call_stack)),
                    ("alignment", row.alignment if row.alignment == "unaligned" else None),
                    ("critical_path", "yes" if flow else None),
                )
            )
            writer.slice(track, row.opcode, *_span(row), arguments, flow)


Row = TypeVar("Row", DmaRow, InstructionRow)


def _on_tracks(writer: _Writer, group: int, name: str, rank: int, rows: Sequence[Row]) -> Iterator[tuple[Row, int]]:
    """Yield each row with a track of the name on which it overlaps with nothing; the fewest tracks that do."""
    free: list[tuple[int, int]] = []
    for row in sorted(rows, key=lambda row: (row.timestamp, row.duration)):
        begin, end = _span(row)
        track = heapq.heappop(free)[1] if free and free[0][0] <= begin else writer.track(name, group, rank)
        heapq.heappush(free, (end, track))
        yield row, track


def _span(row: DmaRow | InstructionRow) -> tuple[int, int]:
    begin = round(row.timestamp)
    return begin, begin + round(row.duration)


def _write_usage(writer: _Writer, group: int, rows: Sequence[UsageRow]) -> None:
    tracks: dict[tuple[str, str], int] = {}
    for row in rows:
        key = row.subgraph, row.type
        if key not in tracks:
            name = f"{'SBUF' if row.type == 'sb' else row.type.upper()} in use {core_name(row.subgraph)}".strip()
            tracks[key] = writer.track(name, group, USAGE_FROM + len(tracks), "%")
        writer.count(tracks[key], round(row.timestamp), 100 * row.usage_avg)


def _write_semaphores(writer: _Writer, group: int, rows: Sequence[SemaphoreRow]) -> None:
    tracks: dict[tuple[str, str], int] = {}
    for row in rows:
        key = row.subgraph, str(row.id)
        if key not in tracks:
            name = f"semaphore {row.id} {core_name(row.subgraph)}".strip()
            tracks[key] = writer.track(name, group, SEMAPHORES_FROM + len(tracks), "")
        writer.count(tracks[key], round(row.timestamp), row.value)
