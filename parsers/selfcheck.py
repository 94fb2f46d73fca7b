"""Recomputes a profile's derived figures from its own raw counters.

Formulas, found on 127 files of neuron-profile 2.27 and 2.28 (inf2, trn2), with P = 2 x rows x columns x tensor clock (FLOP/s of one physical
core), n = physical cores, T = `total_time`, or `neuroncore_cycle_count` over the core clock as tools from 2.29 on count it:
    mfu_inst = (hardware - transpose FLOPs) / (T n P)      hfu = hardware FLOPs / (T n P)      mfu_hlo = model FLOPs / (T n P)
    mfu_estimated = mfu_hlo with HLO statistics, else mfu_inst
    arithmetic intensity = (hardware - transpose FLOPs) / HBM bytes      mbu = HBM bytes / (T bandwidth), not times n
    ratio = P / bandwidth, of one core      maximum achievable = min(1, intensity / (n ratio))
    X_time_percent = X_time / T; of the DMA kinds over dma_active_time in older tools, over T in newer ones
Tools that write `adjusted_*_flops` (FLOPs weighted by dtype) use them in some of these places; where tool versions differ, the figure is
compared with the nearest of the two. A counter that is zero may be absent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from neff_bench.chips.engines import ENGINES
from neff_bench.parsers.metadata import Metadata
from neff_bench.parsers.summary import Summary

RELATIVE_TOLERANCE = 1e-6

OF_TOTAL = (*(f"{engine}_engine_active_time" for engine in ENGINES), "dma_active_time", "total_active_time")
CC_OF_TOTAL = ("cc_op_active_time", "cc_cores_instruction_active_time")
Derived = Iterator[tuple[str, tuple[float, ...]]]
"""Names of figures with the values that they may have."""
Flops = tuple[tuple[float, ...], tuple[float, ...]] | None

DMA_KINDS = ("static_dma", "software_dynamic_dma", "hardware_dynamic_dma")


@dataclass(frozen=True)
class Check:
    """One derived figure: what the file states and what its counters give."""

    name: str
    stated: float
    computed: float

    @property
    def agrees(self) -> bool:
        """Whether the stated and the computed figure are equal within RELATIVE_TOLERANCE."""
        return abs(self.stated - self.computed) <= RELATIVE_TOLERANCE * max(abs(self.stated), abs(self.computed))


def check(summary: Summary, metadata: Metadata) -> tuple[Check, ...]:
    """Return every figure that is stated and whose counters are there. Those that need the device's rates need `metadata`."""
    total_s = _total_time_s(summary, metadata)
    checks = [
        *_shares_of_time(summary, total_s),
        *_shares_of_dma(summary, total_s),
        *_intensity(summary, metadata),
        *_utilisation(summary, metadata, total_s),
    ]
    return tuple(
        Check(name, stated, min(candidates, key=lambda computed: abs(computed - stated)))
        for name, candidates in checks
        if (stated := getattr(summary, name)) is not None
    )


def _total_time_s(summary: Summary, metadata: Metadata) -> float | None:
    """Return the time base: whichever of the two bases gives the stated share of the active time; `total_time` when that does not tell."""
    total, cycles, clock = summary.total_time_s, summary.neuroncore_cycle_count, metadata.core_clock_hz
    active, share = summary.total_active_time_s, summary.total_active_time_fraction
    if total and cycles and clock and active and share:
        by_cycles = cycles / clock
        if (
            abs(active / by_cycles - share) < abs(active / total - share)
            and abs(active / total - share) > RELATIVE_TOLERANCE * share
        ):
            return by_cycles
    return total


def _shares_of_time(summary: Summary, total_s: float | None) -> Derived:
    for name in (*OF_TOTAL, *CC_OF_TOTAL):
        time_s = getattr(summary, f"{name}_s")
        if time_s is not None and total_s:
            yield f"{name}_fraction", (time_s / total_s,)


def _shares_of_dma(summary: Summary, total_s: float | None) -> Derived:
    active_s = summary.dma_active_time_s
    for kind in DMA_KINDS:
        time_s = getattr(summary, f"{kind}_active_time_s")
        if time_s is not None and active_s and total_s:
            yield f"{kind}_active_time_fraction", (time_s / active_s, time_s / total_s)
    for unit in ("packet_count", "size"):
        counts = [getattr(summary, f"{kind}_{unit}") for kind in DMA_KINDS]
        total = sum(count or 0 for count in counts)
        for kind, count in zip(DMA_KINDS, counts):
            if count is not None and total:
                yield f"{kind}_{unit.removesuffix('_count')}_fraction", (count / total,)


def _flops(summary: Summary) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
    """Return the hardware FLOPs, and those of them that are no transposes; raw, then adjusted where the tool adjusts."""
    if summary.hardware_flops is None:
        return None
    hardware, work = [float(summary.hardware_flops)], [float(summary.hardware_flops - (summary.transpose_flops or 0))]
    if summary.adjusted_hardware_flops is not None:
        hardware.append(float(summary.adjusted_hardware_flops))
        work.append(float(summary.adjusted_hardware_flops - (summary.adjusted_transpose_flops or 0)))
    return tuple(hardware), tuple(work)


def _hbm_bytes(summary: Summary) -> int | None:
    read, write = summary.hbm_read_bytes, summary.hbm_write_bytes
    return None if read is None and write is None else (read or 0) + (write or 0)


def _peak(metadata: Metadata) -> float | None:
    """Return FLOP/s of one physical core."""
    clock, rows, columns = metadata.tensor_clock_hz, metadata.tensor_rows, metadata.tensor_columns
    return 2 * rows * columns * clock if clock and rows and columns else None


def _intensity(summary: Summary, metadata: Metadata) -> Derived:
    flops, moved, peak = _flops(summary), _hbm_bytes(summary), _peak(metadata)
    if flops and moved:
        yield "mm_arithmetic_intensity", tuple(work / moved for work in flops[1])
    if not peak or not metadata.hbm_bytes_per_s:
        return
    ratio = peak / metadata.hbm_bytes_per_s
    yield "peak_flops_bandwidth_ratio", (ratio,)
    if moved and metadata.physical_cores:
        balanced = moved * metadata.physical_cores * ratio
        yield from _by_source(summary, flops, "max_achievable_estimated", lambda work: min(1.0, work / balanced))


def _utilisation(summary: Summary, metadata: Metadata, total_s: float | None) -> Derived:
    flops, moved, peak = _flops(summary), _hbm_bytes(summary), _peak(metadata)
    if not total_s:
        return
    if metadata.hbm_bytes_per_s:
        movable = total_s * metadata.hbm_bytes_per_s
        if moved is not None:
            yield "mbu_estimated_fraction", (moved / movable,)
        if summary.inputs_and_weights_size_bytes is not None:
            yield "mbu_min_read_util_fraction", (summary.inputs_and_weights_size_bytes / movable,)
    if peak and metadata.physical_cores:
        available = total_s * metadata.physical_cores * peak
        if flops:
            yield "hfu_estimated_fraction", tuple(hardware / available for hardware in flops[0])
        yield from _by_source(summary, flops, "estimated", lambda work: work / available)


def _by_source(summary: Summary, flops: Flops, figure: str, of_work: Callable[[float], float]) -> Derived:
    """Yield an MFU from the graph's FLOPs, one from the instructions' FLOPs, and the one of the two that the tool prefers."""
    by_graph = None if summary.model_flops is None else (of_work(summary.model_flops),)
    by_instructions = None if flops is None else tuple(of_work(work) for work in flops[1])
    preferred = by_graph if summary.model_flops else by_instructions
    for name, candidates in (("mfu_hlo", by_graph), ("mfu_inst", by_instructions), ("mfu", preferred)):
        if candidates is not None:
            yield f"{name}_{figure}_fraction", candidates
