"""Writes the profile JSON: `summary-json`, `summary-text` and the full `json` layout of `view`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

from neff_bench.chips.engines import TITLES
from neff_bench.parsers.formats.opcodes import NAMES, OPCODES
from neff_bench.parsers.records import merged
from neff_bench.simulator.compiler.code.assembler import Code
from neff_bench.simulator.compiler.program.columns import DTYPES, INDEX, Views, operand_names, table_of
from neff_bench.simulator.costs.transfers import start_ns
from neff_bench.simulator.files.neff import NeffContent
from neff_bench.simulator.files.usage import memory_use
from neff_bench.simulator.program import ENGINES, Instruction, Program
from neff_bench.simulator.timing.counters import simulator_keys, summarise
from neff_bench.simulator.timing.schedule import CoreSchedule, Schedule
from neff_bench.simulator.timing.sensitivity import INSTRUCTIONS_MAX, sensitivities
from neff_bench.simulator.timing.timeline import FETCH_QUEUE, CoreTimeline, Timeline

"""Names of the engines in profiles, by engine index."""
_EVENT_SEMAPHORE = OPCODES["EVENT_SEMAPHORE"]
_MATMUL = OPCODES["MATMUL"]
FIRST_DMA_ENGINE = 64
"""DMA engines carry these numbers in profiles of trn2 (E64 to E95)."""


def profile_id(neff: NeffContent) -> str:
    """Return the outer key of summary-json: n_ and 40 hex digits."""
    return "n_" + hashlib.sha1(neff.uuid + neff.hash, usedforsecurity=False).hexdigest()


def full_profile(
    neff: NeffContent, schedule: Schedule, timeline: Timeline, core_ids: Sequence[int], neff_name: str, ntff_name: str
) -> dict[str, Any]:
    """Return all tables of `view --output-format json`."""
    program = neff.program
    summary = summarise(program, schedule, timeline, core_ids)
    tables: dict[str, Any] = {
        "summary": [summary],
        "metadata": [_metadata(program, schedule, timeline)],
        "profile_info": [{
            "profile_name": ntff_name.rsplit("/", 1)[-1].removesuffix(".ntff"), "neff_name": neff_name,
            "ntff_filename": ntff_name, "cc_only": False, "profile_type": "normal",
            "profiler_version": summary["profiler_version"], "profiler_build_time": "1970-01-01T00:00:00Z",
        }],
        "neff_header": [_neff_header(neff)],
        "neff_node": list(_neff_nodes(program)),
        "model_info": [_model_info(schedule, core, c, core_ids[c]) for c, core in enumerate(timeline.cores)],
    }  # fmt: skip
    instructions: list[dict[str, Any]] = []
    dma: list[dict[str, Any]] = []
    active: list[dict[str, Any]] = []
    semaphores: list[dict[str, Any]] = []
    ham: list[dict[str, Any]] = []
    usage: list[dict[str, Any]] = []
    for c, (core, timed) in enumerate(zip(timeline.cores, schedule.cores, strict=True)):
        instructions += _instructions(program, schedule, core, timed, c)
        dma += _dma(program, core, timed, c, schedule.first[c])
        active += _active(core, c)
        semaphores += _semaphores(core, c)
        usage += _usage(program, timed, c)
        ham += [
            {"subgraph": f"sg{c:02d}", "timestamp": a // 1000, "duration": (b - a) // 1000, "k": 8, "n": 8, "type": 0}
            for a, b in core.warm_ps
        ]
    tables |= {
        "instruction": instructions,
        "dma": dma,
        "active_time": active,
        "semaphore_update": semaphores,
        "ham": ham,
        "sensitivity": sensitivity_table(program, schedule),
        "instruction_usage": usage,
        "layer_summary": [_layer(core, c) for c, core in enumerate(timeline.cores)],
        "warnings": [{"category": "Simulation", "message": f"Simulated, not measured. Time error: {summary['simulator_time_error']}"}],
    }  # fmt: skip
    return tables


def sensitivity_table(program: Program, schedule: Schedule) -> list[dict[str, Any]]:
    """Return what each constant would change; nothing for a program that it would take long for."""
    if sum(len(core) for core in program.cores) > INSTRUCTIONS_MAX:
        return []
    return [one._asdict() for one in sensitivities(program, schedule)]


def summary_text(key: str, summary: dict[str, Any]) -> str:
    """Return the text of `summary-text`: the profile's id, then one indented line for each value."""
    lines = [key]
    for name, value in summary.items():
        lines.append(f"    {name:<50}{value}")
    return "\n".join(lines) + "\n"


def _metadata(program: Program, schedule: Schedule, timeline: Timeline) -> dict[str, Any]:
    chip = schedule.chip
    total_ns = timeline.total_ps // 1000
    return {
        "first_ts": "1970-01-01T00:00:00Z",
        "last_ts": f"1970-01-01T00:00:{total_ns // 10**9 % 60:02d}.{total_ns % 10**9:09d}Z",
        "first_hw_timestamp": 0,
        "last_hw_timestamp": total_ns,
        "ntff_version": 6,
        "data_version": 8,
        "num_physical_cores": program.lnc,
        "num_subgraphs": program.lnc,
        "vnc_enabled": program.lnc > 1,
        "is_ext": True,
        "pe_clock_freq": chip.pe_clock_ghz,
        "pe_clock_others": chip.base_clock_ghz,
        "pe_num_rows": chip.pe_rows,
        "pe_num_cols": chip.pe_cols,
        "dma_ddr_bandwidth": int(chip.dma_bandwidth_reported),
        "hbm_ddr_bandwidth": int(chip.hbm_bandwidth_reported),
        "ticks_per_nanosec": 1000,
    } | simulator_keys(program, schedule)


def _neff_header(neff: NeffContent) -> dict[str, str]:
    return {
        "package_version": "2", "header_size": "1024", "data_size": str(neff.data_size), "major_version": "2",
        "minor_version": "0", "build_version": "", "number_of_logical_neuroncores": "1",
        "number_of_neuroncores_per_lnc": str(neff.program.lnc), "hash": neff.hash.hex(), "uuid": neff.uuid.hex(),
        "network_name": neff.name, "enabled_features": "virtual-core" if neff.program.lnc > 1 else "N/A",
    }  # fmt: skip


def _neff_nodes(program: Program) -> Iterator[dict[str, str]]:
    def node(index: int, kind: str) -> dict[str, str]:
        buffer = program.buffers[index]
        return {
            "variable_name": program.input_name(index) if kind == "IN" else buffer.name, "type": kind, "format": "NC", "sg_name": "",
            "shape": f"[{' '.join(map(str, buffer.shape))}]", "size": str(buffer.size_bytes),
        }  # fmt: skip

    for index in program.inputs:
        yield node(index, "IN")
    for index in program.outputs:
        yield node(index, "OUT")
    for index, buffer in enumerate(program.buffers):
        if buffer.kind == "constant":
            yield node(index, "WEIGHT")


def _model_info(schedule: Schedule, core: CoreTimeline, number: int, physical: int) -> dict[str, Any]:
    rows = core.instructions
    counts = {f"{name}_engine_instruction_count": int((rows.engine == e).sum()) for e, name in enumerate(ENGINES)}
    return {
        "sg_name": f"sg{number:02d}", "nc_idx": physical, "nd_idx": 0,
        "neuroncore_cycle_count": int(core.end_ps * 1e-3 * schedule.chip.base_clock_ghz),
        "event_count": len(core.semaphores.time_ps),
        "trace_count": len(rows.pc) + len(core.dma.bytes) + len(core.semaphores.time_ps),
        "dma_queue_count": len({*zip(core.dma.queue.tolist(), core.dma.engine.tolist(), strict=True)}),
    } | counts  # fmt: skip


def _instructions(
    program: Program, schedule: Schedule, core: CoreTimeline, timed: CoreSchedule, number: int
) -> Iterator[dict[str, Any]]:
    rows, code = core.instructions, timed.code
    instructions = program.cores[number]
    first = schedule.first[number]
    graph = f"sg{number:02d}"
    flags, operands = accumulation_flags(instructions, timed.code), operand_texts(program, number)
    columns = (rows.engine, rows.opcode, rows.index, rows.pc, rows.start_ps, rows.end_ps, rows.wait_ns)
    for engine, opcode, index, pc, start, end, wait in zip(*(c.tolist() for c in columns), strict=True):
        row: dict[str, Any] = {
            "timestamp": start // 1000,
            "duration": end // 1000 - start // 1000,
            "label": "TensorMatrix" if opcode == _MATMUL else TITLES[engine],
            "subgroup": TITLES[engine],
            "subgraph": graph,
            "fully_qualified_subgraph": f"/{graph}",
            "opcode": NAMES[opcode],
            "pc": pc,
            "id": first + index if index >= 0 else 1 << 48 | number << 40 | engine << 32 | pc,
            "evt_wait_time": round(wait),
            "operands": "",
            "instruction_type": "",
            "activation_fn": "",
        }
        if index < 0:
            row["alignment"] = "runtime"
        else:
            instruction = instructions[int(code.origin[index])]
            row["operands"] = operands[code.origin[index]] if opcode != _EVENT_SEMAPHORE else ""
            row["instruction_type"] = "TRANSPOSE" if code.transpose[index] else "REGULAR"
            row |= _origin(program, instruction)
            row["compiler_opcode"] = instruction.op
            row["predecessors"] = [
                {"id": first + int(p), "type": "FLOW_DEPENDENCE"}
                for p in code.waits[code.wait_start[index] : code.wait_start[index + 1]]
            ]
            if opcode == _MATMUL:
                row["elements"] = int(code.flops[index]) // 2
                row["operands"] += f" acc_flags={flags[index]}"
            if NAMES[opcode].startswith("ACTIVATE"):
                row["activation_fn"] = str(instruction.attributes.get("op", "")).upper()
            _add_bytes(row, timed, index)
            if (partner := int(schedule.partners[first + index])) >= 0:
                row["meets"] = partner
            if (transfer := int(code.transfer[index])) >= 0:
                row["dma_start_ns"] = round(start_ns(code.transfers[transfer], schedule.chip))
                row["dma_pace"] = timed.pace(transfer)
        yield row


def accumulation_flags(instructions: Sequence[Instruction], code: Code) -> dict[int, int]:
    """Return flags for each MATMUL, by its index in `code`: bit 0 where it overwrites PSUM (the first of its group), bit 1 where it is the
    last of its group. Where the kernel leaves it open, the first write of a region overwrites."""
    flags: dict[int, int] = {}
    open_groups: dict[int, dict[int, int]] = {}
    origin = code.origin.tolist()
    for index, (at, opcode) in enumerate(zip(origin, code.opcode.tolist())):
        instruction = instructions[at]
        if opcode != _MATMUL:
            if instruction.engine != "tensor":
                # Another engine's write ends the groups of that tile.
                for access in instruction.writes.values():
                    for before in open_groups.pop(access.buffer, {}).values():
                        flags[before] |= 2
            continue
        dst = instruction.writes["dst"]
        groups = open_groups.setdefault(dst.buffer, {})
        before = groups.get(dst.offset, -1)
        wanted = instruction.attributes.get("accumulate")
        if before >= 0 and origin[before] == at:
            starts = False
        elif instruction.op == "nc_transpose" or instruction.attributes.get("is_transpose"):
            starts = True
        else:
            starts = before < 0 if wanted is None else not wanted
        if starts and before >= 0:
            flags[before] |= 2
        flags[index] = int(starts)
        groups[dst.offset] = index
    for groups in open_groups.values():
        for index in groups.values():
            flags[index] |= 2
    return flags


def _add_bytes(row: dict[str, Any], timed: CoreSchedule, index: int) -> None:
    code = timed.code
    transfer = int(code.transfer[index])
    source = code.transfers[transfer] if transfer >= 0 else None
    for name in ("hbm_read", "hbm_write", "sbuf_read", "sbuf_write", "psum_read", "psum_write"):
        value = getattr(source, name) if source else int(getattr(code, name)[index]) if name[:3] != "hbm" else 0
        if value:
            row[f"{name}_bytes"] = value
    if code.psum_read_sbuf_write[index]:
        row["psum_read_sbuf_write_bytes"] = int(code.psum_read_sbuf_write[index])
        row["is_psum_read_sbuf_write"] = True


def operand_texts(program: Program, number: int) -> list[str]:
    """Return the operands and attributes of each instruction of core `number` as profiles write them."""
    import numpy as np

    table = table_of(program)
    columns, names = table.cores[number], operand_names(table.kinds)
    views = _view_texts(program, columns.views)
    is_operand = columns.role != INDEX
    keys = (columns.name.astype(np.int64) * len(views) + columns.view)[is_operand].tolist()
    words = {key: f"{names[key // len(views)]}={views[key % len(views)]}" for key in {*keys}}
    said = [words[key] for key in keys]
    starts = np.append(0, is_operand.cumsum())[columns.use_start].tolist()
    return [
        " ".join((*said[first:last], *[f"{name}={value}" for name, value in step.attributes.items()]))
        for step, (first, last) in zip(program.cores[number], pairwise(starts), strict=True)
    ]


def _view_texts(program: Program, views: Views) -> list[str]:
    steps, sizes = views.step.tolist(), views.length.tolist()
    patterns = [
        _pattern(tuple(steps[first:last]), tuple(sizes[first:last]))
        for first, last in pairwise(views.pattern_start.tolist())
    ]
    places = [f"@{buffer.memory}:{buffer.name}+" for buffer in program.buffers]
    columns = (column.tolist() for column in (views.dtype, views.buffer, views.offset, views.pattern))
    return [
        f"{DTYPES[dtype]}{places[buffer]}{offset}{patterns[pattern]}"
        for dtype, buffer, offset, pattern in zip(*columns)
    ]


@lru_cache(maxsize=4096)  # the instructions of a loop share a few
def _pattern(steps: tuple[int, ...], sizes: tuple[int, ...]) -> str:
    return f"[{','.join(map(str, steps))}][{','.join(map(str, sizes))}]"


def _dma(
    program: Program, core: CoreTimeline, timed: CoreSchedule, number: int, first: int
) -> Iterator[dict[str, Any]]:
    rows, code = core.dma, timed.code
    trigger = {int(t): i for i, t in enumerate(code.transfer.tolist()) if t >= 0}
    columns = (rows.transfer, rows.engine, rows.queue, rows.bytes, rows.start_ps, rows.end_ps)
    described = [_transfer_row(program, program.cores[number][int(code.origin[trigger[t]])], first + trigger[t])
                 for t in range(len(code.transfers))]  # fmt: skip
    for index, (transfer, engine, queue, size, start, end) in enumerate(
        zip(*(c.tolist() for c in columns), strict=True)
    ):
        row: dict[str, Any] = {
            "timestamp": start // 1000,
            "duration": end // 1000 - start // 1000,
            "transfer_size": size,
            "read_size": size,
            "write_size": size,
            "transfer_rate": size * 10**12 / max(end - start, 1),
            "dma_queue": str(queue),
            "dma_engine": str(FIRST_DMA_ENGINE + 16 * number + engine),
            "subgroup": f"Q{queue}-E{FIRST_DMA_ENGINE + 16 * number + engine}",
            "subgraph": f"sg{number:02d}",
            "queue_type": queue_type(transfer, queue, transfer >= 0 and code.transfers[transfer].static),
            "semaphore_id": "-1" if transfer < 0 else str(8 + transfer % 248),
            "aggregated": "no",
            "duplicate": "no",
            "is_cc_dma": "no",
            "op": "",
            "packet_idx": index,
            "id": (number << 40) | index,
        }
        row |= described[transfer] if transfer >= 0 else {"variable": "unknown"}
        yield row


def _transfer_row(program: Program, instruction: Instruction, index: int) -> dict[str, Any]:
    names = {
        "source": [[program.buffers[a.buffer].name] for a in instruction.reads.values()],
        "dest": [program.buffers[a.buffer].name for a in instruction.writes.values()],
    }
    hbm = [
        program.buffers[a.buffer].name
        for a in (*instruction.reads.values(), *instruction.writes.values())
        if program.buffers[a.buffer].memory == "hbm"
    ]
    return {**names, "variable": hbm[0] if hbm else "unknown", "trigger": index} | _origin(program, instruction)


def _origin(program: Program, instruction: Instruction) -> dict[str, Any]:
    """Return the kernel's innermost line and those that called it, outermost first, or the HLO instruction and its layer ("_dot.3")."""
    text = program.sources[instruction.source]
    if not program.from_hlo:
        callers = program.call_stack(instruction.source)
        return {"nki_source_location": text} | ({"nki_call_stack": list(callers)} if callers else {})
    return {"hlo_name": text, "layer": text.split(" ")[0].replace("%", "_")}


def queue_type(transfer: int, queue: int, static: bool) -> str:
    """Return the profiler's word for a queue. `transfer`: -1 is the fetch of instructions."""
    if static:
        return "data"
    if queue == FETCH_QUEUE or transfer < 0:
        return "instruction"
    return "software_dynamic" if queue == 2 else "hardware_dynamic"


def _active(core: CoreTimeline, number: int) -> Iterator[dict[str, Any]]:
    rows = core.instructions
    work = rows.opcode != _EVENT_SEMAPHORE
    intervals: list[tuple[str, Any]] = [
        (name, merged(rows.start_ps[mine], rows.end_ps[mine]))
        for name, mine in ((name, work & (rows.engine == e)) for e, name in enumerate(ENGINES))
    ]
    intervals.append(("dma", merged(core.dma.start_ps, core.dma.end_ps)))
    for name, (starts, ends) in intervals:
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            yield {
                "engine": name, "start_ts": start // 1000, "end_ts": end // 1000,
                "duration_ns": end // 1000 - start // 1000, "pcore_idx": number, "subgraph": f"sg{number:02d}",
            }  # fmt: skip


def _usage(program: Program, timed: CoreSchedule, number: int) -> Iterator[dict[str, Any]]:
    names = {"sbuf": "sb", "psum": "psum"}
    for use in memory_use(program, number, timed):
        yield {
            "timestamp": use.time_ps // 1000,
            "type": names[use.memory],
            "usage_avg": use.fraction,
            "subgraph": f"sg{number:02d}",
        }


def _semaphores(core: CoreTimeline, number: int) -> Iterator[dict[str, Any]]:
    rows = core.semaphores
    columns = (rows.semaphore, rows.value, rows.engine, rows.time_ps)
    for semaphore, value, engine, time in zip(*(c.tolist() for c in columns), strict=True):
        who = TITLES[engine] if engine < 5 else "DMA"
        yield {
            "subgraph": f"sg{number:02d}",
            "id": f"S[{semaphore}] ({who})",
            "value": value,
            "timestamp": time // 1000,
        }


def _layer(core: CoreTimeline, number: int) -> dict[str, Any]:
    rows = core.instructions
    row: dict[str, Any] = {
        "name": f"/sg{number:02d}", "fully_qualified_subgraph": f"/sg{number:02d}",
        "start": int(rows.start_ps.min()) // 1000, "end": core.end_ps // 1000, "duration": core.end_ps // 1000,
    }  # fmt: skip
    work = rows.opcode != _EVENT_SEMAPHORE
    for e, name in enumerate(ENGINES):
        mine = work & (rows.engine == e)
        starts, ends = merged(rows.start_ps[mine], rows.end_ps[mine])
        row[f"{name}_engine_active_time"] = int((ends - starts).sum()) // 1000
        row[f"{name}_engine_instruction_count"] = int((rows.engine == e).sum())
    return row
