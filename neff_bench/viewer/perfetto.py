"""Writes a timeline as a Perfetto trace (`x.pftrace`, opens in ui.perfetto.dev): one track for each DMA queue and engine, semaphores and memory use
as counters, the critical path as arrows. Slices of one track may not overlap, so an engine or queue whose events overlap has several of one name, which
Perfetto draws as one row. Packets are written in the order of time, which Perfetto opens three times as fast."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from neff_bench.chips.engines import ENGINES, SHOWN, TITLES
from neff_bench.parsers.event_columns import Numbering, coded, field_of, new_numbering, numbers
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
from neff_bench.parsers.wire import BYTES, FIXED64, VARINT, encode_field, encode_message, encode_tag
from neff_bench.parsers.wire_columns import Encoded, fixed64, joined, messages, varints
from neff_bench.viewer.critical_path import PathStep, critical_path

SEQUENCE = 1
ENGINE_ORDER = ("Sync", *(TITLES[ENGINES.index(engine)] for engine in SHOWN if engine != "sync"))
"""From top to bottom as neuron-explorer has them: DMA queues above, then Sync, and the engines that compute."""
ENGINES_FROM, USAGE_FROM, SEMAPHORES_FROM = 100_000, 200_000, 300_000
"""Ranks of the tracks below the DMA queues."""
AT_ONCE = 30_000
"""So many events are written together. It is no power of two, since columns of such a length lie in one another's way in the processor's caches."""
ABSENT = -1
NO_TEXT = ""
_SEQUENCE = encode_message((TracePacket.SEQUENCE_ID, SEQUENCE), (TracePacket.SEQUENCE_FLAGS, TracePacket.NEEDS_STATE))


@dataclass(frozen=True, eq=False)
class _Counters:
    """Points of counters as columns. `moments`: in ns."""

    moments: Any
    track: Any
    value: Any

    def encoded(self, events: Any) -> Iterator[tuple[Any, Encoded]]:
        """Yield these events and their messages, in parts that have the same fields."""
        kind = encode_field(TrackEvent.TYPE, TrackEvent.COUNTER)
        value = encode_tag(TrackEvent.DOUBLE_COUNTER_VALUE, FIXED64), fixed64(self.value[events])
        yield events, joined(kind, *_number(TrackEvent.TRACK_UUID, self.track[events]), *value)


@dataclass(frozen=True, eq=False)
class _Slices:
    """Slices as columns. Event 2 * i of `moments` is the begin of slice i, which is that of row `rows[i]`; the one after it is its end. Of each row:
    its track, the number of its name, arguments as what begins them and a number, and the arrows that end and begin there; ABSENT for what it has not.
    """

    moments: Any
    rows: Any
    track: Any
    name: Any
    arguments: Sequence[tuple[bytes, Any]]
    arrows: Sequence[tuple[bytes, Any]]

    def encoded(self, events: Any) -> Iterator[tuple[Any, Encoded]]:
        """Yield these events and their messages, in parts that have the same fields."""
        is_end = events & 1 == 1
        begins, ends = events[~is_end], events[is_end]
        yield begins, self._begins(self.rows[begins >> 1])
        yield ends, self._ends(self.rows[ends >> 1])

    def _begins(self, rows: Any) -> Encoded:
        kind = encode_field(TrackEvent.TYPE, TrackEvent.BEGIN)
        track = _number(TrackEvent.TRACK_UUID, self.track[rows])
        name = _number(TrackEvent.NAME_IID, self.name[rows])
        arguments = [
            messages(TrackEvent.DEBUG_ANNOTATION, head, varints(np.maximum(values[rows], 0))).where(
                values[rows] != ABSENT
            )
            for head, values in self.arguments
        ]
        arrows = [joined(head, fixed64(values[rows])).where(values[rows] != ABSENT) for head, values in self.arrows]
        return joined(kind, *track, *name, *arguments, *arrows)

    def _ends(self, rows: Any) -> Encoded:
        return joined(encode_field(TrackEvent.TYPE, TrackEvent.END), *_number(TrackEvent.TRACK_UUID, self.track[rows]))


def _number(field: int, values: Any) -> tuple[bytes, Encoded]:
    return encode_tag(field, VARINT), varints(values)


def _interned() -> Numbering:
    """Return a numbering of texts. 0, which Perfetto gives to none, is that of NO_TEXT."""
    numbering = new_numbering()
    numbering[NO_TEXT]
    return numbering


class _Writer:
    """Collects tracks and events; `written` puts them in order."""

    def __init__(self) -> None:
        self.names, self.keys, self.texts = _interned(), _interned(), _interned()
        self.tracks: list[bytes] = []
        self.events: list[_Slices | _Counters] = []

    def track(self, name: str, below: tuple[int, int] | None = None, unit: str | None = None) -> int:
        """Return the uuid of a new track. `below`: parent and rank; a track with a unit is a counter."""
        uuid = len(self.tracks) + 1
        fields: list[tuple[int, int | bytes]] = [(TrackDescriptor.UUID, uuid), (TrackDescriptor.NAME, name.encode())]
        if below is not None:
            fields += zip((TrackDescriptor.PARENT_UUID, TrackDescriptor.SIBLING_RANK), below)
        if unit is None:
            fields.append((TrackDescriptor.CHILD_ORDERING, TrackDescriptor.EXPLICIT))
        else:
            fields.append((TrackDescriptor.COUNTER, encode_message((CounterDescriptor.UNIT_NAME, unit.encode()))))
        self.tracks.append(encode_message(*fields))
        return uuid

    def number(self, key: str, values: Any) -> tuple[bytes, Any]:
        """Return an argument of slices that is a number."""
        return self.argument(key, DebugAnnotation.UINT_VALUE), values

    def text(
        self, key: str, rows: Sequence[Any], name: str, text: Callable[[Any], str | None] = lambda value: value
    ) -> tuple[bytes, Any]:
        """Return an argument of slices that is what `text` says of a field of their rows; rows of which it says nothing have none."""
        codes = coded(rows, (name,), lambda value: text(value) or NO_TEXT, self.texts).codes
        return self.argument(key, DebugAnnotation.STRING_VALUE_IID), np.where(codes, codes, ABSENT)

    def argument(self, key: str, field: int) -> bytes:
        """Return what an argument of slices begins with; its value follows in this field."""
        return encode_field(DebugAnnotation.NAME_IID, self.keys[key]) + encode_tag(field, VARINT)

    def written(self) -> bytes:
        """Return the file: texts, tracks, events by time."""
        interned = (
            _entries(InternedData.EVENT_NAMES, self.names)
            + _entries(InternedData.ANNOTATION_NAMES, self.keys)
            + _entries(InternedData.ANNOTATION_TEXTS, self.texts)
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

    def _packets(self) -> Iterator[bytes]:
        """Yield the packets of the events by time, many at once."""
        moments = np.concatenate([part.moments for part in self.events])
        if moments.min(initial=0) < 0:
            raise ValueError("an event before the start of the execution")
        bounds = np.cumsum([0, *(len(part.moments) for part in self.events)])
        by_time = np.argsort(moments, kind="stable")
        for first in range(0, len(by_time), AT_ONCE):
            some = by_time[first : first + AT_ONCE]
            packets: list[bytes] = []
            made: list[Any] = []
            for part, begin, end in zip(self.events, bounds, bounds[1:]):
                mine = some[(some >= begin) & (some < end)]
                for events, said in part.encoded(mine - begin):
                    time = _number(TracePacket.TIMESTAMP, part.moments[events])
                    event = messages(TracePacket.TRACK_EVENT, said)
                    packets += messages(Trace.PACKET, *time, _SEQUENCE, event).each()
                    made.append(events + begin)
            of_packet = np.concatenate(made)
            in_order = np.lexsort((of_packet, moments[of_packet]))
            yield b"".join(map(packets.__getitem__, in_order.tolist()))


def _entries(field: int, numbering: Numbering) -> bytes:
    """Return the interned texts, each as a number and a text."""
    texts = [text.encode() for text in numbering][1:]
    lengths = np.array([*map(len, texts)], np.int64)
    said = joined(*_number(1, np.arange(1, len(numbering))), encode_tag(2, BYTES), varints(lengths))
    heads = joined(encode_tag(field, BYTES), varints(said.length + lengths), said).each()
    return b"".join(chain.from_iterable(zip(heads, texts)))


def to_perfetto(timelines: Sequence[Timeline]) -> bytes:
    """Return the trace of one or more timelines, one group of tracks for each."""
    writer = _Writer()
    next_arrow = 1
    for timeline in timelines:
        group = writer.track(f"{timeline.path}{' (SIMULATED)' if timeline.simulated else ''}")
        path = critical_path(timeline)
        _write_dma(writer, group, timeline.dma)
        _write_instructions(writer, group, timeline.instructions, path, next_arrow)
        _write_usage(writer, group, timeline.usage)
        _write_semaphores(writer, group, timeline.semaphores)
        next_arrow += len(path)
    return writer.written()


def _write_dma(writer: _Writer, group: int, rows: Sequence[DmaRow]) -> None:
    lanes = _lanes(rows, ("subgraph", "queue_name", "subgroup"), lambda core, name, queue: (core, name or queue))
    arguments = [
        writer.number("bytes", field_of(rows, "transfer_size", 0)),
        writer.text("kind", rows, "queue_type"),
        *_text_or_number(writer, "queue", rows, "dma_queue"),
        *_text_or_number(writer, "dma_engine", rows, "dma_engine"),
        writer.text("line", rows, "nki_source_location"),
    ]
    names = coded(rows, ("variable", "queue_type"), _moved, writer.names).codes
    queues = [
        (rank, f"{queue} {core_name(core)}".strip(), mine)
        for rank, ((core, queue), mine) in enumerate(sorted(lanes.items()))
    ]
    _write_slices(writer, group, rows, queues, {"name": names, "arguments": arguments, "arrows": ()})


def _moved(variable: str, kind: str) -> str:
    return variable if variable not in ("", "unknown") else kind or "DMA"


def _text_or_number(writer: _Writer, key: str, rows: Sequence[DmaRow], name: str) -> Iterator[tuple[bytes, Any]]:
    """Yield an argument for the rows whose field is a number, and one for those where it is a text."""
    found = coded(rows, (name,), lambda value: max(value, 0) if isinstance(value, int) else ABSENT)
    yield writer.number(key, np.array(found.values, np.int64)[found.codes])
    yield writer.text(key, rows, name, lambda value: value if isinstance(value, str) else NO_TEXT)


def _write_instructions(
    writer: _Writer, group: int, rows: Sequence[InstructionRow], steps: Sequence[PathStep], first_arrow: int
) -> None:
    lanes = _lanes(rows, ("subgraph", "subgroup"), lambda *key: key)
    order = {engine: place for place, engine in enumerate(ENGINE_ORDER)}
    by_engine = sorted(lanes.items(), key=lambda lane: (order.get(lane[0][1], len(order)), lane[0]))
    ends, begins, on_path = np.full((3, len(rows)), ABSENT)
    path = np.array([step.index for step in steps], np.int64)
    ends[path[1:]] = begins[path[:-1]] = first_arrow + np.arange(len(path) - 1)
    on_path[path] = [writer.texts[", ".join(dict(step.spent_ns))] for step in steps]
    arguments = [
        writer.number("pc", np.maximum(field_of(rows, "pc", ABSENT), ABSENT)),
        writer.number("waited_ns", np.maximum(_rounded(rows, "evt_wait_time"), 0)),
        writer.text("instruction", rows, "bir_instruction_name"),
        writer.text("operands", rows, "operands", str.strip),
        writer.text("hlo", rows, "hlo_name"),
        writer.text("line", rows, "nki_source_location"),
        writer.text("called_from", rows, "nki_call_stack", " > ".join),
        writer.text("alignment", rows, "alignment", lambda value: value if value == "unaligned" else NO_TEXT),
        (writer.argument("critical_path", DebugAnnotation.STRING_VALUE_IID), on_path),
    ]
    arrows = (
        (encode_tag(TrackEvent.TERMINATING_FLOW_ID, FIXED64), ends),
        (encode_tag(TrackEvent.FLOW_ID, FIXED64), begins),
    )
    names = coded(rows, ("opcode",), lambda opcode: opcode or "(no opcode)", writer.names).codes
    engines = [
        (rank, f"{engine} {core_name(core)}".strip(), mine)
        for rank, ((core, engine), mine) in enumerate(by_engine, ENGINES_FROM)
    ]
    _write_slices(writer, group, rows, engines, {"name": names, "arguments": arguments, "arrows": arrows})


def _lanes(
    rows: Sequence[Any], names: Sequence[str], lane: Callable[..., tuple[str, str]]
) -> dict[tuple[str, str], Any]:
    """Return the places of the rows of each lane, by begin and length."""
    key, start, duration = coded(rows, names, lane), numbers(rows, "timestamp"), numbers(rows, "duration")
    order = np.lexsort((duration, start, key.codes))
    bounds = np.cumsum(np.bincount(key.codes, minlength=len(key.values)))
    return dict(zip(key.values, np.split(order, bounds[:-1])))


def _rounded(rows: Sequence[Any], name: str) -> Any:
    """Return a field of each row in whole ns."""
    return np.rint(numbers(rows, name)).astype(np.int64)


def _write_slices(
    writer: _Writer, group: int, rows: Sequence[Any], lanes: Sequence[tuple[int, str, Any]], said: Mapping[str, Any]
) -> None:
    """Add the slices of the rows. `lanes`: rank and name of each, and the places of its rows. `said`: the columns of `_Slices` of each row."""
    if not lanes:
        return
    begin = _rounded(rows, "timestamp")
    end = begin + _rounded(rows, "duration")
    track = np.zeros(len(rows), np.int64)
    for rank, name, mine in lanes:
        level = _levels(begin[mine], end[mine])
        tracks = [writer.track(name, (group, rank)) for _ in range(level.max() + 1)]
        track[mine] = np.array(tracks)[level]
    order = np.concatenate([mine for _, _, mine in lanes])
    moments = np.stack([begin, end], 1)[order].reshape(-1)
    writer.events.append(_Slices(moments, order, track, **said))


def _levels(begin: Any, end: Any) -> Any:
    """Return for each event, by begin and length, the track on which it overlaps with nothing; the fewest tracks that do."""
    levels = np.zeros(len(begin), np.int64)
    if not (begin[1:] < np.maximum.accumulate(end)[:-1]).any():
        return levels
    free: list[tuple[int, int]] = []
    for at, (begins, until) in enumerate(zip(begin.tolist(), end.tolist())):
        level = heapq.heappop(free)[1] if free and free[0][0] <= begins else len(free)
        heapq.heappush(free, (until, level))
        levels[at] = level
    return levels


def _write_usage(writer: _Writer, group: int, rows: Sequence[UsageRow]) -> None:
    place = coded(rows, ("subgraph", "type"), lambda *both: both)
    names = [f"{'SBUF' if kind == 'sb' else kind.upper()} in use {core_name(core)}" for core, kind in place.values]
    tracks = [writer.track(name.strip(), (group, rank), "%") for rank, name in enumerate(names, USAGE_FROM)]
    _write_counters(writer, rows, np.array(tracks, np.int64)[place.codes], 100 * numbers(rows, "usage_avg"))


def _write_semaphores(writer: _Writer, group: int, rows: Sequence[SemaphoreRow]) -> None:
    place = coded(rows, ("subgraph", "id"), lambda core, name: (core, str(name)))
    names = [f"semaphore {name} {core_name(core)}" for core, name in place.values]
    tracks = [writer.track(name.strip(), (group, rank), "") for rank, name in enumerate(names, SEMAPHORES_FROM)]
    _write_counters(writer, rows, np.array(tracks, np.int64)[place.codes], numbers(rows, "value"))


def _write_counters(writer: _Writer, rows: Sequence[Any], track: Any, value: Any) -> None:
    writer.events.append(_Counters(_rounded(rows, "timestamp"), track, value))
