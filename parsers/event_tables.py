"""One timeline of an execution, whichever file it came from: tables of instructions, DMA packets and semaphores under the profiler's keys.

Times are whole nanoseconds since the start of the execution, rounded down as AWS's report does it. From an NTFF alone the rows have neither
names nor source lines; those come from the NEFF (debug_info.py).
"""

from __future__ import annotations

import os
from pathlib import Path

from neff_bench.chips.engines import TITLES
from neff_bench.parsers.document import Document
from neff_bench.parsers.errors import ParseError, guarded
from neff_bench.parsers.event_rows import Dependence as Dependence
from neff_bench.parsers.event_rows import DmaRow as DmaRow
from neff_bench.parsers.event_rows import InstructionRow as InstructionRow
from neff_bench.parsers.event_rows import LinkedDmaRow as LinkedDmaRow
from neff_bench.parsers.event_rows import LinkedInstructionRow as LinkedInstructionRow
from neff_bench.parsers.event_rows import Predecessor as Predecessor
from neff_bench.parsers.event_rows import SemaphoreRow as SemaphoreRow
from neff_bench.parsers.event_rows import Timeline as Timeline
from neff_bench.parsers.event_rows import UsageRow as UsageRow
from neff_bench.parsers.formats.ntff import DMA_ENGINES, dma_kind
from neff_bench.parsers.kinds import kind_of
from neff_bench.parsers.profile_json import summary_of
from neff_bench.parsers.trace import Ntff


@guarded
def read_timeline(path: str | os.PathLike[str], neff: Path | None = None, linked: bool = False) -> Timeline:
    """The timeline of a trace (with names from its `neff`) or of a whole-profile JSON. Raises ParseError.

    `linked`: also read what depends on what, and the use of memory, where the file tells of it. It takes more memory.
    """
    kind = kind_of(path)
    if kind == "ntff":
        return _of_trace(path, neff)
    if kind == "json":
        return _of_json(path, linked)
    raise ParseError(path, None, f"a {kind} file has no timeline; expected an NTFF or a whole-profile JSON")


def _of_json(path: str | os.PathLike[str], linked: bool) -> Timeline:
    document = Document(path)
    if not document.has("instruction"):
        raise ParseError(path, 0, "no instruction table: a summary, not a whole profile")
    summary = document.row("summary")
    simulated = bool(summary_of(document).is_simulation)
    document.keep("instruction", "dma", "semaphore_update", "instruction_usage")
    usage = document.rows("instruction_usage", UsageRow) if linked else []
    instructions = document.rows("instruction", LinkedInstructionRow if linked else InstructionRow)
    document.keep("dma", "semaphore_update")
    dma = document.rows("dma", LinkedDmaRow if linked else DmaRow)
    semaphores = document.rows("semaphore_update", SemaphoreRow)
    return Timeline(os.fspath(path), simulated, summary, instructions, dma, semaphores, usage=usage)


def _of_trace(path: str | os.PathLike[str], neff: Path | None) -> Timeline:
    from neff_bench.parsers.container import read_container
    from neff_bench.parsers.debug_info import Labels, read_labels
    from neff_bench.parsers.timeline import assemble

    container = read_container(path)
    trace = assemble(container)
    labels: Labels = read_labels(neff, container) if neff is not None else {}
    cores = {core: f"sg{number:02d}" for number, core in enumerate(sorted({s.core for s in container.streams}))}
    rows = trace.instructions
    instructions, unnamed = [], 0
    waits = rows.wait_ns.tolist() if rows.wait_ns is not None else [0] * len(rows.pc)
    columns = (rows.core, rows.engine, rows.pc, rows.opcode, rows.begin_ps, rows.duration_ps)
    for core, engine, pc, opcode, begin, duration, wait in zip(*(column.tolist() for column in columns), waits):
        named = labels.get((core, engine), ())
        label = named[pc] if 0 <= pc < len(named) else None
        unnamed += bool(named) and label is None
        instructions.append(
            InstructionRow(
                timestamp=begin // 1000,
                duration=duration // 1000,
                evt_wait_time=wait,
                subgroup=TITLES[engine],
                subgraph=cores.get(core, ""),
                opcode=rows.opcode_names[opcode],
                pc=pc,
                bir_instruction_name=label.name if label else "",
                raw_bir_id=label.bir_id if label else 0,
                nki_source_location=label.source if label else None,
            )
        )
    instructions.sort(key=lambda row: row.timestamp)
    return Timeline(
        path=os.fspath(path),
        simulated=trace.certainty == "simulated",
        summary=_summary(trace),
        instructions=instructions,
        dma=_packets(trace, cores),
        semaphores=_updates(trace, cores),
        unnamed_count=unnamed if labels else None,
        notes=(f"read from the trace by our own reader, certainty: {trace.certainty}",),
    )


def _packets(trace: Ntff, cores: dict[int, str]) -> list[DmaRow]:
    """The packets that AWS's report has, in order of time."""
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
                queue_name=name,
                variable="unknown",
            )
        )
    return sorted(found, key=lambda row: row.timestamp)


def _updates(trace: Ntff, cores: dict[int, str]) -> list[SemaphoreRow]:
    """Semaphores, without events, which the report leaves out."""
    updates = trace.semaphores
    chosen = ~updates.event
    columns = (updates.core, updates.id, updates.value, updates.time_ps)
    found = [
        SemaphoreRow(time // 1000, str(number), value, cores.get(core, ""))
        for core, number, value, time in zip(*(column[chosen].tolist() for column in columns))
    ]
    return sorted(found, key=lambda row: row.timestamp)


def _summary(trace: Ntff) -> dict[str, object]:
    """The keys of the report that follow from the trace."""
    keys: dict[str, object] = {
        "total_time": trace.total_time_s,
        "total_active_time": trace.total_active_time_s,
        "neuroncore_cycle_count": trace.neuroncore_cycle_count,
        "event_count": trace.event_count,
        "trace_count": trace.trace_count,
        "matmul_instruction_count": trace.matmul_instruction_count,
        "activate_instruction_count": trace.activate_instruction_count,
        "dma_queue_count": len(trace.queues) or None,
        "instance_type": trace.instance_type,
    }
    for engine, time in trace.engines.items():
        keys[f"{engine}_engine_instruction_count"] = time.instruction_count
        keys[f"{engine}_engine_instruction_time"] = time.instruction_time_s
        keys[f"{engine}_engine_active_time"] = time.active_time_s
    if trace.dma is not None:
        keys |= {"dma_active_time": trace.dma.active_time_s, "dma_packet_time": trace.dma.packet_time_s}
    for kind, dma in trace.dma_kinds.items():
        keys[f"{kind}_dma_packet_count"], keys[f"{kind}_dma_size"] = dma.packets, dma.bytes
        keys[f"{kind}_dma_active_time"] = dma.active_time_s
    return {key: value for key, value in keys.items() if value is not None}
