"""The trace of a simulated execution: an NTFF in the layout of version 6, with a version byte that no AWS tool accepts.

Layout: found by matching users' traces with the JSON beside them (github allenkchau/trainium-kernel-fusion @d709ddf1), as
`neff_bench.parsers.ntff` describes it. Field 1000 of the metadata is ours: simulator version, model, sha256 of the data area.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from neff_bench.neffs import __version__
from neff_bench.parsers.formats.opcodes import OPCODES
from neff_bench.simulator.compiler.transfers import QUEUE_NAMES
from neff_bench.simulator.errors import ViewError
from neff_bench.simulator.files.neff import NeffContent
from neff_bench.simulator.timing.model import model_name
from neff_bench.simulator.timing.schedule import Schedule
from neff_bench.simulator.timing.timeline import CoreTimeline, Timeline
from neff_bench.simulator.whole import write_whole

if TYPE_CHECKING:
    import numpy as np

VERSION_BYTE = 230
_HEADER_BYTES = 128
_EPOCH_PS = 1_000_000_000_000
"""Trace clock at the start of the execution."""
_NOTIFY = OPCODES["NOTIFY"]
_OPENS, _CLOSES = 2, 3


@dataclass(frozen=True)
class TraceHead:
    """What identifies a simulated trace. By core: its physical number, execution time, traced instructions, semaphore events."""

    uuid: bytes
    simulator_version: str
    model: str
    total_ps: int
    core_ids: tuple[int, ...]
    core_ps: tuple[int, ...]
    core_instructions: tuple[int, ...]
    core_events: tuple[int, ...]
    name: str
    bytes: int


def write_ntff(neff: NeffContent, schedule: Schedule, timeline: Timeline, path: str, first_core: int = 0) -> None:
    """Writes the trace whole or not at all. `first_core`: number of the first physical core it ran on."""
    write_whole(path, ntff_bytes(neff, schedule, timeline, first_core))


def ntff_bytes(neff: NeffContent, schedule: Schedule, timeline: Timeline, first_core: int = 0) -> bytes:
    area = bytearray()
    sections: list[bytes] = []
    cores: list[bytes] = []
    for number, core in enumerate(timeline.cores):
        cores.append(_core_message(core, number, first_core + number, area))
        for kind, unit, records in (
            (0, 0, _instruction_records(core, schedule.chip.base_clock_ghz)),
            (1, 0, _semaphore_records(core)),
            (4, 1, _dma_records(core)),
            (5, 0, _throttle_records(core)),
        ):
            sections.append(_message(
                (1, kind), (3, unit), (5, len(area)), (6, len(records)), (7, first_core + number)
            ))  # fmt: skip
            area += records
    metadata = b"".join((
        _field(1, neff.name.encode()),
        _field(2, neff.uuid),
        _field(3, 10001),
        _field(4, _field(4, b"".join(_field(1, core) for core in cores))),
        _field(9, schedule.chip.instance_type.encode()),
        _field(15, _message((1, neff.uuid), (2, _EPOCH_PS), (3, _EPOCH_PS + timeline.total_ps))),
        *(_field(16, section) for section in sections),
        _field(1000, _message((1, __version__.encode()), (2, model_name(schedule.chip.name).encode()),
                              (3, hashlib.sha256(area).digest()))),
    ))  # fmt: skip
    header = bytes([VERSION_BYTE]) + len(metadata).to_bytes(7, "little")
    return header + bytes(_HEADER_BYTES - len(header)) + metadata + bytes(area)


def read_head(path: str) -> TraceHead:
    """Identity of a trace. Raises ViewError: unreadable, damaged, or not a simulated one."""
    from neff_bench.parsers.errors import ParseError
    from neff_bench.parsers.wire import Budget, Message

    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise ViewError(f"{error.strerror}", path) from None
    if not data:
        raise ViewError("empty NTFF: nothing was executed", path)
    if data[0] != VERSION_BYTE:
        raise ViewError(
            f"NTFF version {data[0]} is not supported in this version of the tool (supported: {VERSION_BYTE}, simulated)."
            " Please upgrade aws-neuronx-tools.",
            path,
        )
    size = int.from_bytes(data[1:8], "little")
    if len(data) < _HEADER_BYTES + size:
        raise ViewError(f"truncated NTFF: {len(data)} bytes", path)
    try:
        root = Message(path, memoryview(data)[_HEADER_BYTES : _HEADER_BYTES + size], _HEADER_BYTES, Budget())
        own, window = root.messages(1000), root.messages(15)
        cores = [core for outer in root.messages(4) for inner in outer.messages(4) for core in inner.messages(1)]
        if not (own and window and cores):
            raise ViewError("damaged NTFF: no execution in its metadata", path)
        digest = bytes(own[0].view(3) or b"")
    except ParseError as error:
        raise ViewError(f"damaged NTFF: {error.what}", path) from None
    sections = root.messages(16)
    if hashlib.sha256(memoryview(data)[_HEADER_BYTES + size :]).digest() != digest:
        raise ViewError("damaged NTFF: its records are not those that were written", path)
    return TraceHead(
        uuid=bytes(root.view(2) or b""),
        simulator_version=own[0].text(1) or "",
        model=own[0].text(2) or "",
        total_ps=window[0].integer(3) - window[0].integer(2),
        core_ids=tuple(core.integer(3) for core in cores),
        core_ps=tuple(core.integer(14) for core in cores),
        core_instructions=tuple(s.integer(6) // 32 for s in sections if s.integer(1) == 0),
        core_events=tuple(s.integer(6) // 16 for s in sections if s.integer(1) == 1),
        name=root.text(1) or "",
        bytes=len(data),
    )


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _message(*fields: tuple[int, int | bytes]) -> bytes:
    return b"".join(_field(number, value) for number, value in fields)


def _core_message(core: CoreTimeline, number: int, physical: int, area: bytearray) -> bytes:
    """The core's entry; its instruction streams go to the data area."""
    rows = core.instructions
    parts = [_field(1, f"sg{number:02d}".encode()), _field(3, physical)]
    for engine in range(5):
        mine = rows.engine == engine
        opcodes, index = rows.opcode[mine], rows.index[mine]
        slots = bytearray(64 * len(opcodes))
        slots[0::64] = opcodes.tobytes()
        slots[1::64] = b"\x10" * len(opcodes)
        before_kernel = True
        for place, (opcode, origin) in enumerate(zip(opcodes.tolist(), index.tolist(), strict=True)):
            before_kernel &= origin < 0 and place < len(opcodes) // 2
            if opcode == _NOTIFY:
                slots[64 * place + 36] = _OPENS if before_kernel else _CLOSES
        parts.append(_field(4, _message((1, engine), (2, 0), (7, len(area)), (8, len(slots)))))
        area += slots
    queues = sorted({*zip(core.dma.engine.tolist(), core.dma.queue.tolist(), strict=True)})
    for engine, queue in queues:
        name = QUEUE_NAMES.get(queue, "qInstruction")
        parts.append(_field(7, _message((1, 64 + 16 * number + engine), (2, queue), (4, name.encode()))))
    parts.append(_field(14, core.end_ps))
    return b"".join(parts)


def _records(count: int) -> np.ndarray:
    import numpy as np

    return np.zeros(count, dtype=np.dtype([("low", "<u4"), ("high", "<u4"), ("time", "<u8")]))


def _sorted_bytes(records: np.ndarray) -> bytes:
    import numpy as np

    return records[np.argsort(records["time"], kind="stable")].tobytes()


def _instruction_records(core: CoreTimeline, clock_ghz: float) -> bytes:
    import numpy as np

    rows = core.instructions
    n = len(rows.pc)
    records = _records(2 * n)
    tag = 0x80 | (rows.engine.astype(np.uint32) + 1) << 2
    place = (rows.pc.astype(np.int64) & 0x1FFFFF).astype(np.uint32)
    wait = np.minimum(rows.wait_ns * clock_ghz, 0xFFFF).astype(np.uint32)
    records["low"][:n] = place | tag << 24
    records["low"][n:] = place | (tag | 1) << 24
    records["high"][:n] = wait << 16
    records["high"][n:] = 0xFFFFFFFF
    records["time"][:n] = rows.start_ps + _EPOCH_PS
    records["time"][n:] = rows.end_ps + _EPOCH_PS
    return _sorted_bytes(records)


def _semaphore_records(core: CoreTimeline) -> bytes:
    import numpy as np

    rows = core.semaphores
    records = _records(len(rows.time_ps))
    writer = np.where(rows.engine < 5, rows.engine + 1, 6).astype(np.uint32)
    tag = 0x80 | writer << 2 | 3
    records["low"] = rows.semaphore.astype(np.uint32) & 0xFF | 1 << 8 | 0xF3 << 16 | tag << 24
    records["high"] = rows.value & 0xFFFFFFFF
    records["time"] = rows.time_ps + _EPOCH_PS
    return records.tobytes()


def _dma_records(core: CoreTimeline) -> bytes:
    import numpy as np

    rows = core.dma
    n = len(rows.bytes)
    records = _records(2 * n)
    tag = (0x80 | rows.engine.astype(np.uint32)) << 24
    queue = rows.queue.astype(np.uint32) << 4
    records["low"][:n] = tag
    records["low"][n:] = tag | np.minimum(rows.bytes, 0xFFFFFF).astype(np.uint32)
    records["high"][:n] = queue | 1
    records["high"][n:] = queue | 5
    records["time"][:n] = rows.start_ps + _EPOCH_PS
    records["time"][n:] = rows.end_ps + _EPOCH_PS
    return _sorted_bytes(records)


def _throttle_records(core: CoreTimeline) -> bytes:
    records = _records(2 * len(core.warm_ps))
    records["low"] = (0x80 | 7 << 2 | 2) << 24
    for place, (start, end) in enumerate(core.warm_ps):
        records["time"][2 * place] = start + _EPOCH_PS
        records["time"][2 * place + 1] = end + _EPOCH_PS
    return records.tobytes()
