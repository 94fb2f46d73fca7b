"""Computes the summary of a profile: counts and bytes of the program, times of its timeline, ratios by the profiler's formulas.

Keys that do not follow from a program and its timeline are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from neff_bench.installation import __version__
from neff_bench.parsers.formats.opcodes import OPCODES
from neff_bench.parsers.records import merged, union_length
from neff_bench.simulator.compiler.program.capacity import memory_peak
from neff_bench.simulator.costs.transfers import COLLECTIVES, Transfer
from neff_bench.simulator.program import ENGINES, Program
from neff_bench.simulator.timing.compared import uncompared
from neff_bench.simulator.timing.model import model_name, model_version
from neff_bench.simulator.timing.schedule import Schedule
from neff_bench.simulator.timing.stated_error import time_error, total_interval
from neff_bench.simulator.timing.timeline import Timeline

if TYPE_CHECKING:
    import numpy as np

SIMULATOR_NAME = "neff-bench neuron-sim"
_WAIT = OPCODES["EVENT_SEMAPHORE"]


def simulator_keys(program: Program, schedule: Schedule) -> dict[str, Any]:
    """Return what marks a profile as simulated; the same in `summary` and `metadata`. Times in seconds."""
    unknown = uncompared(program, schedule)
    found, chip = total_interval(program, schedule), schedule.chip
    total, between = schedule.total_ns, chip.execution_clock_ns
    spread = chip.execution_clock_spread_ns
    return {
        "is_simulation": True,
        "simulator_name": SIMULATOR_NAME,
        "simulator_version": __version__,
        "simulator_model": model_name(schedule.chip.name),
        "simulator_time_error": time_error(program, schedule, unknown),
        "simulator_uncompared_operations": "; ".join(unknown),
        # Kernels of the old dialect are those whose compiler keeps weights; a jax function is in neither dialect.
        "simulator_dialect": "" if program.from_hlo else "old" if program.keeps_weights else "current",
        "simulator_left_out_bytes": program.left_out_bytes,
        "simulator_fixed_overhead_time": schedule.fixed_ns * 1e-9,
        "simulator_semaphore_time": chip.semaphore_ns * 1e-9,
        "simulator_dma_done_time": chip.dma_done_ns(schedule.moving_cores) * 1e-9,
        "simulator_low_total_time": total * found.low * 1e-9,
        "simulator_high_total_time": total * found.high * 1e-9,
        "simulator_execution_time": max(total - between, 0.0) * 1e-9,
        "simulator_low_execution_time": max((total - between) * found.low - spread, 0.0) * 1e-9,
        "simulator_high_execution_time": ((total - between) * found.high + spread) * 1e-9,
    }


def summarise(
    program: Program, schedule: Schedule, timeline: Timeline, core_ids: Sequence[int] | None = None
) -> dict[str, Any]:
    """Return the `summary` record: times in seconds, `_percent` as fractions, bytes and FLOPs as integers. The peaks of SBUF and
    PSUM (`simulator_*_peak_bytes`, ours) are bytes of one partition, of the core that uses more; `simulator_collective_sent_bytes`, ours too, what the rank sends to others.
    `core_ids`: the physical cores, whose sum is
    `nc_idx` as in real summaries."""
    chip = schedule.chip
    total = timeline.total_ps / 1e12  # as our reader of traces divides, so that both say the same number
    summary: dict[str, Any] = {"total_time": total, "neuroncore_cycle_count": int(total * chip.base_clock_ghz * 1e9)}
    summary |= flops_and_bytes(program, schedule)
    moved = _moved(schedule, timeline)
    moving = _union([times for kind in moved for times in kind.active])
    summary |= _engines(timeline, moving)
    summary |= _dma(schedule, timeline, moved, moving)
    summary |= _collectives(program, schedule)
    events = sum(core.semaphore_updates for core in timeline.cores)
    rows = sum(len(core.instructions.pc) for core in timeline.cores) + sum(kind.packets for kind in moved)
    summary["event_count"] = events
    summary["trace_count"] = rows + events
    summary |= _ratios(program, schedule, summary)
    for key in [k for k in summary if k.endswith("_active_time")]:
        share = summary[key] / total
        if key.endswith(("dynamic_dma_active_time", "static_dma_active_time")):
            share = summary[key] / summary["dma_active_time"] if summary["dma_active_time"] else 0.0
        summary[f"{key}_percent"] = share
    summary |= {
        "instance_type": chip.instance_type,
        "compiler_version": f"neuron-sim {__version__}+sim",
        "profiler_version": f"neuron-sim {__version__}+sim.{model_version()}",
        "nd_idx": 0,
        "nc_idx": sum(core_ids if core_ids is not None else range(program.lnc)),
    }
    for peak in memory_peak(program):
        key = f"simulator_{peak.memory}_peak_bytes"
        summary[key] = max(summary.get(key, 0), peak.used_bytes)
    return summary | simulator_keys(program, schedule)


def flops_and_bytes(program: Program, schedule: Schedule) -> dict[str, Any]:
    """Return FLOPs, matmul instructions and bytes of the `summary` record: what does not depend on times."""
    return _flops(program, schedule) | _bytes(program, schedule)


def _flops(program: Program, schedule: Schedule) -> dict[str, Any]:
    codes = [core.code for core in schedule.cores]
    return {
        "model_flops": program.model_flops or 0,
        "hardware_flops": sum(int(code.flops.sum()) for code in codes),
        "transpose_flops": sum(int(code.flops[code.transpose].sum()) for code in codes),
        "matmul_instruction_count": sum(int((code.opcode == OPCODES["MATMUL"]).sum()) for code in codes),
    }


def _bytes(program: Program, schedule: Schedule) -> dict[str, Any]:
    """Return the bytes by memory. HBM bytes are those of DMAs. SBUF and PSUM bytes add, for each instruction, the bytes of one partition."""
    codes = [core.code for core in schedule.cores]
    moved = {
        name: sum(code.transfers.total(name) for code in codes)
        for name in ("hbm_read", "hbm_write", "sbuf_read", "sbuf_write", "psum_read", "psum_write")
    }
    inputs = sum(program.buffers[i].size_bytes for i in program.inputs)
    outputs = sum(program.buffers[i].size_bytes for i in program.outputs)
    weights = sum(b.size_bytes for b in program.buffers if b.kind == "constant")
    moves = sum(int((code.psum_read_sbuf_write > 0).sum()) for code in codes)
    return {
        "hbm_read_bytes": moved["hbm_read"],
        "hbm_write_bytes": moved["hbm_write"],
        "sbuf_read_bytes": moved["sbuf_read"] + sum(int(code.sbuf_read.sum()) for code in codes),
        "sbuf_write_bytes": moved["sbuf_write"] + sum(int(code.sbuf_write.sum()) for code in codes),
        "psum_read_bytes": moved["psum_read"] + sum(int(code.psum_read.sum()) for code in codes),
        "psum_write_bytes": moved["psum_write"] + sum(int(code.psum_write.sum()) for code in codes),
        "psum_read_sbuf_write_bytes": sum(int(code.psum_read_sbuf_write.sum()) for code in codes),
        "psum_read_sbuf_write_count": moves,
        "spill_save_bytes": program.spilled_bytes,
        "spill_reload_bytes": program.reloaded_bytes,
        "weight_size_bytes": weights,
        "inputs_and_weights_size_bytes": inputs + weights,
        "inputs_outputs_weights_size_bytes": inputs + outputs + weights,
    }


def _engines(timeline: Timeline, moving: tuple[np.ndarray, np.ndarray]) -> dict[str, Any]:
    """Return counts and times by engine. Waits (EVENT_SEMAPHORE) count as instructions but not as time; active time is the union over the cores. `moving`: when DMA
    engines are active, merged."""
    import numpy as np

    rows = [core.instructions for core in timeline.cores]
    engine, opcode, start, end = (
        np.concatenate([getattr(each, name) for each in rows]) for name in ("engine", "opcode", "start_ps", "end_ps")
    )
    counts = np.bincount(engine, minlength=len(ENGINES)).tolist()
    works = opcode != _WAIT
    summary: dict[str, Any] = {}
    for number, name in enumerate(ENGINES):
        mine = np.flatnonzero(works & (engine == number))
        summary[f"{name}_engine_instruction_count"] = counts[number]
        summary[f"{name}_engine_instruction_time"] = int((end[mine] - start[mine]).sum()) * 1e-12
        summary[f"{name}_engine_active_time"] = union_length(start[mine], end[mine]) * 1e-12
    functions = (opcode == OPCODES["ACTIVATE"]) | (opcode == OPCODES["ACTIVATE_REDUCE"])
    summary["activate_instruction_count"] = int(functions.sum())
    summary["activate_instruction_time"] = int((end - start)[functions].sum()) * 1e-12
    active = _union([(start[works], end[works]), moving])
    summary["total_active_time"] = int((active[1] - active[0]).sum()) * 1e-12
    return summary


@dataclass
class _Moved:
    """The packets of a kind of DMA. active: when they move, as disjoint intervals of each batch of packets."""

    packets: int = 0
    bytes: int = 0
    time_ps: int = 0
    active: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)


def _moved(schedule: Schedule, timeline: Timeline) -> list[_Moved]:
    """Return what each kind of DMA moved, by index of `_DMA_KINDS`. A program may have many packets for each of its instructions, so they are never all in memory."""
    import numpy as np

    found = [_Moved() for _ in _DMA_KINDS]
    for core, timed in zip(timeline.cores, schedule.cores, strict=True):
        # A fetch has the number -1, which finds the last element.
        of_transfer = np.append(timed.code.transfers.column(_kind), 0)
        for rows in core.packets():
            kinds = of_transfer[rows.transfer]
            there = np.flatnonzero(np.bincount(kinds)).tolist()
            for number in there:
                kind, mine = found[number], kinds == number if len(there) > 1 else slice(None)
                start, end = rows.start_ps[mine], rows.end_ps[mine]
                kind.packets += len(start)
                kind.bytes += int(rows.bytes[mine].sum())
                kind.time_ps += int((end - start).sum())
                kind.active.append(merged(start, end))
    return found


_DMA_KINDS = ("static", "software_dynamic", "hardware_dynamic")


def _kind(transfer: Transfer) -> int:
    return 0 if transfer.static else 1 if transfer.queue == 2 else 2


def _union(times: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Return the union as disjoint intervals."""
    import numpy as np

    return merged(*np.concatenate([np.empty((2, 0), np.int64), *times], axis=1))


def _dma(
    schedule: Schedule, timeline: Timeline, moved: Sequence[_Moved], moving: tuple[np.ndarray, np.ndarray]
) -> dict[str, Any]:
    """Return DMAs by kind: instruction fetch and descriptors made at compile time are static, other DMAs of GpSimd software dynamic, all
    others hardware dynamic."""
    active = int((moving[1] - moving[0]).sum()) * 1e-12
    summary: dict[str, Any] = {
        "dma_active_time": active,
        "dma_active_cycles": int(active * schedule.chip.base_clock_ghz * 1e9),
        "dma_packet_time": sum(kind.time_ps for kind in moved) * 1e-12,
        "dma_queue_count": sum(core.dma_queues() for core in timeline.cores),
    }
    packets, size = sum(kind.packets for kind in moved), sum(kind.bytes for kind in moved)
    for name, kind in zip(_DMA_KINDS, moved, strict=True):
        if not kind.packets:
            continue
        start, end = _union(kind.active)
        summary[f"{name}_dma_packet_count"] = kind.packets
        summary[f"{name}_dma_size"] = kind.bytes
        summary[f"{name}_dma_packet_percent"] = kind.packets / packets
        summary[f"{name}_dma_size_percent"] = kind.bytes / size
        summary[f"{name}_dma_active_time"] = int((end - start).sum()) * 1e-12
    return summary


def _collectives(program: Program, schedule: Schedule) -> dict[str, Any]:
    """Return the collectives of the rank, from their trigger to their end; nothing of a program without them. One that both cores share counts
    once."""
    import numpy as np

    count, sent, starts, ends = 0, 0, [], []
    for core, instructions in zip(schedule.cores, program.cores, strict=True):
        code = core.code
        if all(kind.queue != COLLECTIVES for kind, _ in code.transfers.used):
            continue
        queues = np.append(code.transfers.column(lambda one: one.queue), -1)
        mine = np.flatnonzero(queues[code.transfer] == COLLECTIVES)
        count += sum(instructions[at].attributes.get("half") != 1 for at in code.origin[mine].tolist())
        sent += int(code.transfers.column(lambda one: one.bytes)[code.transfer[mine]].sum())
        starts.append(np.rint(core.start_ns[mine] * 1000).astype(np.int64))
        ends.append(np.rint(core.done_ns[mine] * 1000).astype(np.int64))
    if not count:
        return {}
    return {
        "cc_op_count": count,
        "cc_op_time": sum(int((end - start).sum()) for start, end in zip(starts, ends, strict=True)) * 1e-12,
        "cc_op_active_time": union_length(np.concatenate(starts), np.concatenate(ends)) * 1e-12,
        "simulator_collective_sent_bytes": sent,
    }


def _ratios(program: Program, schedule: Schedule, summary: dict[str, Any]) -> dict[str, Any]:
    chip, cores = schedule.chip, len(schedule.cores)
    peak = summary["total_time"] * chip.peak_flops * cores
    ratio = chip.peak_flops / chip.hbm_bandwidth_reported
    useful = summary["hardware_flops"] - summary["transpose_flops"]
    moved = summary["hbm_read_bytes"] + summary["hbm_write_bytes"]
    inst, hlo = useful / peak, summary["model_flops"] / peak
    ratios: dict[str, Any] = {
        "hfu_estimated_percent": summary["hardware_flops"] / peak,
        "mfu_inst_estimated_percent": inst,
        "mfu_hlo_estimated_percent": hlo,
        "mfu_estimated_percent": hlo if program.model_flops else inst,
        "mbu_estimated_percent": moved / (summary["total_time"] * chip.hbm_bandwidth_reported),
        "mbu_min_read_util_percent": summary["inputs_and_weights_size_bytes"]
        / (summary["total_time"] * chip.hbm_bandwidth_reported),
        "peak_flops_bandwidth_ratio": ratio,
    }
    if moved:
        intensity = useful / moved
        best = min(1.0, intensity / (cores * ratio))
        best_hlo = min(1.0, summary["model_flops"] / moved / (cores * ratio))
        ratios |= {
            "mm_arithmetic_intensity": intensity,
            "mfu_inst_max_achievable_estimated_percent": best,
            "mfu_hlo_max_achievable_estimated_percent": best_hlo,
            "mfu_max_achievable_estimated_percent": best_hlo if program.model_flops else best,
        }
    return ratios
