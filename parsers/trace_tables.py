"""Makes the timeline of an NTFF. From the trace alone its rows have neither names nor source lines; those come from the NEFF (debug_info.py)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import msgspec

from neff_bench.chips.engines import ENGINES, TITLES
from neff_bench.parsers.document import decode
from neff_bench.parsers.event_rows import DmaRow, InstructionRow, SemaphoreRow, Timeline
from neff_bench.parsers.formats.neff import DEFINITION, ENGINE_FILES
from neff_bench.parsers.formats.ntff import DMA_ENGINES, SIMULATED, dma_kind
from neff_bench.parsers.neff import read_members
from neff_bench.parsers.trace import MEANING, Ntff
from neff_bench.parsers.trace_summary import sizes_of, summary_of_trace
from neff_bench.system.decoding import prepare


def timeline_of_trace(path: str | os.PathLike[str], neff: Path | None) -> Timeline:
    """Return the timeline of an NTFF, with names and lines from its `neff`. Raises ParseError."""
    from neff_bench.parsers.container import read_container
    from neff_bench.parsers.debug_info import Labels, read_labels
    from neff_bench.parsers.formats.neff import INSTRUCTION_BYTES
    from neff_bench.parsers.operands import operands_of
    from neff_bench.parsers.timeline import assemble

    container = read_container(path)
    trace = assemble(container)
    physical = sorted({stream.core for stream in container.streams})
    labels: Labels = read_labels(neff, container) if neff is not None else {}
    # The simulator numbers its semaphores another way.
    names = semaphore_names(neff, physical) if neff is not None and container.version != SIMULATED else {}
    cores = {core: f"sg{number:02d}" for number, core in enumerate(physical)}
    # The trace holds the streams as they were loaded, and the simulator's slots have no operands.
    streams = (
        {}
        if container.version == SIMULATED
        else {(one.core, one.engine): bytes(one.read()) for one in container.streams}
    )

    @cache
    def operands(core: int, engine: int, pc: int) -> str:
        slot = streams.get((core, engine), b"")[pc * INSTRUCTION_BYTES : (pc + 1) * INSTRUCTION_BYTES]
        return operands_of(slot, lambda number: names.get((core, number), f"$S[{number}]")) if slot else ""

    rows = trace.instructions
    instructions, unnamed = [], 0
    waits = rows.wait_ns.tolist() if rows.wait_ns is not None else [0] * len(rows.pc)
    columns = (rows.core, rows.engine, rows.pc, rows.opcode, rows.begin_ps, rows.duration_ps)
    for core, engine, pc, opcode, begin, duration, wait in zip(*(column.tolist() for column in columns), waits):
        # A NEFF may lack the debug information of an engine, and a trace may have instructions that no NEFF has.
        named = labels.get((core, engine))
        label, alignment = named.of(pc) if named is not None else (None, "")
        unnamed += alignment == "unaligned"
        instructions.append(
            InstructionRow(
                timestamp=begin // 1000,
                duration=duration // 1000,
                evt_wait_time=wait,
                subgroup=TITLES[engine],
                subgraph=cores.get(core, ""),
                opcode=rows.opcode_names[opcode],
                pc=pc,
                operands=operands(core, engine, pc),
                bir_instruction_name=label.name if label else "",
                raw_bir_id=label.bir_id if label else 0,
                nki_source_location=label.source if label else None,
                nki_call_stack=label.callers if label else (),
                alignment=alignment,
            )
        )
    # The records are grouped by core and engine; a timeline is in the order of time.
    instructions.sort(key=lambda row: row.timestamp)
    return Timeline(
        path=os.fspath(path),
        simulated=trace.certainty == "simulated",
        summary=summary_of_trace(trace) | (sizes_of(neff) if neff is not None else {}),
        instructions=instructions,
        dma=_packets(trace, cores),
        semaphores=_updates(trace, cores, names),
        unnamed_count=unnamed if labels else None,
        notes=(f"read by neff-bench, with no profiler; {MEANING[trace.certainty]}",),
    )


def _packets(trace: Ntff, cores: dict[int, str]) -> list[DmaRow]:
    """Return the packets that AWS's report has, in order of time."""
    packets = trace.dma_packets
    columns = (packets.core, packets.engine, packets.queue, packets.bytes, packets.begin_ps, packets.duration_ps)
    found = []
    for core, engine, queue, size, begin, duration in zip(*(column[packets.reported].tolist() for column in columns)):
        number = core * DMA_ENGINES + engine
        name = trace.queues.get((number, queue), "")
        kind = dma_kind(name)
        found.append(
            DmaRow(
                timestamp=begin // 1000,
                duration=duration // 1000,
                transfer_size=size,
                subgroup=f"Q{queue}-E{number}",
                subgraph=cores.get(core, ""),
                dma_engine=str(number),
                dma_queue=str(queue),
                queue_type=kind if kind != "static" else "data" if name else "instruction",
                queue_name=shown(name),
                variable="unknown",
            )
        )
    return sorted(found, key=lambda row: row.timestamp)


def _updates(trace: Ntff, cores: dict[int, str], names: Mapping[tuple[int, int], str]) -> list[SemaphoreRow]:
    """Return semaphores, without events, which the report leaves out."""
    updates = trace.semaphores
    chosen = ~updates.event
    columns = (updates.core, updates.id, updates.value, updates.time_ps)
    found = [
        SemaphoreRow(time // 1000, names.get((core, number), str(number)), value, cores.get(core, ""))
        for core, number, value, time in zip(*(column[chosen].tolist() for column in columns))
    ]
    return sorted(found, key=lambda row: row.timestamp)


ENGINES_IN_ORDER = ("gpsimd", "scalar", "tensor", "vector")
"""The order of the engines' semaphores; the report gives the next one no name."""


class _Queue(msgspec.Struct):
    semaphore_set: list[int] = []


class _Definition(msgspec.Struct):
    dma_queue: dict[str, _Queue] = {}
    runtime_semaphore_count: int | None = None


prepare(_Definition)


def semaphore_names(neff: Path, cores: Sequence[int]) -> Mapping[tuple[int, int], str]:
    """Return the name of each semaphore by core and number, as AWS's report writes it: `S[5] (Tensor)`, `S[8] (qSyncDynamicHW)`. Raises ParseError."""
    members = read_members(neff, {f"sg{number:02d}/{DEFINITION}" for number in range(len(cores))})
    names: dict[tuple[int, int], str] = {}
    for number, core in enumerate(cores):
        data = members.get(f"sg{number:02d}/{DEFINITION}")
        if data is None:
            continue
        found: _Definition = decode(str(neff), memoryview(data), _Definition)
        if found.runtime_semaphore_count is not None:
            for place, engine in enumerate(ENGINES_IN_ORDER, found.runtime_semaphore_count):
                names[core, place] = f"S[{place}] ({TITLES[ENGINES.index(engine)]})"
        for queue, definition in found.dma_queue.items():
            names |= {(core, place): f"S[{place}] ({shown(queue)})" for place in definition.semaphore_set}
    return names


def shown(queue: str) -> str:
    """Return `qSyncDynamicHW` for the compiler's `qSPDynamicHW`."""
    for engine, file, key in ENGINE_FILES:
        for name in (file, key.capitalize()):
            if queue.startswith(f"q{name}"):
                return f"q{TITLES[ENGINES.index(engine)]}{queue.removeprefix(f'q{name}')}"
    return queue
