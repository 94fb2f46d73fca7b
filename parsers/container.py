"""An NTFF taken apart: its metadata, instruction streams and sections, before any record is looked at."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from neff_bench.parsers.errors import ParseError, UnknownVersion
from neff_bench.parsers.formats import ntff as layout
from neff_bench.parsers.formats.neff import INSTRUCTION_BYTES
from neff_bench.parsers.formats.ntff import DATA_START, ENGINES, SECTION_KINDS, SIMULATED, VERSIONS, Root
from neff_bench.parsers.source import map_source
from neff_bench.parsers.trace import MemoryUse
from neff_bench.parsers.wire import Budget, Message

CORE_CLOCK_MHZ = {"inf2": 1400, "trn1": 1400, "trn2": 1200, "trn3": 1200}
"""Base clock of `neuroncore_cycle_count`, by the family in the instance type (AWS profile JSON, metadata.pe_clock_others)."""

INSTANCE_ID = re.compile(r"(?<![0-9a-z])i-(?:[0-9a-f]{17}|[0-9a-f]{8})(?![0-9a-f])")

CORE_MAX = 255
EXECUTION_PS_MAX = 1 << 62
"""53 days: what leaves room for sums in signed 64-bit arithmetic."""
UUID_BYTES_TELLING = 4
"""A shorter common prefix of two uuids is no evidence."""


@dataclass(frozen=True)
class Stream:
    """The instructions that an engine of a core had loaded; `pc` of a record indexes its 64-byte slots."""

    core: int
    engine: int
    address: int
    code: memoryview


@dataclass(frozen=True)
class Section:
    """A run of records of one kind. `offset`: in the file."""

    core: int
    kind: int
    unit: int
    offset: int
    records: memoryview


@dataclass(frozen=True)
class Container:
    """The file taken apart, before any record is looked at. `window`: start and end in ticks (v6), else None."""

    path: str
    size_bytes: int
    version: int
    uuid: bytes
    texts: Mapping[str, str | None]
    streams: tuple[Stream, ...]
    sections: tuple[Section, ...]
    queues: Mapping[tuple[int, int], str]
    memory: tuple[MemoryUse, ...]
    window: tuple[int, int] | None
    total_time_ps: int | None
    full_buffers: tuple[str, ...]
    undecoded: Mapping[str, int]

    @property
    def family(self) -> str | None:
        """`trn2` of `trn2.3xlarge` or `trn2n.48xlarge`."""
        found = [family for family in CORE_CLOCK_MHZ if (self.texts["instance_type"] or "").startswith(family)]
        return found[0] if found else None


def read_container(path: str | os.PathLike[str]) -> Container:
    """Metadata and sections, without decoding records. Raises ParseError."""
    name = os.fspath(path)
    view = map_source(path)
    if len(view) < DATA_START:
        raise ParseError(name, len(view), f"{len(view)} bytes are no NTFF: its header alone has {DATA_START}")
    version = view[0]
    if version != SIMULATED and version not in VERSIONS:
        known = ", ".join(str(known) for known in VERSIONS)
        raise UnknownVersion(
            name, 0, f"NTFF version {version} is not known (known: {known} and {SIMULATED}, the simulator's)"
        )
    metadata_bytes = int.from_bytes(view[1:8], "little")
    if not 0 < metadata_bytes <= len(view) - DATA_START:
        what = f"the header announces {metadata_bytes} bytes of metadata, {len(view) - DATA_START} are there: truncated, or no NTFF"
        raise ParseError(name, 1, what)
    root = Message(name, view[DATA_START : DATA_START + metadata_bytes], DATA_START, Budget())
    return _container(name, version, view, DATA_START + metadata_bytes, root)


def _container(name: str, version: int, view: memoryview, data_start: int, root: Message) -> Container:
    cores = [core for outer in root.messages(Root.GRAPH) for inner in outer.messages(4) for core in inner.messages(1)]
    if not cores:
        raise ParseError(name, DATA_START, "the metadata names no core: damaged, or nothing was executed")
    data = _Data(name, view, data_start)
    indices = {core.integer(layout.Core.INDEX) for core in cores} | {
        section.integer(layout.Section.CORE) for section in root.messages(Root.SECTION)
    }
    if max(indices) > CORE_MAX:
        raise ParseError(name, DATA_START, f"a core number {max(indices)}: the metadata is damaged")
    streams, sections, memory, times = [], [], [], []
    queues: dict[tuple[int, int], str] = {}
    for core in cores:
        index = core.integer(layout.Core.INDEX)
        streams += [_stream(name, data, index, stream) for stream in core.messages(layout.Core.STREAM)]
        sections += [_section(data, section, index) for section in core.messages(layout.Core.SECTION)]
        memory += [
            MemoryUse(index, use.text(layout.Memory.NAME) or "", use.integer(layout.Memory.BYTES))
            for use in core.messages(layout.Core.MEMORY)
        ]
        queues.update(
            {
                (queue.integer(layout.Queue.ENGINE), queue.integer(layout.Queue.QUEUE)): queue.text(layout.Queue.NAME)
                or ""
                for queue in core.messages(layout.Core.QUEUE)
            }
        )
        times += [core.integer(layout.Core.TIME)] if core.has(layout.Core.TIME) else []
    sections += [
        _section(data, section, section.integer(layout.Section.CORE)) for section in root.messages(Root.SECTION)
    ]
    if sum(len(run.records) for run in sections) > len(view) - data_start or sum(
        len(run.code) for run in streams
    ) > len(view):
        raise ParseError(name, DATA_START, "sections or streams overlap: the metadata is damaged")
    window, executions = _window(name, root), len(root.messages(Root.WINDOW))
    if window is None and (version >= 6):
        raise ParseError(name, DATA_START, f"version {version} without an execution window (metadata field 15)")
    return Container(
        path=name,
        size_bytes=len(view),
        version=version,
        uuid=_uuid(root),
        texts=_texts(root),
        streams=tuple(streams),
        sections=tuple(section for section in sections if len(section.records)),
        queues=queues,
        memory=tuple(memory),
        window=window,
        total_time_ps=window[1] - window[0] if window else (max(times) if times else None),
        full_buffers=_full_buffers(root, sections),
        undecoded={"executions before the last one": executions - 1} if executions > 1 else {},
    )


class _Data:
    """The data area, sliced with its bounds checked."""

    def __init__(self, name: str, view: memoryview, start: int) -> None:
        self._name, self._view, self.start = name, view, start

    def slice(self, offset: int, length: int, what: str) -> memoryview:
        begin = self.start + offset
        if length % layout.RECORD_BYTES or begin + length > len(self._view):
            found = f"{what} of {length} bytes at {begin} in a file of {len(self._view)}: truncated or damaged"
            raise ParseError(self._name, min(begin, len(self._view)), found)
        return self._view[begin : begin + length]


def _stream(name: str, data: _Data, core: int, stream: Message) -> Stream:
    engine, embedded = stream.integer(layout.Stream.ENGINE), stream.view(layout.Stream.CODE)
    code = (
        embedded
        if embedded is not None
        else data.slice(
            stream.integer(layout.Stream.OFFSET), stream.integer(layout.Stream.LENGTH), "an instruction stream"
        )
    )
    if engine >= len(ENGINES) or len(code) % INSTRUCTION_BYTES:
        what = f"an instruction stream of engine {engine}, core {core}, {len(code)} bytes: not one this reader knows"
        raise ParseError(name, DATA_START, what)
    return Stream(core, engine, stream.integer(layout.Stream.ADDRESS), code)


def _section(data: _Data, section: Message, core: int) -> Section:
    offset, length = section.integer(layout.Section.OFFSET), section.integer(layout.Section.LENGTH)
    records = data.slice(offset, length, "a section") if length else memoryview(b"")
    return Section(
        core, section.integer(layout.Section.KIND), section.integer(layout.Section.UNIT), data.start + offset, records
    )


def _window(name: str, root: Message) -> tuple[int, int] | None:
    spans = root.messages(Root.WINDOW)
    if not spans:
        return None
    start, end = spans[-1].integer(layout.Window.START), spans[-1].integer(layout.Window.END)
    if not 0 < start <= end or end - start >= EXECUTION_PS_MAX:
        raise ParseError(name, DATA_START, f"the execution lasts from {start} to {end} ps: the metadata is damaged")
    return start, end


def _full_buffers(root: Message, sections: list[Section]) -> tuple[str, ...]:
    """Kinds whose records take all that the runtime set aside for them."""
    capacity = {
        (buffer.integer(layout.Buffer.UNIT), buffer.integer(layout.Buffer.KIND)): buffer.integer(layout.Buffer.BYTES)
        for buffer in root.messages(Root.BUFFER)
    }
    full = {run.kind for run in sections if 0 < capacity.get((run.unit, run.kind), 0) <= len(run.records)}
    return tuple(SECTION_KINDS.get(kind, f"kind {kind}") for kind in sorted(full))


def _uuid(root: Message) -> bytes:
    """Field 15 holds the 16 bytes; field 2 may end at a zero byte among them or carry stray bytes behind them."""
    for span in root.messages(Root.WINDOW):
        exact = span.view(layout.Window.UUID)
        if exact is not None and len(exact) == 16:
            return bytes(exact)
    return bytes(root.view(Root.UUID) or b"")[:16]


def same_program(trace_uuid: str, neff_uuid: str) -> bool | None:
    """Whether a trace is of a NEFF, both as hex; None where the trace's copy is cut so short that it cannot tell.

    Version 4 and 5 keep the uuid as a C string, so of the NEFF's only the bytes before its first zero count.
    """
    kept, whole = bytes.fromhex(trace_uuid), bytes.fromhex(neff_uuid)
    if len(kept) == len(whole):
        return kept == whole
    prefix = whole.split(b"\0", 1)[0]
    if not kept.startswith(prefix):
        return False
    return True if len(prefix) >= UUID_BYTES_TELLING else None


def _texts(root: Message) -> dict[str, str | None]:
    name = root.text(Root.NEFF_NAME)
    # The runtime's inspect mode names directories after the EC2 instance, and a NEFF's path may lead through one.
    texts = {"neff_name": name and INSTANCE_ID.sub("i-...", name), "instance_type": root.text(Root.INSTANCE_TYPE)}
    for key, number in (
        ("runtime_version", Root.RUNTIME),
        ("driver_version", Root.DRIVER),
        ("collectives_version", Root.COLLECTIVES),
    ):
        parts = root.messages(number)
        texts[key] = ".".join(str(parts[-1].integer(field)) for field in (1, 2, 3)) if parts else None
    return texts
