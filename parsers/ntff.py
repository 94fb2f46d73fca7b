"""NTFF: the trace of one execution on a device, read without the profiler and without the NEFF.

No layout is published. What follows was found by matching users' traces with the JSON that AWS's profiler made of them
(github.com/allenkchau/trainium-kernel-fusion @ d709ddf1, github.com/AnchovyPark/npu_profiling_code @ 2a956420). `Ntff.certainty` says
how far that carries: `exact` (version 6 on trn2: equal to the JSON to the picosecond), `calibrated` (version 5 on inf2: counts
equal, times within 0.01 %), `unverified` (every other kind that decodes: no JSON to compare with), `simulated`.

File
    0    u8    container version: 4, 5, 6; 230 is the simulator's, laid out as 6
    1    u56   N, length of the metadata, little-endian
    8    120 B ignored (the writer's memory)
    128  N B   metadata, a protobuf message
    128+N      data area; offsets below count from here

Metadata, by field number (v4/5 and v6 differ where it says so)
    1  NEFF name             2  NEFF uuid, first 16 bytes (v4/5: as a C string, so it ends at a zero byte)
    8 / 11 / 12  runtime, driver, collectives version {1, 2, 3: numbers}        9  instance type, "trn2.3xlarge"
    4.4.1[]  one for each physical core: {1: subgraph name, 3: physical core index, absent = 0,
        4[]: instruction stream {1: engine index, 2: device address, v4/5: 3 = bytes, v6: 7 = offset, 8 = length in the data area},
        6[]: v4/5 section {1: kind, 3: unit, 4: index, 5: offset, 6: length},  7[]: DMA queue {1: DMA engine, 2: queue, 4: name},
        11[]: memory use {2: bytes, 3: name},  14: execution time, ps}
    13[]  buffers on the device {1: unit, 2: kind, 3: bytes}
    15 {1: uuid, 2: start, 3: end of the execution, ps} (v6)
    16[]  v6 section, as 4.4.1.6, and 7 = physical core index
    17 holds an EC2 instance id; it is private and not read

Engine index: 0 Tensor, 1 Scalar, 2 GpSimd, 3 Vector, 4 Sync. Streams are 64-byte instruction slots with the opcode in byte 0 (opcodes.py); in a
NOTIFY (0xa6), byte 36 = 2 opens the pass and 3 closes it. Section kinds: 0 instruction, 1 semaphore and event, 4 DMA, 5 throttle; unit: 0 core, 1 DMA.

Record: 16 bytes, little-endian; bytes 8..15 timestamp, byte 3 tag = 0x80 | writer << 2 | type
    instruction  writer = engine index + 1; type 0 begin, 1 end; bits 0-20: instruction address >> 6, modulo 2^21; bytes 6..7 of a
                 begin: cycles waited. Begin and end pair first in, first out for each (core, engine, pc).
    semaphore    type 3; byte 0 id, byte 1: 1 = semaphore, 0 = event, byte 2 operation, 4..7 new value; writer 6 = DMA or host
    DMA          byte 3 = 0x80 | engine within the core; byte 4: low nibble 1 start, 5 read done, 6 write done, high nibble queue;
                 bytes 0..2 of read done: bytes moved. Pair first in, first out for each (core, engine, queue).
    throttle     type 2, writer 7
v6: one clock in ps; a row counts when it begins and ends within field 15. v4/5: see clocks.py.

A writer of this layout (the simulator) needs: version byte 230; fields 1, 2 (16 bytes), 9 ("trn2..." tells the clock rate), 15, one 4.4.1 for
each core with all five streams, one section 16 for each core and kind that has records.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from neff_bench.parsers.errors import ParseError, UnknownVersion
from neff_bench.parsers.source import map_source
from neff_bench.parsers.wire import Budget, Message

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DATA_START = 128
VERSIONS = (4, 5, 6)
SIMULATED = 230
"""The simulator's version byte: no AWS tool accepts it."""

ENGINES = ("tensor", "scalar", "gpsimd", "vector", "sync")
"""By engine index."""

CORE_CLOCK_MHZ = {"inf2": 1400, "trn1": 1400, "trn2": 1200, "trn3": 1200}
"""Base clock of `neuroncore_cycle_count`, by the family in the instance type (AWS profile JSON, metadata.pe_clock_others)."""

SECTION_KINDS = {0: "instruction", 1: "semaphore", 4: "DMA", 5: "throttle"}

INSTANCE_ID = re.compile(r"(?<![0-9a-z])i-(?:[0-9a-f]{17}|[0-9a-f]{8})(?![0-9a-f])")

CORE_MAX = 255
EXECUTION_PS_MAX = 1 << 62
"""53 days: what leaves room for sums in signed 64-bit arithmetic."""
UUID_BYTES_TELLING = 4
"""A shorter common prefix of two uuids is no evidence."""

Certainty = Literal["exact", "calibrated", "unverified", "simulated"]


@dataclass(frozen=True)
class EngineTime:
    """`instruction_time_s` sums all instructions but EVENT_SEMAPHORE and counts overlaps twice; `active_time_s` is their union."""

    instruction_count: int
    instruction_time_s: float
    active_time_s: float


@dataclass(frozen=True)
class DmaTime:
    """`packet_time_s`: sum over packets from start to read done; `active_time_s`: their union.

    `left_out_packets`: whole packets of queues that had a packet on the way when the execution began. AWS's report drops
    them, and so do the figures beside it; `Ntff.dma_packets` has them all.
    """

    packets: int
    bytes: int
    packet_time_s: float
    active_time_s: float
    left_out_packets: int


@dataclass(frozen=True)
class MemoryUse:
    """Device memory that the runtime took for one purpose."""

    core: int
    name: str
    bytes: int


@dataclass(frozen=True, eq=False)
class Instructions:
    """Columns (n,), in no particular order. `begin_ps` counts from the start of the execution.

    `core`: physical core, or number of the subgraph where only that is known. `engine`: index into ENGINES. `opcode`: index into
    `opcode_names`. `wait_ns`: before issue, as AWS's report has it (the device counts 2^16 cycles and wraps); None without a clock rate.
    """

    core: NDArray[np.uint8]
    engine: NDArray[np.uint8]
    pc: NDArray[np.int32]
    opcode: NDArray[np.integer[Any]]
    opcode_names: tuple[str, ...]
    begin_ps: NDArray[np.int64]
    duration_ps: NDArray[np.int64]
    wait_ns: NDArray[np.int64] | None


@dataclass(frozen=True, eq=False)
class Semaphores:
    """Columns (n,), in file order. `event`: True for an event, False for a semaphore; `writer`: tag, engine index + 1 or other."""

    core: NDArray[np.uint8]
    id: NDArray[np.uint8]
    event: NDArray[np.bool_]
    operation: NDArray[np.uint8]
    writer: NDArray[np.uint8]
    value: NDArray[np.uint32]
    time_ps: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class DmaPackets:
    """Columns (n,). `engine`: 0..15 within the core; `reported`: whether AWS's report has the packet (see DmaTime)."""

    core: NDArray[np.uint8]
    engine: NDArray[np.integer[Any]]
    queue: NDArray[np.integer[Any]]
    bytes: NDArray[np.integer[Any]]
    begin_ps: NDArray[np.int64]
    duration_ps: NDArray[np.int64]
    reported: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Ntff:
    """One trace. Figures count what lies within the execution; None and missing keys are what the file does not tell.

    `uuid`: 32 hex digits of the NEFF's; fewer (an even number, possibly none) where the file holds it cut at a zero byte.
    `neuroncore_cycle_count`: base-clock cycles of the execution; None for an instance type of unknown clock.
    `full_buffers`: kinds of records that filled the device's buffer, so that later ones are lost and figures are lower bounds.
    `undecoded`: records that were met and not understood, counted under a name for each kind.
    """

    path: str
    bytes: int
    version: int
    certainty: Certainty
    uuid: str
    neff_name: str | None
    instance_type: str | None
    runtime_version: str | None
    driver_version: str | None
    collectives_version: str | None
    total_time_ps: int | None
    neuroncore_cycle_count: int | None
    event_count: int
    matmul_instruction_count: int | None
    activate_instruction_count: int | None
    engines: Mapping[str, EngineTime]
    dma: DmaTime | None
    memory: tuple[MemoryUse, ...]
    queues: Mapping[tuple[int, int], str]
    instructions: Instructions
    semaphores: Semaphores
    dma_packets: DmaPackets
    throttle_ps: NDArray[np.int64]
    full_buffers: tuple[str, ...]
    undecoded: Mapping[str, int]

    @property
    def total_time_s(self) -> float | None:
        return None if self.total_time_ps is None else self.total_time_ps / 1e12


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


def read_ntff(path: str | os.PathLike[str]) -> Ntff:
    """The whole trace. Raises ParseError; UnknownVersion for a container version that is not decoded."""
    from neff_bench.parsers.timeline import assemble

    return assemble(read_container(path))


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
    cores = [core for outer in root.messages(4) for inner in outer.messages(4) for core in inner.messages(1)]
    if not cores:
        raise ParseError(name, DATA_START, "the metadata names no core: damaged, or nothing was executed")
    data = _Data(name, view, data_start)
    indices = {core.integer(3) for core in cores} | {section.integer(7) for section in root.messages(16)}
    if max(indices) > CORE_MAX:
        raise ParseError(name, DATA_START, f"a core number {max(indices)}: the metadata is damaged")
    streams, sections, memory, times = [], [], [], []
    queues: dict[tuple[int, int], str] = {}
    for core in cores:
        index = core.integer(3)
        streams += [_stream(name, data, index, stream) for stream in core.messages(4)]
        sections += [_section(data, section, index) for section in core.messages(6)]
        memory += [MemoryUse(index, use.text(3) or "", use.integer(2)) for use in core.messages(11)]
        queues.update({(queue.integer(1), queue.integer(2)): queue.text(4) or "" for queue in core.messages(7)})
        times += [core.integer(14)] if core.has(14) else []
    sections += [_section(data, section, section.integer(7)) for section in root.messages(16)]
    if sum(len(run.records) for run in sections) > len(view) - data_start or sum(
        len(run.code) for run in streams
    ) > len(view):
        raise ParseError(name, DATA_START, "sections or streams overlap: the metadata is damaged")
    window, executions = _window(name, root), len(root.messages(15))
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
        if length % 16 or begin + length > len(self._view):
            found = f"{what} of {length} bytes at {begin} in a file of {len(self._view)}: truncated or damaged"
            raise ParseError(self._name, min(begin, len(self._view)), found)
        return self._view[begin : begin + length]


def _stream(name: str, data: _Data, core: int, stream: Message) -> Stream:
    engine, embedded = stream.integer(1), stream.view(3)
    code = (
        embedded if embedded is not None else data.slice(stream.integer(7), stream.integer(8), "an instruction stream")
    )
    if engine >= len(ENGINES) or len(code) % 64:
        what = f"an instruction stream of engine {engine}, core {core}, {len(code)} bytes: not one this reader knows"
        raise ParseError(name, DATA_START, what)
    return Stream(core, engine, stream.integer(2), code)


def _section(data: _Data, section: Message, core: int) -> Section:
    offset, length = section.integer(5), section.integer(6)
    records = data.slice(offset, length, "a section") if length else memoryview(b"")
    return Section(core, section.integer(1), section.integer(3), data.start + offset, records)


def _window(name: str, root: Message) -> tuple[int, int] | None:
    spans = root.messages(15)
    if not spans:
        return None
    start, end = spans[-1].integer(2), spans[-1].integer(3)
    if not 0 < start <= end or end - start >= EXECUTION_PS_MAX:
        raise ParseError(name, DATA_START, f"the execution lasts from {start} to {end} ps: the metadata is damaged")
    return start, end


def _full_buffers(root: Message, sections: list[Section]) -> tuple[str, ...]:
    """Kinds whose records take all that the runtime set aside for them."""
    capacity = {(buffer.integer(1), buffer.integer(2)): buffer.integer(3) for buffer in root.messages(13)}
    full = {run.kind for run in sections if 0 < capacity.get((run.unit, run.kind), 0) <= len(run.records)}
    return tuple(SECTION_KINDS.get(kind, f"kind {kind}") for kind in sorted(full))


def _uuid(root: Message) -> bytes:
    """Field 15 holds the 16 bytes; field 2 may end at a zero byte among them or carry stray bytes behind them."""
    for span in root.messages(15):
        exact = span.view(1)
        if exact is not None and len(exact) == 16:
            return bytes(exact)
    return bytes(root.view(2) or b"")[:16]


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
    name = root.text(1)
    # The runtime's inspect mode names directories after the EC2 instance, and a NEFF's path may lead through one.
    texts = {"neff_name": name and INSTANCE_ID.sub("i-...", name), "instance_type": root.text(9)}
    for key, number in (("runtime_version", 8), ("driver_version", 11), ("collectives_version", 12)):
        parts = root.messages(number)
        texts[key] = ".".join(str(parts[-1].integer(field)) for field in (1, 2, 3)) if parts else None
    return texts
