"""From the summaries of a profile to the numbers of a row."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from neff_bench.parsers.summary import Summary
    from neff_bench.parsers.trace import Ntff

US_PER_S = 1e6

TIMES_US = {
    "total_time_us": "total_time_s",
    "total_active_time_us": "total_active_time_s",
    "tensor_active_us": "tensor_engine_active_time_s",
    "vector_active_us": "vector_engine_active_time_s",
    "scalar_active_us": "scalar_engine_active_time_s",
    "gpsimd_active_us": "gpsimd_engine_active_time_s",
    "sync_active_us": "sync_engine_active_time_s",
    "dma_active_us": "dma_active_time_s",
    "fixed_overhead_us": "simulator_fixed_overhead_time_s",
}
"""Column → attribute of the summary, in seconds there."""

COUNTS = {
    "hardware_flops": "hardware_flops",
    "matmul_instruction_count": "matmul_instruction_count",
    "hbm_read_bytes": "hbm_read_bytes",
    "hbm_write_bytes": "hbm_write_bytes",
    "tensor_instruction_count": "tensor_engine_instruction_count",
    "vector_instruction_count": "vector_engine_instruction_count",
    "scalar_instruction_count": "scalar_engine_instruction_count",
    "gpsimd_instruction_count": "gpsimd_engine_instruction_count",
    "sync_instruction_count": "sync_engine_instruction_count",
}


TRACED_ENGINES = ("tensor", "vector", "scalar", "gpsimd", "sync")
PACKETS = ("static_dma_packet_count", "software_dynamic_dma_packet_count", "hardware_dynamic_dma_packet_count")
"""The three kinds of DMA packets; the profiler leaves out a kind that did not occur."""


def row_numbers(summaries: Sequence[Summary], *, model_flops: int | None, peak: float | None) -> dict[str, Any]:
    """Columns of a row from the summaries of its profiled executions.

    Each number is the median over the executions that have it; None where no execution has it. `peak`: TFLOPS.
    """
    numbers: dict[str, Any] = {"model_flops": model_flops, "executions": len(summaries)}
    for column, attribute in TIMES_US.items():
        seconds = _median(summaries, attrgetter(attribute))
        numbers[column] = None if seconds is None else seconds * US_PER_S
    for column, attribute in COUNTS.items():
        count = _median(summaries, attrgetter(attribute))
        numbers[column] = None if count is None else round(count)
    packets = _median(summaries, packet_count)
    numbers["dma_packet_count"] = None if packets is None else round(packets)
    estimated = _median(summaries, attrgetter("mfu_estimated_fraction"))
    numbers["mfu_estimated_percent"] = None if estimated is None else 100 * estimated
    totals = [summary.total_time_s for summary in summaries if summary.total_time_s is not None]
    numbers["total_time_iqr_us"] = interquartile_range(totals) * US_PER_S if len(totals) > 1 else None
    bytes_moved = numbers["hbm_read_bytes"], numbers["hbm_write_bytes"]
    return {**numbers, **derived(model_flops, peak, numbers["total_time_us"], *bytes_moved)}


def trace_numbers(traces: Sequence[Ntff], *, model_flops: int | None, peak: float | None) -> dict[str, Any]:
    """Columns of a row from traces that no tool has viewed: what our own NTFF reader can tell, medians as above."""
    found = [_trace_columns(trace) for trace in traces]
    numbers: dict[str, Any] = {"model_flops": model_flops, "executions": len(traces)}
    for column in dict.fromkeys(name for columns in found for name in columns):
        values = [value for columns in found if (value := columns.get(column)) is not None]
        middle = statistics.median(values) if values else None
        numbers[column] = round(middle) if middle is not None and column.endswith("_count") else middle
    return {**numbers, **derived(model_flops, peak, numbers.get("total_time_us"), None, None)}


def trace_notes(traces: Sequence[Ntff]) -> tuple[str, ...]:
    """What must be said about numbers that our own reader took from traces."""
    certainty = ", ".join(dict.fromkeys(trace.certainty for trace in traces))
    notes = [f"not viewed by a profiler; read from the trace by our own reader, certainty: {certainty}"]
    full = dict.fromkeys(kind for trace in traces for kind in trace.full_buffers)
    if full:
        notes.append(f"the device's buffers were full ({', '.join(full)}): the numbers are lower bounds")
    return tuple(notes)


def _trace_columns(trace: Ntff) -> dict[str, float | None]:
    columns: dict[str, float | None] = {
        "total_time_us": None if trace.total_time_s is None else trace.total_time_s * US_PER_S,
        "matmul_instruction_count": trace.matmul_instruction_count,
    }
    for engine in TRACED_ENGINES:
        if engine in trace.engines:
            columns[f"{engine}_active_us"] = trace.engines[engine].active_time_s * US_PER_S
    if trace.dma is not None:
        columns["dma_active_us"] = trace.dma.active_time_s * US_PER_S
        columns["dma_packet_count"] = trace.dma.packets
    return columns


def derived(
    model_flops: int | None,
    peak: float | None,
    total_time_us: float | None,
    read_bytes: int | None,
    write_bytes: int | None,
) -> dict[str, float | None]:
    """What we compute from the FLOPs of the case: MFU with the peak (TFLOPS) it is of, and arithmetic intensity."""
    mfu = 100 * model_flops / (peak * total_time_us * US_PER_S) if model_flops and peak and total_time_us else None
    moved = None if read_bytes is None and write_bytes is None else (read_bytes or 0) + (write_bytes or 0)
    return {
        "mfu_percent": mfu,
        "mfu_peak_tflops": peak,
        "arithmetic_intensity": model_flops / moved if model_flops and moved else None,
    }


def packet_count(summary: Summary) -> int | None:
    """DMA packets of all kinds; None when the summary counts none."""
    counts = [count for name in PACKETS if (count := getattr(summary, name)) is not None]
    return sum(counts) if counts else None


def interquartile_range(values: Sequence[float]) -> float:
    """Third minus first quartile (inclusive method) of at least two values."""
    first, _, third = statistics.quantiles(values, n=4, method="inclusive")
    return third - first


def _median(summaries: Sequence[Summary], read: Callable[[Summary], float | None]) -> float | None:
    values = [value for summary in summaries if (value := read(summary)) is not None]
    return statistics.median(values) if values else None
