"""Chip constants: one table, each value with its public origin.

Times in nanoseconds, rates in GHz (cycles per ns) or GB/s (bytes per ns), sizes in bytes. `SOURCES` says for each
field where its values come from; nothing here was fitted to a kernel's total time.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from neff_bench.simulator.errors import SimulatorError


@dataclass(frozen=True)
class Chip:
    """One NeuronCore generation, seen from one physical core unless the name says otherwise."""

    name: str
    arch: str
    instance_type: str
    max_lnc: int
    pe_rows: int
    pe_cols: int
    pe_clock_ghz: float
    scalar_clock_ghz: float
    gpsimd_clock_ghz: float
    vector_clock_ghz: float
    base_clock_ghz: float
    sbuf_partition_bytes: int
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
    dma_row_ns: float
    dma_convert_factor: float
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
    dma_wait_ns: float
    semaphore_ns: float
    minimum_cycles: int
    pe_overhead_cycles: int
    pe_latency_ns: float
    pe_fill_cycles: int
    load_weights_ns: float
    load_weights_cycles: int
    throttle_window_ns: float
    throttle_factor: float
    throttle_warm_utilization: float
    throttle_cold_utilization: float
    scalar_latency_ns: float
    scalar_function_latency_ns: float
    scalar_overhead_ns: float
    activation_table_load_ns: float
    vector_latency_ns: float
    vector_overhead_ns: float
    vector_pointer_ns: float
    gpsimd_fixed_cycles: int
    gpsimd_latency_ns: float
    vector_fast_modes: bool
    barrier_ns: float

    @property
    def peak_flops(self) -> float:
        """Dense BF16 FLOP/s of one physical core, as profiles divide by: 2 x rows x columns x PE clock."""
        return 2.0 * self.pe_rows * self.pe_cols * self.pe_clock_ghz * 1e9


_ARCH = "AWS docs nki/guides/architecture/{trainium_inferentia2,trainium2,trainium3}_arch.rst"
_TRN2 = "measured: NTFF of github allenkchau/trainium-kernel-fusion @d709ddf1 (trn2, profiler 2.28); trn3 copies trn2"
_INF2 = "measured: NTFF of github AnchovyPark/npu_profiling_code @2a956420 (inf2, profiler 2.27)"
_COST = "AWS docs 2.26 general/nki/api/nki/isa/__init__.py, cost tables"

SOURCES: dict[str, str] = {
    "arch": "kelf-0.json `target` of NEFF files: cayman in trn2 files of github aws-neuron/nkipy; sunda, mariana by name",
    "instance_type": "AWS instance families",
    "max_lnc": "AWS docs logical-neuroncore-config.rst",
    "pe_rows": _ARCH,
    "pe_cols": _ARCH,
    "pe_clock_ghz": f"{_ARCH}; profile metadata pe_clock_freq",
    "scalar_clock_ghz": _ARCH,
    "gpsimd_clock_ghz": _ARCH,
    "vector_clock_ghz": _ARCH,
    "base_clock_ghz": "profile metadata pe_clock_others; neuroncore_cycle_count / total_time",
    "sbuf_partition_bytes": _ARCH,
    "psum_partition_bytes": _ARCH,
    "psum_bank_bytes": _ARCH,
    "hbm_bandwidth": f"{_ARCH}: one stack, which two cores of trn2 and trn3 share (2.9 TB/s / 4, 4.7 TB/s / 4) and one core"
    " of trn1 has to itself (820 GB/s / 2); profile metadata hbm_ddr_bandwidth",
    "hbm_bandwidth_reported": "profile metadata hbm_ddr_bandwidth (410e9, 716e9); trn3 derived from mbu of"
    " SemiAnalysisAI/InferenceX trn3_lnc2_gemm profiles",
    "dma_bandwidth_reported": "profile metadata dma_ddr_bandwidth",
    "dma_engines": "AWS docs nki/deep-dives/nki-dma-bandwidth-guide.rst",
    "dma_engine_bandwidth": f"{_TRN2}: packet spacing 4.5 ns + bytes/27; {_INF2}; trn3: docs 38.4 x 27/27.2",
    "dma_packet_ns": f"{_TRN2}: packet spacing 4.5 ns + bytes/27",
    "dma_read_stall_ns": f"{_TRN2}: where HBM is read through descriptors made at run time, the packets of a DMA engine last 55 ns +"
    " 24 % longer than their spacing (least squares of 30 reads); each DMA engine another share, from none to twice the mean."
    " With descriptors made at compile time: none",
    "dma_read_spread": "as dma_read_stall_ns; AWS docs nki-dma-bandwidth-guide.rst: 23 of 27.2 B/ns in practice",
    "dma_row_ns": f"{_TRN2}: 4 KiB packets that software descriptors gather from 8 or 16 rows take 222 and 281 ns, not 156",
    "dma_convert_factor": f"{_TRN2}: 256-byte packets of a DMA from float32 to bfloat16 come 28 ns apart, of one that copies 14;"
    f" {_INF2}: 1 KiB packets from float32 to float16 79 ns, 42 without",
    "dma_stagger_ns": f"{_TRN2}: the 16 DMA engines begin a transfer one after the other within 150 ns",
    "dma_read_stagger_ns": f"{_TRN2}: where they read HBM through descriptors made at run time, within 183-713 ns, 340 in the mean of 14"
    " reads that found the DMA engines idle",
    "dma_issue_ns": f"{_TRN2}: DMA_DIRECT2D holds SP or ACT 541-613 ns, median 572; {_INF2}: 649",
    "dma_start_ns": f"{_TRN2}: hardware DGE, trigger to first packet 1.33-1.35 us; {_INF2}: 190-240 ns",
    "static_dma_issue_ns": f"{_INF2}: a DMA with descriptors made at compile time is started by a WRITE of 37 ns",
    "static_dma_start_ns": f"{_INF2}: that WRITE to the first packet 266 ns",
    "software_dma_issue_ns": f"{_TRN2}: spacing of DMA_DIRECT2D on GpSimd 582-586 ns; {_INF2}: 649",
    "software_dma_prepare_ns": f"{_TRN2}: DMA_DIRECT2D on GpSimd starts 1191-1204 ns after the end of what it waits for, and 1177-1182 ns"
    f" after GpSimd enters the kernel (5 + 5 DMAs), less semaphore_ns; {_INF2}: 655 ns (4 of 4)",
    "software_dma_start_ns": f"{_TRN2}: GpSimd trigger to first packet 0.77 us (first), docs about 1.3; {_INF2}",
    "software_dma_instruction_ns": f"{_TRN2}: DMA_DIRECT2D on GpSimd lasts 31-75 ns; {_INF2}: 0",
    "dma_wait_ns": f"{_TRN2}: last packet to waiter 341-473 ns, median 380; {_INF2}: 345-545",
    "semaphore_ns": f"{_INF2}: engine to engine 36-41 ns, median 38 (112 runs); other chips copy it",
    "minimum_cycles": f"{_COST}: MIN_II about 64 cycles",
    "pe_overhead_cycles": f"{_TRN2}: 512 columns take 216 ns = 512 + 6 cycles, 128 take 55.8",
    "pe_latency_ns": f"{_TRN2}: MATMUL lasts columns/clock + 160 ns at full clock, + 207 at half: 107 fixed + 128 cycles; {_INF2}: 144",
    "pe_fill_cycles": "as pe_latency_ns: the depth of the array, 128 rows",
    "load_weights_ns": f"{_TRN2}: LDWEIGHTS 96-105 ns; {_INF2}: 82-84",
    "load_weights_cycles": f"{_ARCH}: fast LoadStationary, up to 4 columns a cycle: 128/4",
    "throttle_window_ns": f"{_TRN2}: `ham` rows last multiples of 3413 ns (4096 base cycles); AWS docs say 3 us",
    "throttle_factor": "as throttle_window_ns: PE at 50 %; confirmed by MATMUL spacing 426 against 216 ns on trn2; none in"
    " the inf2 traces",
    "throttle_warm_utilization": f"{_TRN2}: a window with the PE 74 % busy did not end the throttle, five with 95 % and more did",
    "throttle_cold_utilization": "AWS docs tools/neuron-explorer/overview-summary-page.rst: re-armed under 50 %",
    "scalar_latency_ns": f"{_TRN2}: COPY 586 ns at 512 columns = columns/clock + 158; {_INF2}: 87-157",
    "scalar_function_latency_ns": f"{_TRN2}: ACTIVATE EXP = columns/clock + 260..280; {_INF2}: 157",
    "scalar_overhead_ns": f"{_TRN2}: ACTIVATE EXP spacing 570 ns at 512 columns = columns/clock + 143",
    "activation_table_load_ns": f"{_TRN2}: ACT_TABLE_LOAD 1283 ns; {_INF2}: 368",
    "vector_latency_ns": f"{_TRN2}: smallest instruction 157 ns, COPY PSUM columns/clock + 157",
    "vector_overhead_ns": f"{_TRN2}: TENSOR_REDUCE spacing 598 ns at 512 columns = columns/clock + 65",
    "vector_pointer_ns": f"{_TRN2}: TENSOR_SCALAR with a per-partition operand lasts columns/clock + 215 against 157",
    "gpsimd_fixed_cycles": f"{_COST}: iota, affine_select 150 + N",
    "gpsimd_latency_ns": f"{_COST}: engine static overhead about 100 cycles",
    "vector_fast_modes": f"{_ARCH}: DVE 2x/4x modes from NeuronCore-v3",
    "barrier_ns": f"{_TRN2}: EVENT_SEMAPHORE hand-over between the cores in the preamble, 0.3-0.5 us",
}

_TRN2_CHIP = Chip(
    name="trn2",
    arch="cayman",
    instance_type="trn2.3xlarge",
    max_lnc=2,
    pe_rows=128,
    pe_cols=128,
    pe_clock_ghz=2.4,
    scalar_clock_ghz=1.2,
    gpsimd_clock_ghz=1.2,
    vector_clock_ghz=0.96,
    base_clock_ghz=1.2,
    sbuf_partition_bytes=224 * 1024,
    psum_partition_bytes=16 * 1024,
    psum_bank_bytes=2048,
    hbm_bandwidth=716.0,
    hbm_bandwidth_reported=716e9,
    dma_bandwidth_reported=435e9,
    dma_engines=16,
    dma_engine_bandwidth=27.0,
    dma_packet_ns=4.5,
    dma_read_stall_ns=110.0,
    dma_read_spread=0.47,
    dma_row_ns=9.0,
    dma_convert_factor=2.0,
    dma_stagger_ns=10.0,
    dma_read_stagger_ns=22.7,
    dma_issue_ns=572.0,
    dma_start_ns=1340.0,
    static_dma_issue_ns=37.0,
    static_dma_start_ns=266.0,
    software_dma_issue_ns=583.0,
    software_dma_prepare_ns=1155.0,
    software_dma_start_ns=770.0,
    software_dma_instruction_ns=50.0,
    dma_wait_ns=380.0,
    semaphore_ns=38.0,
    minimum_cycles=64,
    pe_overhead_cycles=6,
    pe_latency_ns=107.0,
    pe_fill_cycles=128,
    load_weights_ns=100.0,
    load_weights_cycles=32,
    throttle_window_ns=3413.3,
    throttle_factor=2.0,
    throttle_warm_utilization=0.8,
    throttle_cold_utilization=0.5,
    scalar_latency_ns=158.0,
    scalar_function_latency_ns=270.0,
    scalar_overhead_ns=143.0,
    activation_table_load_ns=1283.0,
    vector_latency_ns=157.0,
    vector_overhead_ns=65.0,
    vector_pointer_ns=58.0,
    gpsimd_fixed_cycles=150,
    gpsimd_latency_ns=83.0,
    vector_fast_modes=True,
    barrier_ns=400.0,
)

_INF2_CHIP = replace(
    _TRN2_CHIP,
    name="inf2",
    arch="sunda",
    instance_type="inf2.xlarge",
    max_lnc=1,
    pe_clock_ghz=2.8,
    scalar_clock_ghz=1.4,
    gpsimd_clock_ghz=1.4,
    vector_clock_ghz=1.12,
    base_clock_ghz=1.4,
    sbuf_partition_bytes=192 * 1024,
    hbm_bandwidth=410.0,
    hbm_bandwidth_reported=410e9,
    dma_issue_ns=649.0,
    dma_start_ns=215.0,
    software_dma_issue_ns=649.0,
    software_dma_prepare_ns=617.0,
    software_dma_start_ns=215.0,
    software_dma_instruction_ns=0.0,
    dma_wait_ns=445.0,
    throttle_factor=1.0,
    pe_latency_ns=98.0,
    load_weights_ns=83.0,
    scalar_latency_ns=122.0,
    scalar_function_latency_ns=157.0,
    activation_table_load_ns=368.0,
    vector_fast_modes=False,
)

CHIPS: dict[str, Chip] = {
    "trn1": replace(_INF2_CHIP, name="trn1", instance_type="trn1.2xlarge"),
    "inf2": _INF2_CHIP,
    "trn2": _TRN2_CHIP,
    "trn3": replace(
        _TRN2_CHIP,
        name="trn3",
        arch="mariana",
        instance_type="trn3.3xlarge",
        vector_clock_ghz=1.2,
        sbuf_partition_bytes=256 * 1024,
        hbm_bandwidth=1178.0,
        hbm_bandwidth_reported=1178e9,
        dma_engine_bandwidth=38.1,
    ),
}


def chip_for(target: str) -> Chip:
    """Raises SimulatorError for a target that is not in the table."""
    try:
        return CHIPS[target]
    except KeyError:
        raise SimulatorError(f"unknown target {target!r}: expected one of {', '.join(CHIPS)}") from None


_NO_EFFECT = ("_reported", "_bank_bytes", "max_lnc", "pe_rows", "pe_cols", "base_clock_ghz")
"""Ends of the names of constants that the schedule does not use."""

_LOWEST = {
    "dma_engines": 2.0,
    "throttle_window_ns": 1.0,
    "throttle_factor": 0.01,
    "hbm_bandwidth": 0.01,
    "dma_engine_bandwidth": 0.01,
    "pe_clock_ghz": 0.001,
    "vector_clock_ghz": 0.001,
    "scalar_clock_ghz": 0.001,
    "gpsimd_clock_ghz": 0.001,
}
"""What the schedule divides by, or steps by, must not be zero."""


def what_if(chip: Chip, change: str) -> Chip:
    """The chip with one constant changed: `name=value` or `name=2x` (a multiple). Raises SimulatorError."""
    name, _, text = change.partition("=")
    constants = {f.name: getattr(chip, f.name) for f in fields(Chip)}
    numeric = [
        key
        for key, value in constants.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool) and not key.endswith(_NO_EFFECT)
    ]
    if name not in numeric:
        raise SimulatorError(f"--what-if {change}: unknown constant {name!r}: expected one of {', '.join(numeric)}")
    old = constants[name]
    try:
        value = old * float(text[:-1]) if text.endswith("x") else float(text)
    except ValueError:
        raise SimulatorError(f"--what-if {change}: expected {name}=NUMBER or {name}=FACTORx") from None
    # A program that no longer fits would be told the wrong story: what finds no memory waits for none.
    lowest = old if name.endswith("_partition_bytes") else _LOWEST.get(name, 0.0)
    if not lowest <= value < float("inf"):
        raise SimulatorError(f"--what-if {change}: the value must be at least {lowest:g}")
    changed: Any = {name: round(value) if isinstance(old, int) else value}
    return replace(chip, **changed)


def constant_lines(chip: Chip) -> list[str]:
    """Each constant, its value and where it comes from."""
    return [f"{f.name:<28}{getattr(chip, f.name)!s:>14}  {SOURCES[f.name]}" for f in fields(Chip) if f.name in SOURCES]
