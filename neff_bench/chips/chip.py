"""Says what a chip is to this project: its public names and sizes, and the constants of its timing model."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

from neff_bench.chips.dtypes import RATE
from neff_bench.chips.overheads import Overheads

_DOUBLE = 2.0
"""The rate of double_row; what is faster is MX."""


@dataclass(frozen=True)
class Chip:
    """One NeuronCore generation, seen from one physical core unless the name says otherwise. docs/glossary.md says what each constant means.

    The unit of each field is in its name; bandwidths are in bytes per ns, reported ones in bytes per second.
    sources, units: of each field.
    year: of the first instances. double_row: FP8 matmuls run at twice the rate. mx: those of scaled groups (MXFP8, MXFP4) run at four times.
    float8: NKI has the dtypes. one_clock: all engines count the same picoseconds in a trace.
    sbuf_reserved_bytes: what the compiler keeps of each partition. sbuf_fmax_bytes: what AWS's nl.tile_size names as usable.
    cores_per_device: physical cores.
    """

    name: str
    sources: dict[str, str] = field(repr=False, compare=False)
    units: dict[str, str] = field(repr=False, compare=False)
    overheads: Overheads = field(repr=False)
    year: int
    generation: int
    arch: str
    instance_type: str
    max_lnc: int
    double_row: bool
    mx: bool
    float8: bool
    one_clock: bool
    pe_rows: int
    pe_cols: int
    pe_clock_ghz: float
    scalar_clock_ghz: float
    gpsimd_clock_ghz: float
    vector_clock_ghz: float
    base_clock_ghz: float
    sbuf_partition_bytes: int
    sbuf_reserved_bytes: int
    sbuf_fmax_bytes: int
    psum_partition_bytes: int
    psum_bank_bytes: int
    hbm_bandwidth: float
    hbm_bandwidth_reported: float
    dma_bandwidth_reported: float
    dma_engines: int
    dma_engine_bandwidth: float
    dma_packet_ns: float
    dma_read_stall_ns: float
    dma_read_spread: float
    disabled_dge_read_stall: float
    dma_row_ns: float
    dma_element_ns: float
    dma_gathered_row_ns: float
    dma_convert_factor: float
    dma_transpose_hbm_rate: float
    dma_transpose_sbuf_rate: float
    dma_stagger_ns: float
    dma_read_stagger_ns: float
    dma_issue_ns: float
    dma_start_ns: float
    static_dma_issue_ns: float
    static_dma_start_ns: float
    software_dma_issue_ns: float
    software_dma_prepare_ns: float
    software_dma_start_ns: float
    software_dma_instruction_ns: float
    dma_semaphore_gap_ns: float
    dma_wait_ns: float
    dma_two_cores_ns: float
    semaphore_ns: float
    minimum_cycles: int
    pe_column_cycles: float
    pe_overhead_cycles: int
    pe_latency_ns: float
    pe_fill_cycles: int
    load_weights_ns: float
    load_weights_cycles: int
    throttle_window_ns: float
    throttle_factor: float
    throttle_utilization: float
    scalar_latency_ns: float
    scalar_function_latency_ns: float
    scalar_sbuf_latency_ns: float
    scalar_copy_overhead_ns: float
    scalar_sbuf_copy_latency_ns: float
    scalar_sbuf_copy_overhead_ns: float
    scalar_scattered_latency_ns: float
    scalar_sbuf_scattered_latency_ns: float
    scalar_overhead_ns: float
    scalar_sbuf_overhead_ns: float
    activation_table_load_ns: float
    vector_latency_ns: float
    vector_pair_latency_ns: float
    vector_scattered_latency_ns: float
    vector_overhead_ns: float
    vector_minimum_cycles: int
    vector_pointer_ns: float
    gpsimd_fixed_cycles: int
    gpsimd_latency_ns: float
    vector_fast_modes: bool
    barrier_ns: float
    execution_clock_ns: float
    execution_clock_spread_ns: float
    cores_per_device: int
    devices_per_server: int
    link_bandwidth: float
    collective_step_ns: float

    def hbm_ns(self, read_bytes: int, written_bytes: int, cores: int) -> float:
        """Return what these bytes of one core take of HBM, where so many cores share it."""
        return (read_bytes + written_bytes) * cores / self.hbm_bandwidth

    def dma_done_ns(self, cores: int) -> float:
        """Return the time from the last packet of a DMA to what waits for it, where so many cores of a logical core work."""
        return self.dma_wait_ns + (self.dma_two_cores_ns if cores > 1 else 0.0)

    def pe_stream_ns(self, columns: float) -> float:
        """Return how long columns move through the PE at full speed in one pass; at full speed pe_overhead_cycles come on top of all passes."""
        return columns * self.pe_column_cycles / self.pe_clock_ghz

    @property
    def sbuf_usable_bytes(self) -> int:
        """What a kernel may place in each partition of SBUF: all but the memory of dynamic DMAs. Before trn2 nothing is kept: AWS's compiler took
        kernels for trn1 that use more than `sbuf_fmax_bytes`.
        """
        return self.sbuf_partition_bytes - (self.sbuf_reserved_bytes if self.generation >= 3 else 0)

    @property
    def lncs(self) -> tuple[int, ...]:
        """Sizes that a logical core may have, in physical cores."""
        return tuple(range(1, self.max_lnc + 1))

    @property
    def cores_of_server(self) -> int:
        """Physical cores of the largest server: those that links connect."""
        return self.cores_per_device * self.devices_per_server

    @property
    def peak_flops(self) -> float:
        """Dense BF16 FLOP/s of one physical core, as profiles divide by: 2 x rows x columns x PE clock."""
        return 2.0 * self.pe_rows * self.pe_cols * self.pe_clock_ghz * 1e9

    def peak_tflops(self, dtype: str, lnc: int) -> float | None:
        """Return the matmul rate of a logical core at most, as profiles divide by; None for a dtype that the matrix unit does not take."""
        rate = RATE.get(dtype)
        if rate is None or (rate > _DOUBLE and not self.mx):
            return None
        return lnc * (self.peak_flops / 1e12) * (rate if self.double_row else min(rate, 1.0))

    @property
    def base_clock_mhz(self) -> int:
        """Clock of the cycles that profiles count."""
        return round(self.base_clock_ghz * 1000)


Fact = tuple[Any, str, str]
"""A value, its unit ("" for none) and its public origin."""


def chip(name: str, overheads: Overheads, **facts: Fact) -> Chip:
    """Return a chip of its own. Raises TypeError when a fact is missing or unknown."""
    values = {key: value for key, (value, _, _) in facts.items()}
    units = {key: unit for key, (_, unit, _) in facts.items()}
    sources = {key: source for key, (_, _, source) in facts.items()}
    return Chip(name=name, sources=sources, units=units, overheads=overheads, **values)


def like(other: Chip, name: str, overheads: Overheads | None = None, **facts: Fact) -> Chip:
    """Return a chip that differs from another in these facts. Raises TypeError for an unknown one."""
    inherited = {key: f"as {other.name}: {source}" for key, source in other.sources.items()}
    values: Any = {key: value for key, (value, _, _) in facts.items()}
    return replace(
        other,
        name=name,
        sources=inherited | {key: source for key, (_, _, source) in facts.items()},
        units=other.units | {key: unit for key, (_, unit, _) in facts.items()},
        overheads=overheads or other.overheads,
        **values,
    )


def facts_of(chip: Chip) -> list[tuple[str, Any, str, str]]:
    """Return name, value, unit and origin of each fact, in the order of the fields."""
    names = [known.name for known in fields(Chip) if known.name in chip.sources]
    return [(name, getattr(chip, name), chip.units[name], chip.sources[name]) for name in names]
