"""Takes an NTFF apart: its metadata, instruction streams and sections, before any record is looked at."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from neff_bench.chips.engines import ENGINES
from neff_bench.parsers.errors import ParseError, UnknownVersion, guarded
from neff_bench.parsers.formats import ntff as layout
from neff_bench.parsers.formats.neff import INSTRUCTION_BYTES
from neff_bench.parsers.formats.ntff import DATA_START, SECTION_KINDS, SIMULATED, VERSIONS, Root, family_of
from neff_bench.parsers.source import Source, open_source
from neff_bench.parsers.trace import MemoryUse
from neff_bench.parsers.wire import Budget, Message

INSTANCE_ID = re.compile(r"(?<![0-9a-z])i-(?:[0-9a-f]{17}|[0-9a-f]{8})(?![0-9a-f])")

EARLIER_EXECUTIONS = "executions before the last one"

CORE_MAX = 255
EXECUTION_PS_MAX = 1 << 62
"""53 days: what leaves room for sums in signed 64-bit arithmetic."""
METADATA_BYTES_MAX = 256 * 1024 * 1024
"""Versions 4 and 5 keep the instruction streams in there."""
UUID_BYTES_TELLING = 4
"""A shorter common prefix of two uuids is no evidence."""


Buffer = bytes | memoryview


@dataclass(frozen=True)
class Extent:
    """Part of a file, read when it is asked for."""

    source: Source
    offset: int
    size_bytes: int

    def read(self, start: int = 0, length: int | None = None) -> Buffer:
        """Return the content, or `length` bytes of it from `start`. Raises ParseError when the file has changed."""
        left = self.size_bytes - start
        return self.source.read(self.offset + start, left if length is None else min(length, left))


@dataclass(frozen=True)
class Stream:
    """The instructions that an engine of a core had loaded; `pc` of a record indexes its 64-byte slots."""

    core: int
    engine: int
    address: int
    code: memoryview | Extent

    @property
    def size_bytes(self) -> int:
        """Bytes of instructions."""
        return self.code.size_bytes if isinstance(self.code, Extent) else len(self.code)

    def read(self) -> Buffer:
        """Return the instructions. Raises ParseError."""
        return self.code.read() if isinstance(self.code, Extent) else self.code


@dataclass(frozen=True)
class Section:
    """A run of records of one kind."""

    core: int
    kind: int
    unit: int
    records: Extent


@dataclass(frozen=True)
class Container:
    """The file taken apart, before any record is looked at. `identity`: equal for copies of one file. `window`: start and end in ticks (v6), else None."""

    path: str
    size_bytes: int
    identity: bytes
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
        return family_of(self.texts["instance_type"])


@guarded
def read_container(path: str | os.PathLike[str]) -> Container:
    """Return the metadata and sections, without decoding records. Raises ParseError."""
    name = os.fspath(path)
    source = open_source(path)
    head = source.read(0, DATA_START)
    if len(head) < DATA_START:
        raise ParseError(
            name, len(head), f"not an NTFF: the file has {len(head)} bytes, and the header alone {DATA_START}"
        )
    version = head[0]
    if version != SIMULATED and version not in VERSIONS:
        known = ", ".join(str(known) for known in VERSIONS)
        raise UnknownVersion(
            name, 0, f"NTFF version {version} is not known (known: {known} and {SIMULATED}, the simulator's)"
        )
    metadata_bytes = int.from_bytes(head[1:8], "little")
    if not 0 < metadata_bytes <= source.size_bytes - DATA_START:
        what = f"the header announces {metadata_bytes} bytes of metadata, {source.size_bytes - DATA_START} are there: truncated, or no NTFF"
        raise ParseError(name, 1, what)
    if metadata_bytes > METADATA_BYTES_MAX:
        raise ParseError(name, 1, f"{metadata_bytes} bytes of metadata, more than {METADATA_BYTES_MAX}")
    metadata = source.read(DATA_START, metadata_bytes)
    root = Message(name, memoryview(metadata), DATA_START, Budget())
    identity = hashlib.sha256(metadata + source.size_bytes.to_bytes(8, "little")).digest()
    return _container(name, version, source, DATA_START + metadata_bytes, root, identity)


def _container(name: str, version: int, source: Source, data_start: int, root: Message, identity: bytes) -> Container:
    cores = [core for outer in root.messages(Root.GRAPH) for inner in outer.messages(4) for core in inner.messages(1)]
    if not cores:
        raise ParseError(name, DATA_START, "the metadata names no core: damaged, or nothing was executed")
    data = _Data(source, data_start)
    indices = {core.integer(layout.Core.INDEX) for core in cores} | {
        section.integer(layout.Section.CORE) for section in root.messages(Root.SECTION)
    }
    # Arrays are made by core number, so a damaged one must not choose their size.
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
    # Each section lies inside the file; only their sum tells that two of them claim the same bytes.
    taken = sum(run.records.size_bytes for run in sections), sum(run.size_bytes for run in streams)
    if taken[0] > source.size_bytes - data_start or taken[1] > source.size_bytes:
        raise ParseError(name, DATA_START, "sections or streams overlap: the metadata is damaged")
    window, executions = _window(name, root), len(root.messages(Root.WINDOW))
    # Earlier versions have none and give each core its time instead; later ones always have one.
    if window is None and version >= 6:
        raise ParseError(name, DATA_START, f"version {version} without an execution window (metadata field 15)")
    return Container(
        path=name,
        size_bytes=source.size_bytes,
        identity=identity,
        version=version,
        uuid=_uuid(root),
        texts=_texts(root),
        streams=tuple(streams),
        sections=tuple(section for section in sections if section.records.size_bytes),
        queues=queues,
        memory=tuple(memory),
        window=window,
        total_time_ps=window[1] - window[0] if window else (max(times) if times else None),
        full_buffers=_full_buffers(root, sections),
        undecoded={EARLIER_EXECUTIONS: executions - 1} if executions > 1 else {},
    )


class _Data:
    """The data area, whose parts are checked against its bounds."""

    def __init__(self, source: Source, start: int) -> None:
        self._source, self._start = source, start

    def part(self, offset: int, length: int, what: str) -> Extent:
        begin, end = self._start + offset, self._source.size_bytes
        if length % layout.RECORD_BYTES or begin + length > end:
            found = f"{what} of {length} bytes at {begin} in a file of {end}: truncated or damaged"
            raise ParseError(self._source.path, min(begin, end), found)
        return Extent(self._source, begin, length)


def _stream(name: str, data: _Data, core: int, stream: Message) -> Stream:
    engine, embedded = stream.integer(layout.Stream.ENGINE), stream.view(layout.Stream.CODE)
    code = (
        embedded
        if embedded is not None
        else data.part(
            stream.integer(layout.Stream.OFFSET), stream.integer(layout.Stream.LENGTH), "an instruction stream"
        )
    )
    found = Stream(core, engine, stream.integer(layout.Stream.ADDRESS), code)
    if engine >= len(ENGINES) or found.size_bytes % INSTRUCTION_BYTES:
        what = f"an instruction stream of engine {engine}, core {core}, {found.size_bytes} bytes: not one this reader knows"
        raise ParseError(name, DATA_START, what)
    return found


def _section(data: _Data, section: Message, core: int) -> Section:
    offset, length = section.integer(layout.Section.OFFSET), section.integer(layout.Section.LENGTH)
    records = data.part(offset if length else 0, length, "a section")
    return Section(core, section.integer(layout.Section.KIND), section.integer(layout.Section.UNIT), records)


def _window(name: str, root: Message) -> tuple[int, int] | None:
    spans = root.messages(Root.WINDOW)
    if not spans:
        return None
    start, end = spans[-1].integer(layout.Window.START), spans[-1].integer(layout.Window.END)
    if not 0 < start <= end or end - start >= EXECUTION_PS_MAX:
        raise ParseError(name, DATA_START, f"the execution lasts from {start} to {end} ps: the metadata is damaged")
    return start, end


def _full_buffers(root: Message, sections: list[Section]) -> tuple[str, ...]:
    """Return the kinds whose records take all that the runtime set aside for them."""
    capacity = {
        (buffer.integer(layout.Buffer.UNIT), buffer.integer(layout.Buffer.KIND)): buffer.integer(layout.Buffer.BYTES)
        for buffer in root.messages(Root.BUFFER)
    }
    full = {run.kind for run in sections if 0 < capacity.get((run.unit, run.kind), 0) <= run.records.size_bytes}
    return tuple(SECTION_KINDS.get(kind, f"kind {kind}") for kind in sorted(full))


def _uuid(root: Message) -> bytes:
    """Field 15 holds the 16 bytes; field 2 may end at a zero byte among them or carry stray bytes behind them."""
    for span in root.messages(Root.WINDOW):
        exact = span.view(layout.Window.UUID)
        if exact is not None and len(exact) == 16:
            return bytes(exact)
    return bytes(root.view(Root.UUID) or b"")[:16]


def same_program(trace_uuid: str, neff_uuid: str) -> bool | None:
    """Return whether a trace is of a NEFF, both as hex; None where the trace's copy is cut too short. Version 4 and 5 cut it at its first zero byte."""
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
