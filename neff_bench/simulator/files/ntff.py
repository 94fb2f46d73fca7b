"""Writes and reads the trace of a simulated execution: an NTFF in the layout of version 6, with a version byte that no AWS tool accepts.

`neff_bench.parsers.formats.ntff` describes the layout. Field 1000 of the metadata is ours: simulator version, model, sha256 of the data area,
whose last bytes are the schedule (`times.py`).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from neff_bench.installation import __version__
from neff_bench.parsers.formats import ntff as layout
from neff_bench.parsers.formats.neff import INSTRUCTION_BYTES, LENGTH, LENGTH_BYTE
from neff_bench.parsers.formats.ntff import DATA_START, SIMULATED, Core, Queue, Root, Section, Simulator, Stream, Window
from neff_bench.parsers.formats.opcodes import OPCODES
from neff_bench.parsers.wire import encode_field, encode_message
from neff_bench.simulator.costs.transfers import QUEUE_NAMES
from neff_bench.simulator.errors import ViewError
from neff_bench.simulator.timing.model import model_name
from neff_bench.system.files import write_whole

if TYPE_CHECKING:
    import numpy as np

    from neff_bench.simulator.files.neff import NeffContent
    from neff_bench.simulator.timing.schedule import Schedule
    from neff_bench.simulator.timing.timeline import CoreTimeline, Timeline

_EPOCH_PS = 1_000_000_000_000
"""Trace clock at the start of the execution."""
_NOTIFY = OPCODES["NOTIFY"]


@dataclass(frozen=True)
class TraceHead:
    """Holds what identifies a simulated trace. By core: its physical number, execution time, traced instructions, semaphore events.
    `schedule`: its times, for `decode_times`."""

    uuid: bytes
    simulator_version: str
    model: str
    first_execution: bool
    total_ps: int
    core_ids: tuple[int, ...]
    core_ps: tuple[int, ...]
    core_instructions: tuple[int, ...]
    core_events: tuple[int, ...]
    name: str
    bytes: int
    schedule: memoryview


def write_ntff(neff: NeffContent, schedule: Schedule, timeline: Timeline, path: str, first_core: int = 0) -> None:
    """Write the trace whole or not at all. `first_core`: number of the first physical core it ran on."""
    write_whole(path, ntff_bytes(neff, schedule, timeline, first_core))


def ntff_bytes(neff: NeffContent, schedule: Schedule, timeline: Timeline, first_core: int = 0) -> bytes:
    """Return the trace of a simulated execution as an NTFF file. `first_core`: number of its first physical core."""
    from neff_bench.simulator.files.times import encode_times

    area = bytearray()
    sections: list[bytes] = []
    cores: list[bytes] = []
    for number, core in enumerate(timeline.cores):
        cores.append(_core_message(core, number, first_core + number, area))
        for kind, records in (
            (layout.INSTRUCTION, _instruction_records(core, schedule.chip.base_clock_ghz)),
            (layout.SEMAPHORE, _semaphore_records(core)),
            (layout.DMA, _dma_records(core)),
            (layout.THROTTLE, _throttle_records(core)),
        ):
            sections.append(encode_message(
                (Section.KIND, kind), (Section.UNIT, layout.UNIT_OF_KIND[kind]), (Section.OFFSET, len(area)),
                (Section.LENGTH, len(records)), (Section.CORE, first_core + number),
            ))  # fmt: skip
            area += records
    times = encode_times(schedule)
    area += times
    metadata = b"".join((
        encode_field(Root.NEFF_NAME, neff.name.encode()),
        encode_field(Root.UUID, neff.uuid),
        encode_field(Root.MODEL, 10001),
        encode_field(Root.GRAPH, encode_field(4, b"".join(encode_field(1, core) for core in cores))),
        encode_field(Root.INSTANCE_TYPE, schedule.chip.instance_type.encode()),
        encode_field(Root.WINDOW, encode_message(
            (Window.UUID, neff.uuid), (Window.START, _EPOCH_PS), (Window.END, _EPOCH_PS + timeline.total_ps)
        )),
        *(encode_field(Root.SECTION, section) for section in sections),
        encode_field(Root.SIMULATOR, encode_message(
            (Simulator.VERSION, __version__.encode()), (Simulator.MODEL, model_name(schedule.chip.name).encode()),
            (Simulator.SHA256, hashlib.sha256(area).digest()),
            (Simulator.FIRST_EXECUTION, int(schedule.first_execution)), (Simulator.SCHEDULE_BYTES, len(times)),
        )),
    ))  # fmt: skip
    header = bytes([SIMULATED]) + len(metadata).to_bytes(7, "little")
    return header + bytes(DATA_START - len(header)) + metadata + bytes(area)


def read_head(path: str) -> TraceHead:
    """Return the identity of a trace. Raises ViewError: unreadable, damaged, or not a simulated one."""
    from neff_bench.parsers.errors import ParseError
    from neff_bench.parsers.wire import Budget, Message

    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise ViewError(f"{error.strerror}", path) from None
    if not data:
        raise ViewError("empty NTFF: nothing was executed", path)
    if data[0] != SIMULATED:
        raise ViewError(
            f"NTFF version {data[0]} is not supported in this version of the tool (supported: {SIMULATED}, simulated)."
            " Please upgrade aws-neuronx-tools.",
            path,
        )
    # The metadata are parsed only when all of them are there: a message cut off says so in words of its own.
    size = int.from_bytes(data[1:8], "little")
    if len(data) < DATA_START + size:
        raise ViewError(f"truncated NTFF: {len(data)} bytes", path)
    try:
        root = Message(path, memoryview(data)[DATA_START : DATA_START + size], DATA_START, Budget())
        own, window = root.messages(Root.SIMULATOR), root.messages(Root.WINDOW)
        cores = [
            core for outer in root.messages(Root.GRAPH) for inner in outer.messages(4) for core in inner.messages(1)
        ]
        if not (own and window and cores):
            raise ViewError("damaged NTFF: no execution in its metadata", path)
        digest = bytes(own[0].view(Simulator.SHA256) or b"")
    except ParseError as error:
        raise ViewError(f"damaged NTFF: {error.what}", path) from None
    # The checksum covers all that follows the metadata: instructions, semaphores, packets and the schedule.
    sections = root.messages(Root.SECTION)
    area = memoryview(data)[DATA_START + size :]
    if hashlib.sha256(area).digest() != digest:
        raise ViewError("damaged NTFF: its records are not those that were written", path)
    return TraceHead(
        uuid=bytes(root.view(Root.UUID) or b""),
        simulator_version=own[0].text(Simulator.VERSION) or "",
        model=own[0].text(Simulator.MODEL) or "",
        first_execution=bool(own[0].integer(Simulator.FIRST_EXECUTION)),
        total_ps=window[0].integer(Window.END) - window[0].integer(Window.START),
        core_ids=tuple(core.integer(Core.INDEX) for core in cores),
        core_ps=tuple(core.integer(Core.TIME) for core in cores),
        core_instructions=tuple(
            s.integer(Section.LENGTH) // (2 * layout.RECORD_BYTES)
            for s in sections
            if s.integer(Section.KIND) == layout.INSTRUCTION
        ),
        core_events=tuple(
            s.integer(Section.LENGTH) // layout.RECORD_BYTES
            for s in sections
            if s.integer(Section.KIND) == layout.SEMAPHORE
        ),
        name=root.text(Root.NEFF_NAME) or "",
        bytes=len(data),
        schedule=area[max(len(area) - own[0].integer(Simulator.SCHEDULE_BYTES), 0) :],
    )


def _core_message(core: CoreTimeline, number: int, physical: int, area: bytearray) -> bytes:
    """Return the core's entry; its instruction streams go to the data area."""
    rows = core.instructions
    parts = [encode_field(Core.NAME, f"sg{number:02d}".encode()), encode_field(Core.INDEX, physical)]
    for engine in range(5):
        mine = rows.engine == engine
        opcodes, index = rows.opcode[mine], rows.index[mine]
        slots = bytearray(INSTRUCTION_BYTES * len(opcodes))
        slots[0::INSTRUCTION_BYTES] = opcodes.tobytes()
        slots[LENGTH_BYTE::INSTRUCTION_BYTES] = bytes([LENGTH]) * len(opcodes)
        before_kernel = True
        for place, (opcode, origin) in enumerate(zip(opcodes.tolist(), index.tolist(), strict=True)):
            before_kernel &= origin < 0 and place < len(opcodes) // 2
            if opcode == _NOTIFY:
                slots[INSTRUCTION_BYTES * place + layout.MARKER_BYTE] = (
                    layout.OPENS_PASS if before_kernel else layout.CLOSES_PASS
                )
        parts.append(
            encode_field(
                Core.STREAM,
                encode_message(
                    (Stream.ENGINE, engine),
                    (Stream.ADDRESS, 0),
                    (Stream.OFFSET, len(area)),
                    (Stream.LENGTH, len(slots)),
                ),
            )
        )
        area += slots
    queues = sorted({*zip(core.dma.engine.tolist(), core.dma.queue.tolist(), strict=True)})
    for engine, queue in queues:
        name = QUEUE_NAMES.get(queue, "qInstruction")
        parts.append(
            encode_field(
                Core.QUEUE,
                encode_message(
                    (Queue.ENGINE, 16 * physical + engine), (Queue.QUEUE, queue), (Queue.NAME, name.encode())
                ),
            )
        )
    parts.append(encode_field(Core.TIME, core.end_ps))
    return b"".join(parts)


def _records(count: int) -> np.ndarray:
    import numpy as np

    return np.zeros(count, dtype=np.dtype(layout.RECORD))


def _sorted_bytes(records: np.ndarray) -> bytes:
    import numpy as np

    return records[np.argsort(records["ticks"], kind="stable")].tobytes()


def _instruction_records(core: CoreTimeline, clock_ghz: float) -> bytes:
    import numpy as np

    rows = core.instructions
    n = len(rows.pc)
    records = _records(2 * n)
    tag = layout.TAG | (rows.engine.astype(np.uint32) + 1) << 2
    place = (rows.pc.astype(np.int64) & layout.PC_MASK).astype(np.uint32)
    wait = np.minimum(rows.wait_ns * clock_ghz, 0xFFFF).astype(np.uint32)
    records["word"][:n] = place | tag << 24
    records["word"][n:] = place | (tag | layout.END) << 24
    records["detail"][:n] = wait << 16
    records["detail"][n:] = 0xFFFFFFFF
    records["ticks"][:n] = rows.start_ps + _EPOCH_PS
    records["ticks"][n:] = rows.end_ps + _EPOCH_PS
    return _sorted_bytes(records)


def _semaphore_records(core: CoreTimeline) -> bytes:
    import numpy as np

    rows = core.semaphores
    records = _records(len(rows.time_ps))
    writer = np.where(rows.engine < 5, rows.engine + 1, layout.DMA_WRITER).astype(np.uint32)
    tag = layout.TAG | writer << 2 | layout.UPDATE
    records["word"] = (
        rows.semaphore.astype(np.uint32) & 0xFF | layout.IS_SEMAPHORE << 8 | layout.INCREMENT << 16 | tag << 24
    )
    records["detail"] = rows.value & 0xFFFFFFFF
    records["ticks"] = rows.time_ps + _EPOCH_PS
    return records.tobytes()


def _dma_records(core: CoreTimeline) -> bytes:
    import numpy as np

    rows = core.dma
    n = len(rows.bytes)
    records = _records(2 * n)
    tag = (layout.TAG | rows.engine.astype(np.uint32)) << 24
    queue = rows.queue.astype(np.uint32) << 4
    records["word"][:n] = tag
    records["word"][n:] = tag | np.minimum(rows.bytes, layout.SIZE_MASK).astype(np.uint32)
    records["detail"][:n] = queue | layout.DMA_START
    records["detail"][n:] = queue | layout.DMA_READ_DONE
    records["ticks"][:n] = rows.start_ps + _EPOCH_PS
    records["ticks"][n:] = rows.end_ps + _EPOCH_PS
    return _sorted_bytes(records)


def _throttle_records(core: CoreTimeline) -> bytes:
    records = _records(2 * len(core.warm_ps))
    records["word"] = (layout.TAG | layout.THROTTLE_WRITER << 2 | layout.AUXILIARY) << 24
    for place, (start, end) in enumerate(core.warm_ps):
        records["ticks"][2 * place] = start + _EPOCH_PS
        records["ticks"][2 * place + 1] = end + _EPOCH_PS
    return records.tobytes()
