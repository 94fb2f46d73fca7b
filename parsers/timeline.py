"""Puts the rows of a trace on one time axis, and computes the figures of a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from neff_bench.chips import CHIPS
from neff_bench.chips.engines import ENGINES
from neff_bench.parsers.clocks import Clock, synchronise
from neff_bench.parsers.container import EARLIER_EXECUTIONS, Container
from neff_bench.parsers.formats.ntff import DMA_ENGINES, DMA_KINDS, IS_SEMAPHORE, SIMULATED, THROTTLE, WRITERS, dma_kind
from neff_bench.parsers.formats.opcodes import OPCODES, UNNAMED, names_by_byte
from neff_bench.parsers.records import exact_sum, merged
from neff_bench.parsers.rows import (
    OUTSIDE,
    RECORD,
    RawDma,
    RawInstructions,
    RawSemaphores,
    check_records,
    decode_dma,
    decode_instructions,
    decode_semaphores,
    is_decoded,
    join,
    sections_of,
    stack,
)
from neff_bench.parsers.trace import (
    OF_OPCODE,
    Certainty,
    DmaPackets,
    DmaTime,
    EngineTime,
    Instructions,
    Ntff,
    Semaphores,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

KNOWN_REMAINDERS = (OUTSIDE, EARLIER_EXECUTIONS)
"""What is left out and understood."""


def assemble(container: Container) -> Ntff:
    """Decode every section. Raises ParseError for records that no trace holds."""
    check_records(container)
    undecoded: Counter[str] = Counter(container.undecoded)
    for section in container.sections:
        if not is_decoded(section):
            undecoded[f"records of kind {section.kind}, unit {section.unit}"] += (
                section.records.size_bytes // RECORD.itemsize
            )
    # numpy works outside of the interpreter lock: the two large kinds are decoded side by side.
    of_dma: Counter[str] = Counter()
    with ThreadPoolExecutor(1) as other:
        decoding = other.submit(decode_dma, container, of_dma)
        rows, updates = decode_instructions(container, undecoded), decode_semaphores(container)
        packets = decoding.result()
    clocks = synchronise(container, rows, updates, packets)
    return _report(container, rows, updates, packets, clocks, undecoded + of_dma)


def _report(
    container: Container,
    raw: RawInstructions,
    raw_updates: RawSemaphores,
    raw_packets: RawDma,
    clocks: Mapping[int, Clock],
    undecoded: Counter[str],
) -> Ntff:
    mhz = CHIPS[container.family].base_clock_mhz if container.family else None
    names = names_by_byte(container.version == SIMULATED)
    rows = _on_time_axis(raw, clocks, names, mhz, undecoded)
    _count_unnamed(rows, undecoded)
    updates = _updates_on_time_axis(raw_updates, clocks)
    packets = _packets_on_time_axis(raw_packets, clocks, undecoded)
    total_ps = container.total_time_ps
    texts = container.texts
    # An EVENT_SEMAPHORE only waits: it is counted, but is no time at work.
    work = rows.opcode != OPCODES["EVENT_SEMAPHORE"]
    # DMA engines may count by a clock that nothing in the trace ties to the others; then their times are unknown, not zero.
    dma_known = bool(clocks) and all(clock.dma_offset is not None for clock in clocks.values())
    moved = _moved(packets, kinds_of(packets, container.queues))
    whole = _of_all(moved)
    engines = [_engine_time(rows, work, index) for index in range(len(ENGINES))]
    active = _union([whole.active, *(times for _, times in engines)])
    return Ntff(
        path=container.path,
        bytes=container.size_bytes,
        version=container.version,
        certainty=_certainty(container, undecoded),
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
        matmul_instruction_count=int(np.count_nonzero(rows.opcode == OPCODES["MATMUL"])) if clocks else None,
        activate_instruction_count=int(np.count_nonzero(rows.opcode == OPCODES["ACTIVATE"])) if clocks else None,
        engines={name: engines[index][0] for index, name in enumerate(ENGINES) if _known(clocks, index)},
        dma=whole.time() if dma_known else None,
        dma_kinds={
            kind: one.time()
            for kind, one in zip(DMA_KINDS, moved, strict=True)
            if dma_known and (one.packets or one.left_out_packets)
        },
        # Without a window there is no telling what belongs to the execution.
        total_active_time_s=_length(*active) / 1e12 if container.window else None,
        memory=container.memory,
        queues=container.queues,
        instructions=rows,
        semaphores=updates,
        dma_packets=packets,
        throttle_ps=join(
            [
                clocks[core].semaphore_ps(part.ticks)
                for core, part in sections_of(container, THROTTLE)
                if container.window
            ],
            np.int64,
        ),
        full_buffers=container.full_buffers,
        undecoded=dict(undecoded),
    )


def _count_unnamed(rows: Instructions, undecoded: Counter[str]) -> None:
    counts = np.bincount(rows.opcode, minlength=len(rows.opcode_names))
    for opcode in np.flatnonzero(counts).tolist():
        if rows.opcode_names[opcode].startswith(UNNAMED):
            undecoded[f"{OF_OPCODE}0x{opcode:02x}"] += int(counts[opcode])


def _certainty(container: Container, undecoded: Mapping[str, int]) -> Certainty:
    """Return how far the figures were checked; a file with content that nobody decodes was never among those that were."""
    if container.version == SIMULATED:
        return "simulated"
    if any(undecoded[name] for name in undecoded if name not in KNOWN_REMAINDERS):
        return "unverified"
    kinds: dict[tuple[int, str | None], Certainty] = {(6, "trn2"): "exact", (5, "inf2"): "calibrated"}
    return kinds.get((container.version, container.family), "unverified")


def _known(clocks: Mapping[int, Clock], engine: int) -> bool:
    return bool(clocks) and all(clock.known[engine] for clock in clocks.values())


def _on_time_axis(
    raw: RawInstructions, clocks: Mapping[int, Clock], names: tuple[str, ...], mhz: int | None, undecoded: Counter[str]
) -> Instructions:
    """Return the rows that lie in the execution, in ps since its start."""
    columns = []
    for core, mine in _by_core(raw.core):
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
    core, engine, pc, opcode, begin_ps, duration_ps, wait = stack(columns, dtypes)
    # The report's own arithmetic, in single precision.
    wait_ns = (wait.astype(np.float32) / np.float32(mhz / 1000)).astype(np.int64) if mhz else None
    return Instructions(core, engine, pc, opcode, names, begin_ps, duration_ps, wait_ns)


def _by_core(core: NDArray[np.uint8]) -> Iterator[tuple[int, Any]]:
    """Yield each core of these rows, and what chooses its rows: all where there is no other."""
    there = np.flatnonzero(np.bincount(core)).tolist()
    for number in there:
        yield number, slice(None) if len(there) == 1 else core == number


def _updates_on_time_axis(raw: RawSemaphores, clocks: Mapping[int, Clock]) -> Semaphores:
    columns = []
    for core, mine in _by_core(raw.core):
        clock = clocks.get(core)
        if clock is None:
            continue
        time = clock.semaphore_ps(raw.ticks[mine])
        inside = time >= 0
        if clock.end_ps is not None:
            inside &= time <= clock.end_ps
        word = raw.word[mine][inside]
        identifier, event, operation = word & 255, (word >> 8) & 255 != IS_SEMAPHORE, (word >> 16) & 255
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
    return Semaphores(*stack(columns, (np.uint8, np.uint8, np.bool_, np.uint8, np.uint8, np.uint32, np.int64)))


def _packets_on_time_axis(raw: RawDma, clocks: Mapping[int, Clock], undecoded: Counter[str]) -> DmaPackets:
    columns = []
    for core, mine in _by_core(raw.core):
        clock, engine, queue = clocks.get(core), raw.engine[mine], raw.queue[mine]
        if clock is None or clock.dma_offset is None:
            undecoded["DMA packets on a clock that was not found"] += len(engine)
            continue
        begin, end = clock.dma_ps(engine, raw.begin[mine]), clock.dma_ps(engine, raw.end[mine])
        which = (engine.astype(np.int64) << 4) | queue
        straddled = np.bincount(which[(begin < 0) & (end > 0)], minlength=WRITERS * 16) > 0
        inside = begin >= 0
        if clock.end_ps is not None:
            inside &= end <= clock.end_ps
        whole = (raw.core[mine], engine, queue, raw.bytes[mine], begin, end - begin, ~straddled[which])
        columns.append(whole if inside.all() else tuple(column[inside] for column in whole))
    return DmaPackets(*stack(columns, (np.uint8, np.uint8, np.uint8, np.int32, np.int64, np.int64, np.bool_)))


Intervals = tuple[Any, Any]
"""Begin and end of disjoint intervals."""


def _engine_time(rows: Instructions, work: Any, engine: int) -> tuple[EngineTime, Intervals]:
    """Return the times of an engine, and the intervals in which it works."""
    of_engine = rows.engine == engine
    working = of_engine & work
    begin, duration = rows.begin_ps[working], rows.duration_ps[working]
    active = merged(begin, begin + duration)
    return EngineTime(int(np.count_nonzero(of_engine)), exact_sum(duration) / 1e12, _length(*active) / 1e12), active


class _Moved(NamedTuple):
    """The packets of a kind of DMA that a report counts, and how many it leaves out. active: when they move."""

    packets: int
    bytes: int
    time_ps: int
    left_out_packets: int
    active: Intervals

    def time(self) -> DmaTime:
        return DmaTime(
            packets=self.packets,
            bytes=self.bytes,
            packet_time_s=self.time_ps / 1e12,
            active_time_s=_length(*self.active) / 1e12,
            left_out_packets=self.left_out_packets,
        )


def _moved(packets: DmaPackets, kinds: NDArray[np.uint8]) -> list[_Moved]:
    """Return what each kind of DMA moved, by index of DMA_KINDS."""
    found = []
    for number, count in enumerate(np.bincount(kinds, minlength=len(DMA_KINDS)).tolist()):
        reported = packets.reported & (kinds == number)
        begin, duration = packets.begin_ps[reported], packets.duration_ps[reported]
        moved = exact_sum(packets.bytes[reported].astype(np.int64))
        active = merged(begin, begin + duration)
        found.append(_Moved(len(begin), moved, exact_sum(duration), count - len(begin), active))
    return found


def _of_all(moved: Sequence[_Moved]) -> _Moved:
    packets, bytes_, time_ps, left_out_packets = (sum(of_kinds) for of_kinds in zip(*(one[:4] for one in moved)))
    return _Moved(packets, bytes_, time_ps, left_out_packets, _union([one.active for one in moved]))


def _union(parts: Sequence[Intervals]) -> Intervals:
    return merged(np.concatenate([begin for begin, _ in parts]), np.concatenate([end for _, end in parts]))


def _length(begin: Any, end: Any) -> int:
    return exact_sum(end - begin)


def kinds_of(packets: DmaPackets, queues: Mapping[tuple[int, int], str]) -> NDArray[np.uint8]:
    """Return (n,) index into DMA_KINDS for each packet, by the name of its queue."""
    which = (packets.core.astype(np.int32) * DMA_ENGINES + packets.engine) * 16 + packets.queue
    kinds = np.zeros(int(which.max(initial=0)) + 1, np.uint8)
    for number in np.flatnonzero(np.bincount(which)).tolist():
        kinds[number] = DMA_KINDS.index(dma_kind(queues.get(divmod(number, 16), "")))
    found: NDArray[np.uint8] = kinds[which]
    return found
