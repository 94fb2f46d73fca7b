"""From the sections of a trace to columns of instructions, semaphore updates and DMA packets, and to the figures of a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parsers.clocks import Clock, synchronise
from parsers.errors import ParseError
from parsers.ntff import (
    CORE_CLOCK_MHZ,
    ENGINES,
    SIMULATED,
    Certainty,
    Container,
    DmaPackets,
    DmaTime,
    EngineTime,
    Instructions,
    Ntff,
    Section,
    Semaphores,
)
from parsers.opcodes import ACTIVATE, EVENT_SEMAPHORE, MATMUL, OPCODE_NAMES
from parsers.records import exact_sum, pair_fifo, union_length

if TYPE_CHECKING:
    from numpy.typing import NDArray

RECORD = np.dtype([("word", "<u4"), ("detail", "<u4"), ("ticks", "<u8")])
"""`word`: bytes 0..3 with the tag on top; `detail`: bytes 4..7."""

INSTRUCTION, SEMAPHORE, DMA, THROTTLE = 0, 1, 4, 5
DMA_START, DMA_READ_DONE, DMA_WRITE_DONE = 1, 5, 6
PC_MASK = (1 << 21) - 1
WRITERS = 32
CHECKED_AT_ONCE = 1 << 20
TICKS_MAX = 1 << 62


@dataclass(frozen=True, eq=False)
class RawInstructions:
    """Paired rows (n,) before any clock is known. `marker`: byte 36 of the instruction."""

    core: NDArray[np.uint8]
    engine: NDArray[np.uint8]
    pc: NDArray[np.int32]
    opcode: NDArray[np.uint8]
    marker: NDArray[np.uint8]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    wait: NDArray[np.uint16]


@dataclass(frozen=True, eq=False)
class RawSemaphores:
    """Updates (n,) in file order."""

    core: NDArray[np.uint8]
    word: NDArray[np.uint32]
    writer: NDArray[np.uint8]
    value: NDArray[np.uint32]
    ticks: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RawDma:
    """Packets (n,), start to read done. `done`, `done_core` (m,): write-done records, which belong to no row."""

    core: NDArray[np.uint8]
    engine: NDArray[np.uint8]
    queue: NDArray[np.uint8]
    bytes: NDArray[np.int32]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    done_core: NDArray[np.uint8]
    done: NDArray[np.int64]


def assemble(container: Container) -> Ntff:
    """Decodes every section. Raises ParseError for records that no trace holds."""
    undecoded: Counter[str] = Counter()
    start = container.window[0] if container.window else 0
    by_kind: dict[int, list[tuple[int, _Columns]]] = {kind: [] for kind in (INSTRUCTION, SEMAPHORE, DMA, THROTTLE)}
    for section in container.sections:
        if section.kind in by_kind and section.unit == (section.kind == DMA):
            by_kind[section.kind].append((section.core, _records(container.path, section, start)))
        else:
            undecoded[f"records of kind {section.kind}, unit {section.unit}"] += len(section.records) // RECORD.itemsize
    rows = _instructions(container, by_kind[INSTRUCTION], undecoded)
    updates = _semaphores(by_kind[SEMAPHORE])
    packets = _dma(by_kind[DMA], undecoded)
    clocks = synchronise(container, rows, updates, packets)
    return _report(container, rows, updates, packets, clocks, by_kind[THROTTLE], undecoded)


class _Columns(NamedTuple):
    """Records (n,) by field; `ticks` is signed and counts from the start of the execution where the file tells it."""

    word: Any
    detail: Any
    ticks: Any

    def where(self, chosen: Any) -> _Columns:
        return _Columns(*(column[chosen] for column in self))


def _records(path: str, section: Section, start: int) -> _Columns:
    """The section's records. Every one has the top bit of its tag set and lies within 53 days of `start`."""
    records = np.frombuffer(section.records, RECORD)
    parts = []
    for at in range(0, len(records), CHECKED_AT_ONCE):
        part = records[at : at + CHECKED_AT_ONCE]
        ticks = (part["ticks"] - np.uint64(start)).view(np.int64)
        wrong = (part["word"] < 0x8000_0000) | (ticks > TICKS_MAX) | (ticks < (-TICKS_MAX if start else 0))
        if wrong.any():
            offset = section.offset + (at + int(wrong.argmax())) * RECORD.itemsize
            raise ParseError(path, offset, f"no trace record of kind {section.kind}: bad tag or timestamp")
        parts.append(_Columns(part["word"].copy(), part["detail"].copy(), ticks))
    return parts[0] if len(parts) == 1 else _Columns(*(np.concatenate(column) for column in zip(*parts)))


@dataclass(frozen=True, eq=False)
class _Slots:
    """All instruction streams end to end. Per core and writer tag: first slot, address of it modulo 2^21, number of slots."""

    opcode: Any
    marker: Any
    engine: Any
    pc: Any
    first: Mapping[int, Any]
    base: Mapping[int, Any]
    length: Mapping[int, Any]


def _slots(container: Container) -> _Slots:
    cores = {stream.core for stream in container.streams} | {section.core for section in container.sections}
    first, base, length = ({core: np.zeros(WRITERS, np.int64) for core in cores} for _ in range(3))
    codes, engines, pcs, total = [], [], [], 0
    for stream in container.streams:
        code = np.frombuffer(stream.code, np.uint8).reshape(-1, 64)
        codes.append(code[:, (0, 36)])
        engines.append(np.full(len(code), stream.engine, np.uint8))
        pcs.append(np.arange(len(code), dtype=np.int32))
        writer = stream.engine + 1
        first[stream.core][writer], length[stream.core][writer] = total, len(code)
        base[stream.core][writer] = (stream.address >> 6) & PC_MASK
        total += len(code)
    code = np.concatenate(codes) if codes else np.zeros((0, 2), np.uint8)
    return _Slots(code[:, 0], code[:, 1], _join(engines, np.uint8), _join(pcs, np.int32), first, base, length)


def _join(parts: list[Any], dtype: Any) -> Any:
    return np.concatenate(parts).astype(dtype, copy=False) if parts else np.zeros(0, dtype)


def _instructions(
    container: Container, sections: list[tuple[int, _Columns]], undecoded: Counter[str]
) -> RawInstructions:
    slots = _slots(container)
    columns: list[tuple[Any, ...]] = []
    for core, records in sections:
        word = records.word
        tag = (word >> 24).astype(np.uint8)
        writer, kind = (tag >> 2) & (WRITERS - 1), tag & 3
        pc = ((word & PC_MASK).astype(np.int64) - slots.base[core][writer]) & PC_MASK
        decoded = pc < slots.length[core][writer]
        decoded &= kind < 2
        if not decoded.all():
            _count_undecoded(tag[~decoded], undecoded)
            records, pc, writer, kind = records.where(decoded), pc[decoded], writer[decoded], kind[decoded]
        slot = pc + slots.first[core][writer]
        ticks = records.ticks
        begins, ends = pair_fifo(slot, ticks, kind == 1, len(slots.opcode))
        row = slot[begins]
        columns.append(
            (
                np.full(len(row), core, np.uint8),
                slots.engine[row],
                slots.pc[row],
                slots.opcode[row],
                slots.marker[row],
                ticks[begins],
                ticks[ends],
                (records.detail[begins] >> 16).astype(np.uint16),
            )
        )
    dtypes = (np.uint8, np.uint8, np.int32, np.uint8, np.uint8, np.int64, np.int64, np.uint16)
    return RawInstructions(*_stack(columns, dtypes))


def _stack(columns: list[tuple[Any, ...]], dtypes: tuple[Any, ...]) -> Iterator[Any]:
    for index, dtype in enumerate(dtypes):
        yield _join([column[index] for column in columns], dtype)


def _count_undecoded(tags: Any, undecoded: Counter[str]) -> None:
    """Loader instructions carry an engine's tag and an address outside of the streams; other tags are named by number."""
    for tag, count in enumerate(np.bincount(tags, minlength=256).tolist()):
        if count and tag & 3 < 2 and 0 < (tag >> 2) & (WRITERS - 1) <= len(ENGINES):
            undecoded["instruction records outside of the loaded streams"] += count
        elif count:
            undecoded[f"instruction records with tag 0x{tag:02x}"] += count


def _semaphores(sections: list[tuple[int, _Columns]]) -> RawSemaphores:
    columns = []
    for core, records in sections:
        word, detail, ticks = records
        writer = ((word >> 26) & (WRITERS - 1)).astype(np.uint8)
        columns.append((np.full(len(word), core, np.uint8), word, writer, detail, ticks))
    return RawSemaphores(*_stack(columns, (np.uint8, np.uint32, np.uint8, np.uint32, np.int64)))


def _dma(sections: list[tuple[int, _Columns]], undecoded: Counter[str]) -> RawDma:
    columns, done = [], []
    for core, records in sections:
        kind = (records.detail & 15).astype(np.uint8)
        counts = np.bincount(kind, minlength=16)
        for unknown in set(np.flatnonzero(counts).tolist()) - {DMA_START, DMA_READ_DONE, DMA_WRITE_DONE}:
            undecoded[f"DMA records of type {unknown}"] += int(counts[unknown])
        done.append((np.full(counts[DMA_WRITE_DONE], core, np.uint8), records.ticks[kind == DMA_WRITE_DONE]))
        chosen = (kind == DMA_START) | (kind == DMA_READ_DONE)
        (word, detail, ticks), kind = records.where(chosen), kind[chosen]
        queue = (((word >> 24) & (WRITERS - 1)) << 4 | (detail >> 4) & 15).astype(np.int64)
        begins, ends = pair_fifo(queue, ticks, kind == DMA_READ_DONE, WRITERS * 16)
        which = queue[begins]
        columns.append(
            (
                np.full(len(begins), core, np.uint8),
                ((which >> 4) & 15).astype(np.uint8),
                (which & 15).astype(np.uint8),
                (word[ends] & 0xFF_FFFF).astype(np.int32),
                ticks[begins],
                ticks[ends],
            )
        )
    packets = _stack(columns, (np.uint8, np.uint8, np.uint8, np.int32, np.int64, np.int64))
    return RawDma(*packets, *_stack(done, (np.uint8, np.int64)))


def _report(
    container: Container,
    raw: RawInstructions,
    raw_updates: RawSemaphores,
    raw_packets: RawDma,
    clocks: Mapping[int, Clock],
    throttles: list[tuple[int, _Columns]],
    undecoded: Counter[str],
) -> Ntff:
    mhz = CORE_CLOCK_MHZ.get(container.family or "")
    rows = _on_time_axis(raw, clocks, mhz, undecoded)
    updates = _updates_on_time_axis(raw_updates, clocks)
    packets = _packets_on_time_axis(raw_packets, clocks, undecoded)
    total_ps = container.total_time_ps
    texts = container.texts
    work = rows.opcode != EVENT_SEMAPHORE
    return Ntff(
        path=container.path,
        bytes=container.size_bytes,
        version=container.version,
        certainty=_certainty(container),
        uuid=container.uuid[:16].hex(),
        neff_name=texts["neff_name"],
        instance_type=texts["instance_type"],
        runtime_version=texts["runtime_version"],
        driver_version=texts["driver_version"],
        collectives_version=texts["collectives_version"],
        total_time_ps=total_ps,
        neuroncore_cycle_count=total_ps * mhz // 1_000_000 if total_ps is not None and mhz else None,
        # Without a window AWS's report counts every update in the file.
        event_count=len(updates.id) if container.window else len(raw_updates.word),
        matmul_instruction_count=int(np.count_nonzero(rows.opcode == MATMUL)) if clocks else None,
        activate_instruction_count=int(np.count_nonzero(rows.opcode == ACTIVATE)) if clocks else None,
        engines={name: _engine_time(rows, work, index) for index, name in enumerate(ENGINES) if _known(clocks, index)},
        dma=_dma_time(packets) if clocks and all(clock.dma_offset is not None for clock in clocks.values()) else None,
        memory=container.memory,
        queues=container.queues,
        instructions=rows,
        semaphores=updates,
        dma_packets=packets,
        throttle_ps=_join(
            [clocks[core].semaphore_ps(part.ticks) for core, part in throttles if container.window], np.int64
        ),
        undecoded=dict(undecoded),
    )


def _certainty(container: Container) -> Certainty:
    if container.version == SIMULATED:
        return "simulated"
    kinds: dict[tuple[int, str | None], Certainty] = {(6, "trn2"): "exact", (5, "inf2"): "calibrated"}
    return kinds.get((container.version, container.family), "unverified")


def _known(clocks: Mapping[int, Clock], engine: int) -> bool:
    return bool(clocks) and all(clock.known[engine] for clock in clocks.values())


def _on_time_axis(
    raw: RawInstructions, clocks: Mapping[int, Clock], mhz: int | None, undecoded: Counter[str]
) -> Instructions:
    """The rows that lie in the execution, in ps since its start."""
    columns = []
    for core in np.unique(raw.core).tolist():
        mine = np.flatnonzero(raw.core == core) if len(clocks) > 1 else slice(None)
        clock, engine = clocks.get(core), raw.engine[mine]
        if clock is None:
            undecoded["instructions on a clock that was not found"] += len(engine)
            continue
        begin, end = clock.instruction_ps(engine, raw.begin[mine]), clock.instruction_ps(engine, raw.end[mine])
        inside = (begin >= 0) & clock.known[engine]
        if clock.end_ps is not None:
            inside &= end <= clock.end_ps
        if not clock.known.all():
            undecoded["instructions on a clock that was not found"] += int(np.count_nonzero(~clock.known[engine]))
        whole = (raw.core[mine], engine, raw.pc[mine], raw.opcode[mine], begin, end - begin, raw.wait[mine])
        columns.append(whole if inside.all() else tuple(column[inside] for column in whole))
    dtypes = (np.uint8, np.uint8, np.int32, np.uint8, np.int64, np.int64, np.uint16)
    core, engine, pc, opcode, begin_ps, duration_ps, wait = _stack(columns, dtypes)
    # The report's own arithmetic, in single precision.
    wait_ns = (wait.astype(np.float32) / np.float32(mhz / 1000)).astype(np.int64) if mhz else None
    return Instructions(core, engine, pc, opcode, OPCODE_NAMES, begin_ps, duration_ps, wait_ns)


def _updates_on_time_axis(raw: RawSemaphores, clocks: Mapping[int, Clock]) -> Semaphores:
    columns = []
    for core, clock in clocks.items():
        mine = raw.core == core
        time = clock.semaphore_ps(raw.ticks[mine])
        inside = time >= 0
        if clock.end_ps is not None:
            inside &= time <= clock.end_ps
        word = raw.word[mine][inside]
        identifier, event, operation = word & 255, (word >> 8) & 255 != 1, (word >> 16) & 255
        columns.append(
            (
                raw.core[mine][inside],
                identifier,
                event,
                operation,
                raw.writer[mine][inside],
                raw.value[mine][inside],
                time[inside],
            )
        )
    return Semaphores(*_stack(columns, (np.uint8, np.uint8, np.bool_, np.uint8, np.uint8, np.uint32, np.int64)))


def _packets_on_time_axis(raw: RawDma, clocks: Mapping[int, Clock], undecoded: Counter[str]) -> DmaPackets:
    columns = []
    for core in np.unique(raw.core).tolist():
        mine = raw.core == core
        clock = clocks.get(core)
        if clock is None or clock.dma_offset is None:
            undecoded["DMA packets on a clock that was not found"] += int(np.count_nonzero(mine))
            continue
        engine, queue = raw.engine[mine], raw.queue[mine]
        begin, end = clock.dma_ps(engine, raw.begin[mine]), clock.dma_ps(engine, raw.end[mine])
        which = (engine.astype(np.int64) << 4) | queue
        straddled = np.bincount(which[(begin < 0) & (end > 0)], minlength=WRITERS * 16) > 0
        inside = begin >= 0
        if clock.end_ps is not None:
            inside &= end <= clock.end_ps
        whole = (raw.core[mine], engine, queue, raw.bytes[mine], begin, end - begin, ~straddled[which])
        columns.append(whole if inside.all() else tuple(column[inside] for column in whole))
    return DmaPackets(*_stack(columns, (np.uint8, np.uint8, np.uint8, np.int32, np.int64, np.int64, np.bool_)))


def _engine_time(rows: Instructions, work: Any, engine: int) -> EngineTime:
    of_engine = rows.engine == engine
    working = of_engine & work
    begin, duration = rows.begin_ps[working], rows.duration_ps[working]
    active_ps = union_length(begin, begin + duration)
    return EngineTime(int(np.count_nonzero(of_engine)), exact_sum(duration) / 1e12, active_ps / 1e12)


def _dma_time(packets: DmaPackets) -> DmaTime:
    reported = packets.reported
    begin, duration = packets.begin_ps[reported], packets.duration_ps[reported]
    return DmaTime(
        packets=len(begin),
        bytes=exact_sum(packets.bytes[reported].astype(np.int64)),
        packet_time_s=exact_sum(duration) / 1e12,
        active_time_s=union_length(begin, begin + duration) / 1e12,
        left_out_packets=len(reported) - len(begin),
    )
