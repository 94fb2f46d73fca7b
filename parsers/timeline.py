"""Puts the rows of a trace on one time axis, and computes the figures of a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from neff_bench.chips import CHIPS
from neff_bench.chips.engines import ENGINES
from neff_bench.parsers.clocks import Clock, synchronise
from neff_bench.parsers.container import EARLIER_EXECUTIONS, Container
from neff_bench.parsers.formats.ntff import (
    DMA_ENGINES,
    DMA_KINDS,
    IS_SEMAPHORE,
    SEMAPHORE,
    SIMULATED,
    THROTTLE,
    WRITERS,
    dma_kind,
)
from neff_bench.parsers.formats.opcodes import OPCODES, UNNAMED, names_by_byte
from neff_bench.parsers.records import exact_sum, merged
from neff_bench.parsers.rows import (
    OUTSIDE,
    RECORD,
    RawDma,
    RawInstructions,
    Records,
    decode_dma,
    decode_instructions,
    is_decoded,
    join,
    records_of,
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
    undecoded: Counter[str] = Counter(container.undecoded)
    for section in container.sections:
        if not is_decoded(section):
            undecoded[f"records of kind {section.kind}, unit {section.unit}"] += (
                section.records.size_bytes // RECORD.itemsize
            )
    rows, updates = decode_instructions(container, undecoded), records_of(container, SEMAPHORE)
    packets = decode_dma(container, undecoded)
    clocks = synchronise(container, rows, updates, packets)
    return _report(container, rows, updates, packets, clocks, undecoded)


def _report(
    container: Container,
    raw: Mapping[int, RawInstructions],
    raw_updates: Mapping[int, Records],
    raw_packets: Mapping[int, RawDma],
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
        event_count=len(updates.id) if container.window else sum(len(part.word) for part in raw_updates.values()),
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
                for core, part in (records_of(container, THROTTLE) if container.window else {}).items()
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
    raw: Mapping[int, RawInstructions],
    clocks: Mapping[int, Clock],
    names: tuple[str, ...],
    mhz: int | None,
    undecoded: Counter[str],
) -> Instructions:
    """Return the rows that lie in the execution, in ps since its start."""
    columns = []
    for core, rows in raw.items():
        clock, engine = clocks.get(core), rows.engine
        if clock is None:
            undecoded["instructions on a clock that was not found"] += len(engine)
            continue
        begin, end = clock.instruction_ps(engine, rows.begin), clock.instruction_ps(engine, rows.end)
        inside = _inside(clock, begin, end)
        if not clock.known.all():
            inside &= clock.known[engine]
            undecoded["instructions on a clock that was not found"] += int(np.count_nonzero(~clock.known[engine]))
        columns.append(_of_core(core, (engine, rows.pc, rows.opcode, begin, end - begin, rows.wait), inside))
    dtypes = (np.uint8, np.uint8, np.int32, np.uint8, np.int64, np.int64, np.uint16)
    core, engine, pc, opcode, begin_ps, duration_ps, wait = stack(columns, dtypes)
    # The report's own arithmetic, in single precision.
    wait_ns = (wait.astype(np.float32) / np.float32(mhz / 1000)).astype(np.int64) if mhz else None
    return Instructions(core, engine, pc, opcode, names, begin_ps, duration_ps, wait_ns)


def _inside(clock: Clock, begin: Any, end: Any) -> Any:
    """Return which intervals, in ps, lie in the execution."""
    inside = begin >= 0
    if clock.end_ps is not None:
        inside &= end <= clock.end_ps
    return inside


def _of_core(core: int, columns: Sequence[Any], inside: Any) -> list[Any]:
    """Return the core of each row, and the columns, of the rows that lie in the execution."""
    which = _where(inside)
    return [np.full(np.count_nonzero(inside), core, np.uint8), *(column[which] for column in columns)]


def _where(chosen: Any) -> Any:
    """Return what chooses the same rows as a mask, faster and, where it chooses all, without a copy."""
    return slice(None) if chosen.all() else np.flatnonzero(chosen)


def _updates_on_time_axis(raw: Mapping[int, Records], clocks: Mapping[int, Clock]) -> Semaphores:
    columns = []
    for core, updates in raw.items():
        clock, word = clocks.get(core), updates.word
        if clock is None:
            continue
        time = clock.semaphore_ps(updates.ticks)
        identifier, event, operation = word.astype(np.uint8), (word >> 8) & 255 != IS_SEMAPHORE, (word >> 16) & 255
        updated = (identifier, event, operation, updates.writer, updates.detail, time)
        columns.append(_of_core(core, updated, _inside(clock, time, time)))
    return Semaphores(*stack(columns, (np.uint8, np.uint8, np.bool_, np.uint8, np.uint8, np.uint32, np.int64)))


def _packets_on_time_axis(
    raw: Mapping[int, RawDma], clocks: Mapping[int, Clock], undecoded: Counter[str]
) -> DmaPackets:
    columns = []
    for core, packets in raw.items():
        clock, engine, queue = clocks.get(core), packets.engine, packets.queue
        if clock is None or clock.dma_offset is None:
            undecoded["DMA packets on a clock that was not found"] += len(engine)
            continue
        begin, end = clock.dma_ps(engine, packets.begin), clock.dma_ps(engine, packets.end)
        which = engine.astype(np.intp) << 4 | queue
        straddled = np.zeros(WRITERS * 16, bool)
        straddled[which[(begin < 0) & (end > 0)]] = True
        moved = (engine, queue, packets.bytes, begin, end - begin, ~straddled[which])
        columns.append(_of_core(core, moved, _inside(clock, begin, end)))
    return DmaPackets(*stack(columns, (np.uint8, np.uint8, np.uint8, np.int32, np.int64, np.int64, np.bool_)))


Intervals = tuple[Any, Any]
"""Begin and end of disjoint intervals."""


def _engine_time(rows: Instructions, work: Any, engine: int) -> tuple[EngineTime, Intervals]:
    """Return the times of an engine, and the intervals in which it works."""
    of_engine = rows.engine == engine
    working = _where(of_engine & work)
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
        reported = _where(packets.reported & (kinds == number))
        begin, duration = packets.begin_ps[reported], packets.duration_ps[reported]
        moved = exact_sum(packets.bytes[reported].astype(np.int64))
        active = merged(begin, begin + duration)
        found.append(_Moved(len(begin), moved, exact_sum(duration), count - len(begin), active))
    return found


def _of_all(moved: Sequence[_Moved]) -> _Moved:
    packets, bytes_, time_ps, left_out_packets = (sum(of_kinds) for of_kinds in zip(*(one[:4] for one in moved)))
    return _Moved(packets, bytes_, time_ps, left_out_packets, _union([one.active for one in moved]))


def _union(parts: Sequence[Intervals]) -> Intervals:
    begin, end = (np.concatenate(columns) for columns in zip(*parts))
    return merged(begin, end, kind="stable")


def _length(begin: Any, end: Any) -> int:
    return exact_sum(end - begin)


def kinds_of(packets: DmaPackets, queues: Mapping[tuple[int, int], str]) -> NDArray[np.uint8]:
    """Return (n,) index into DMA_KINDS for each packet, by the name of its queue."""
    kinds = np.full((256 * DMA_ENGINES, 16), DMA_KINDS.index(dma_kind("")), np.uint8)
    for (engine, queue), name in queues.items():
        if engine < len(kinds) and queue < 16:
            kinds[engine, queue] = DMA_KINDS.index(dma_kind(name))
    which = (packets.core.astype(np.intp) * DMA_ENGINES + packets.engine) * 16 + packets.queue
    found: NDArray[np.uint8] = kinds.take(which)
    return found
