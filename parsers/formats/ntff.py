"""Declares the layout of an NTFF: the trace of one execution on a device.

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
v6: one clock in ps; a row counts when it begins and ends within field 15. v4/5: see parsers/clocks.py.

A writer of this layout (the simulator) needs: version byte 230; fields 1, 2 (16 bytes), 9 ("trn2..." tells the clock rate), 15, one 4.4.1 for
each core with all five streams, one section 16 for each core and kind that has records.
"""

from __future__ import annotations

import os
import re
from typing import Literal, NamedTuple

from neff_bench.chips import CHIPS

DATA_START = 128
VERSIONS = (4, 5, 6)
SIMULATED = 230
"""The simulator's version byte: no AWS tool accepts it."""

INSTRUCTION, SEMAPHORE, DMA, THROTTLE = 0, 1, 4, 5
SECTION_KINDS = {INSTRUCTION: "instruction", SEMAPHORE: "semaphore", DMA: "DMA", THROTTLE: "throttle"}
UNIT_OF_KIND = {INSTRUCTION: 0, SEMAPHORE: 0, DMA: 1, THROTTLE: 0}
"""0: the core, 1: its DMA engines."""


def family_of(instance_type: str | None) -> str | None:
    """Return `trn2` of `trn2.3xlarge` or `trn2n.48xlarge`; None for a family of unknown clock."""
    return next((family for family in CHIPS if (instance_type or "").startswith(family)), None)


RECORD_BYTES = 16
RECORD = [("word", "<u4"), ("detail", "<u4"), ("ticks", "<u8")]
"""numpy fields of a record. `word`: bytes 0..3 with the tag on top; `detail`: bytes 4..7."""

TAG = 0x80
BEGIN, END, AUXILIARY, UPDATE = 0, 1, 2, 3
"""Types of records, in the two low bits of the tag."""
WRITERS = 32
DMA_WRITER, THROTTLE_WRITER = 6, 7
"""An engine writes under its index + 1."""
PC_MASK = (1 << 21) - 1
SIZE_MASK = (1 << 24) - 1

IS_SEMAPHORE = 1
INCREMENT = 0xF3
"""Bytes 1 and 2 of a semaphore record."""

DMA_START, DMA_READ_DONE, DMA_WRITE_DONE = 1, 5, 6
DMA_ENGINES = 16
"""The DMA engines of a core; queues are listed under the engine's number within the core plus this times the core's."""
DMA_ENGINE_MASK = DMA_ENGINES - 1

MARKER_BYTE = 36
OPENS_PASS, CLOSES_PASS = 2, 3
"""What byte 36 of a NOTIFY says."""


class Root:
    """Field numbers of the metadata."""

    NEFF_NAME, UUID, MODEL, GRAPH = 1, 2, 3, 4
    RUNTIME, INSTANCE_TYPE, DRIVER, COLLECTIVES = 8, 9, 11, 12
    BUFFER, WINDOW, SECTION = 13, 15, 16
    SIMULATOR = 1000


class Core:
    """Field numbers of 4.4.1, one message for each physical core."""

    NAME, INDEX, STREAM, SECTION, QUEUE, MEMORY, TIME = 1, 3, 4, 6, 7, 11, 14


class Stream:
    """Field numbers of an instruction stream."""

    ENGINE, ADDRESS, CODE, OFFSET, LENGTH = 1, 2, 3, 7, 8


class Section:
    """Field numbers of a run of records."""

    KIND, UNIT, INDEX, OFFSET, LENGTH, CORE = 1, 3, 4, 5, 6, 7


class Queue:
    """Field numbers of a DMA queue."""

    ENGINE, QUEUE, NAME = 1, 2, 4


class Memory:
    """Field numbers of one use of device memory."""

    BYTES, NAME = 2, 3


class Window:
    """Field numbers of the profiled execution."""

    UUID, START, END = 1, 2, 3


class Buffer:
    """Field numbers of a buffer on the device."""

    UNIT, KIND, BYTES = 1, 2, 3


class Simulator:
    """Field numbers of what the simulator adds: its version, its timing model, the sha256 of the data area, 1 for the first
    execution after loading, and how many bytes at the end of the data area hold the schedule, which is in no section."""

    VERSION, MODEL, SHA256, FIRST_EXECUTION, SCHEDULE_BYTES = 1, 2, 3, 4, 5


SUFFIX = ".ntff"
_NAME = re.compile(r"^(?P<stem>.+?)(?:_rank_(?P<rank>\d+))?(?:_exec_(?P<exec>\d+))?$")


DmaKind = Literal["static", "software_dynamic", "hardware_dynamic"]
DMA_KINDS: tuple[DmaKind, ...] = ("static", "software_dynamic", "hardware_dynamic")


def dma_kind(queue_name: str) -> DmaKind:
    """Return the kind of transfers that a queue carries: `qSPDynamicHW` descriptors that the hardware makes, `qPoolDynamic` those that an engine
    makes, every other name, and none, those that were there before the execution."""
    if "Dynamic" not in queue_name:
        return "static"
    return "hardware_dynamic" if queue_name.endswith("HW") else "software_dynamic"


class TraceName(NamedTuple):
    """Holds what the name of a trace says. `rank`: of the worker; `execution`: from 1. None: the name does not say it."""

    stem: str
    rank: int | None
    execution: int | None


def trace_name(stem: str) -> TraceName:
    """Return the parts of `profile_rank_0_exec_2`, the names that `capture` gives (aws-neuron/nki-library, test/utils/profiler_utils.py)."""
    match = _NAME.match(stem)
    if match is None:
        return TraceName(stem, None, None)
    rank, execution = match["rank"], match["exec"]
    return TraceName(match["stem"], None if rank is None else int(rank), None if execution is None else int(execution))


def trace_path(session: str, execution: int, rank: int | None = None) -> str:
    """Return `profile.ntff` for the first execution, `profile_exec_2.ntff` for the second; `profile_rank_0.ntff` for a rank of several."""
    if execution == 1 and rank is None:
        return session
    stem, extension = os.path.splitext(session)
    worker = "" if rank is None else f"_rank_{rank}"
    return f"{stem}{worker}{'' if execution == 1 else f'_exec_{execution}'}{extension or SUFFIX}"
