"""Writes a timeline as a Perfetto trace (`x.pftrace`, opens in ui.perfetto.dev): one track for each DMA queue and engine, semaphores and memory use
as counters, the critical path as arrows. Slices of one track may not overlap, so an engine or queue whose events overlap has several of one name, which
Perfetto draws as one row. Packets are written in the order of time, which Perfetto opens three times as fast."""

from __future__ import annotations

import heapq
import struct
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, TypeVar

import numpy as np

from neff_bench.chips.engines import ENGINES, SHOWN, TITLES
from neff_bench.parsers.event_columns import Columns, coded, numbers
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
AT_ONCE = 1 << 14
"""So many packets are written together."""
END_FIRST, BEGIN_NEXT, COUNTER_LAST = 0, 1, 2
"""What stands first of the packets of one moment."""


class _Texts:
    """Interned texts of one kind."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        return self.numbers.setdefault(text, len(self.numbers) + 1)

    def fields(self, number: int) -> Iterator[tuple[int, bytes]]:
        for text, iid in self.numbers.items():
            encoded = text.encode()
            yield number, b"".join((_IID, encode_varint(iid), _TEXT, encode_varint(len(encoded)), encoded))


class _Writer:
    """Collects tracks and packets; `bytes` puts them in order."""

    def __init__(self) -> None:
        self.names, self.keys, self.texts = _Texts(), _Texts(), _Texts()
        self.heads: dict[tuple[int, int], tuple[bytes, bytes]] = {}
        self.named: dict[str, bytes] = {}
        self.annotations: dict[tuple[str, str | float], bytes] = {}
        self.tracks: list[bytes] = []
        self.events: list[bytes] = []
        self.moments = array("q")
        """Of each event: four times its time in ns, and its order within that moment."""

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
        self.moments.append(4 * begin_ns + BEGIN_NEXT)
        self.moments.append(4 * end_ns + (END_FIRST if end_ns > begin_ns else BEGIN_NEXT))
        self.events += (begin + arguments + flows, end)

    def count(self, track: int, time_ns: int, value: float) -> None:
        """Add a point of a counter."""
        kind = encode_message((TrackEvent.TYPE, TrackEvent.COUNTER), (TrackEvent.TRACK_UUID, track))
        number = encode_fixed64(TrackEvent.DOUBLE_COUNTER_VALUE, int.from_bytes(struct.pack("<d", value), "little"))
        self.moments.append(4 * time_ns + COUNTER_LAST)
        self.events.append(kind + number)

    def arguments(self, values: Iterable[tuple[str, Any]]) -> bytes:
        """Return annotations of a slice: numbers as numbers, texts interned; what is not known is left out."""
        known, new = self.annotations.get, self._argument
        return b"".join([known(pair) or new(*pair) for pair in values if pair[1] is not None and pair[1] != ""])

    def _argument(self, key: str, value: str | float) -> bytes:
        if isinstance(value, str):
            said = _TEXT_VALUE + encode_varint(self.texts.number(value))
        else:
            said = _NUMBER_VALUE + encode_varint(max(round(value), 0))
        if key not in self.named:
            self.named[key] = encode_field(DebugAnnotation.NAME_IID, self.keys.number(key))
        annotation = self.named[key] + said
        found = self.annotations[key, value] = _ANNOTATION + encode_varint(len(annotation)) + annotation
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
        return b"".join((*head, *self._packets()))

    def _packets(self) -> Iterator[Any]:
        """Yield the packets of the events by time, many at once."""
        moments = np.frombuffer(self.moments, np.int64)
        by_time = np.argsort(moments, kind="stable")
        for first in range(0, len(by_time), AT_ONCE):
            some = by_time[first : first + AT_ONCE]
            events = [*map(self.events.__getitem__, some.tolist())]
            heads = _heads(moments[some] >> 2, np.array([*map(len, events)]))
            yield b"".join(chain.from_iterable(zip(heads, events)))


_PACKET, _TIMESTAMP, _EVENT, _ANNOTATION, _TEXT_VALUE, _NUMBER_VALUE, _IID, _TEXT = (
    encode_varint(number << 3 | kind)
    for number, kind in (
        (Trace.PACKET, 2), (TracePacket.TIMESTAMP, 0), (TracePacket.TRACK_EVENT, 2), (TrackEvent.DEBUG_ANNOTATION, 2),
        (DebugAnnotation.STRING_VALUE_IID, 0), (DebugAnnotation.UINT_VALUE, 0), (1, 0), (2, 2),
    )
)  # fmt: skip
"""What begins a field, since there are millions of these."""
_SEQUENCE = encode_message((TracePacket.SEQUENCE_ID, SEQUENCE), (TracePacket.SEQUENCE_FLAGS, TracePacket.NEEDS_STATE))


def _heads(time_ns: Any, length: Any) -> list[bytes]:
    """Return what stands before each event of so many bytes in a packet of the file."""
    times, lengths = _varints(time_ns), _varints(length)
    fixed = len(_TIMESTAMP + _SEQUENCE + _EVENT)
    bodies = _varints(fixed + times[1].sum(axis=1) + lengths[1].sum(axis=1) + length)
    parts = [_PACKET, bodies, _TIMESTAMP, times, _SEQUENCE + _EVENT, lengths]
    columns = [_repeated(part, len(length)) if isinstance(part, bytes) else part for part in parts]
    digits, used = (np.concatenate(column, axis=1) for column in zip(*columns))
    whole, ends = digits[used].tobytes(), np.cumsum(used.sum(axis=1)).tolist()
    return [whole[begin:end] for begin, end in zip([0, *ends], ends)]


def _varints(values: Any) -> tuple[Any, Any]:
    """Return (n, 9) bytes of numbers that are not negative, and which of them are used."""
    if len(values) and values.min() < 0:
        raise ValueError("an event before the start of the execution")
    groups = values[:, None] >> np.arange(0, 63, 7)
    used = groups > 0
    used[:, 0] = True
    more = np.roll(used, -1, axis=1)
    more[:, -1] = False
    return (groups & 0x7F | more * 0x80).astype(np.uint8), used


def _repeated(text: bytes, count: int) -> tuple[Any, Any]:
    return np.tile(np.frombuffer(text, np.uint8), (count, 1)), np.ones((count, len(text)), bool)


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
    lanes = _lanes(rows, ("subgraph", "queue_name", "subgroup"), lambda core, name, queue: (core, name or queue))
    for rank, ((core, queue), mine) in enumerate(sorted(lanes.items())):
        name = f"{queue} {core_name(core)}".strip()
        for row, track in _on_tracks(writer, group, name, rank, _at(rows, mine)):
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
    lanes = _lanes(rows, ("subgraph", "subgroup"), lambda *key: key)
    order = {engine: place for place, engine in enumerate(ENGINE_ORDER)}
    by_engine = sorted(lanes.items(), key=lambda lane: (order.get(lane[0][1], len(order)), lane[0]))
    for rank, ((core, engine), mine) in enumerate(by_engine, ENGINES_FROM):
        on_tracks = _on_tracks(writer, group, f"{engine} {core_name(core)}".strip(), rank, _at(rows, mine))
        for index, (row, track) in zip(mine.tolist(), on_tracks):
            flow = flows.get(index, b"")
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


def _lanes(
    rows: Sequence[Row], names: Sequence[str], lane: Callable[..., tuple[str, str]]
) -> dict[tuple[str, str], Any]:
    """Return the places of the rows of each lane, by begin and length."""
    key, start, duration = coded(rows, names, lane), numbers(rows, "timestamp"), numbers(rows, "duration")
    order = np.lexsort((duration, start, key.codes))
    bounds = np.cumsum(np.bincount(key.codes, minlength=len(key.values)))
    return dict(zip(key.values, np.split(order, bounds[:-1])))


def _at(rows: Sequence[Row], places: Any) -> Iterable[Row]:
    return rows.take(places) if isinstance(rows, Columns) else [rows[at] for at in places.tolist()]


def _on_tracks(writer: _Writer, group: int, name: str, rank: int, rows: Iterable[Row]) -> Iterator[tuple[Row, int]]:
    """Yield each row with a track of the name on which it overlaps with nothing; the fewest tracks that do. `rows`: by begin and length."""
    free: list[tuple[int, int]] = []
    for row in rows:
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
