"""Holds the profiler's summary as one typed record, whichever tool and version wrote it.

Names follow the profiler's keys by one rule: `X_time` is `X_time_s` here (seconds), `X_percent` is `X_fraction` (the tools write
fractions 0..1 under that key, AWS profile schema 7.4.0 and every real file), all others keep their name. A key that the file lacks is
None; tools leave zero counters out, so None is not zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Any

INTEGER_MAX = 1 << 63


@dataclass(frozen=True)
class Summary:
    """One execution; a logical core of two physical cores has one summary for both.

    `throttle`: the open family of `throttle_*` keys, renamed by the rule. `unknown`: keys that are not modelled, as they stand.
    `is_simulation` and `simulator_*`: said by the simulator of this project (and by any tool that sets the flag); None otherwise.
    """

    total_time_s: float | None = None
    neuroncore_cycle_count: int | None = None
    model_flops: int | None = None
    hardware_flops: int | None = None
    transpose_flops: int | None = None
    adjusted_hardware_flops: int | None = None
    adjusted_transpose_flops: int | None = None
    mm_arithmetic_intensity: float | None = None
    peak_flops_bandwidth_ratio: float | None = None
    trace_count: int | None = None
    event_count: int | None = None
    total_row_count: int | None = None
    dma_active_cycles: int | None = None
    dma_active_time_s: float | None = None
    dma_active_time_fraction: float | None = None
    static_dma_active_time_s: float | None = None
    dynamic_dma_active_time_fraction: float | None = None
    static_dma_active_time_fraction: float | None = None
    dma_transfer_average_bytes: float | None = None
    dma_packet_time_s: float | None = None
    dma_transfer_time_s: float | None = None
    dma_transfer_count: int | None = None
    dma_transfer_total_bytes: int | None = None
    dma_queue_count: int | None = None
    inputs_and_weights_size_bytes: int | None = None
    inputs_outputs_weights_size_bytes: int | None = None
    weight_size_bytes: int | None = None
    static_dma_packet_count: int | None = None
    static_dma_size: int | None = None
    dynamic_dma_packet_fraction: float | None = None
    static_dma_packet_fraction: float | None = None
    dynamic_dma_size_fraction: float | None = None
    static_dma_size_fraction: float | None = None
    mbu_estimated_fraction: float | None = None
    mbu_min_read_util_fraction: float | None = None
    hbm_write_bytes: int | None = None
    hbm_read_bytes: int | None = None
    sbuf_write_bytes: int | None = None
    sbuf_read_bytes: int | None = None
    spill_save_bytes: int | None = None
    spill_reload_bytes: int | None = None
    psum_write_bytes: int | None = None
    psum_read_bytes: int | None = None
    psum_read_sbuf_write_count: int | None = None
    psum_read_sbuf_write_bytes: int | None = None
    input_queue_bytes: int | None = None
    output_queue_bytes: int | None = None
    weight_queue_bytes: int | None = None
    software_dynamic_dma_active_time_s: float | None = None
    software_dynamic_dma_active_time_fraction: float | None = None
    software_dynamic_dma_packet_count: int | None = None
    software_dynamic_dma_size: int | None = None
    software_dynamic_dma_packet_fraction: float | None = None
    software_dynamic_dma_size_fraction: float | None = None
    hardware_dynamic_dma_active_time_s: float | None = None
    hardware_dynamic_dma_active_time_fraction: float | None = None
    hardware_dynamic_dma_packet_count: int | None = None
    hardware_dynamic_dma_size: int | None = None
    hardware_dynamic_dma_packet_fraction: float | None = None
    hardware_dynamic_dma_size_fraction: float | None = None
    tensor_engine_instruction_time_s: float | None = None
    tensor_engine_active_time_s: float | None = None
    tensor_engine_active_time_fraction: float | None = None
    tensor_engine_instruction_count: int | None = None
    matmul_instruction_count: int | None = None
    mfu_estimated_fraction: float | None = None
    mfu_max_achievable_estimated_fraction: float | None = None
    mfu_hlo_estimated_fraction: float | None = None
    mfu_hlo_max_achievable_estimated_fraction: float | None = None
    mfu_inst_estimated_fraction: float | None = None
    mfu_inst_max_achievable_estimated_fraction: float | None = None
    hfu_estimated_fraction: float | None = None
    vector_engine_instruction_time_s: float | None = None
    vector_engine_active_time_s: float | None = None
    vector_engine_active_time_fraction: float | None = None
    vector_engine_instruction_count: int | None = None
    scalar_engine_instruction_time_s: float | None = None
    scalar_engine_active_time_s: float | None = None
    scalar_engine_active_time_fraction: float | None = None
    scalar_engine_instruction_count: int | None = None
    activate_instruction_time_s: float | None = None
    activate_instruction_count: int | None = None
    sync_engine_instruction_time_s: float | None = None
    sync_engine_active_time_s: float | None = None
    sync_engine_active_time_fraction: float | None = None
    sync_engine_instruction_count: int | None = None
    gpsimd_engine_instruction_time_s: float | None = None
    gpsimd_engine_active_time_s: float | None = None
    gpsimd_engine_active_time_fraction: float | None = None
    gpsimd_engine_instruction_count: int | None = None
    cc_op_time_s: float | None = None
    cc_op_active_time_s: float | None = None
    cc_op_active_time_fraction: float | None = None
    cc_op_count: int | None = None
    cc_cores_instruction_time_s: float | None = None
    cc_cores_instruction_active_time_s: float | None = None
    cc_cores_instruction_active_time_fraction: float | None = None
    cc_cores_instruction_count: int | None = None
    total_exec_time_s: float | None = None
    total_active_time_s: float | None = None
    total_active_time_fraction: float | None = None
    nc_idx: int | None = None
    compiler_version: str | None = None
    instance_type: str | None = None
    collectives_version: str | None = None
    profiler_version: str | None = None
    driver_version: str | None = None
    runtime_version: str | None = None
    nd_idx: int | None = None
    ultraserver_id: int | None = None
    ultraserver_type: str | None = None
    ultraserver_size: int | None = None
    ultraserver_instance_index: int | None = None
    is_simulation: bool | None = None
    simulator_name: str | None = None
    simulator_version: str | None = None
    simulator_model: str | None = None
    simulator_time_error: str | None = None
    simulator_uncompared_operations: str | None = None
    simulator_fixed_overhead_time_s: float | None = None
    simulator_low_total_time_s: float | None = None
    simulator_high_total_time_s: float | None = None
    simulator_execution_time_s: float | None = None
    simulator_low_execution_time_s: float | None = None
    simulator_high_execution_time_s: float | None = None
    simulator_sbuf_peak_bytes: int | None = None
    simulator_psum_peak_bytes: int | None = None
    simulator_collective_sent_bytes: int | None = None
    throttle: Mapping[str, float] = field(default_factory=dict)
    unknown: Mapping[str, object] = field(default_factory=dict)

    @property
    def has_times(self) -> bool:
        """Whether it states any time: without one it is no profile's summary."""
        return any(getattr(self, name) is not None for name in _TIMES)


@lru_cache(maxsize=1024)
def attribute(key: str) -> str:
    """Return the attribute for a key of the profiler."""
    if key.endswith("_time"):
        return f"{key}_s"
    return f"{key.removesuffix('_percent')}_fraction" if key.endswith("_percent") else key


_TIMES = tuple(known.name for known in fields(Summary) if known.name.endswith("_time_s"))
_NEVER_NEGATIVE = ("_time_s", "_fraction", "_count", "_bytes", "_flops", "_size", "_cycles", "intensity")

_KINDS: dict[str, str] = {known.name: str(known.type).split(" ")[0] for known in fields(Summary)}


def summary_from(keys: Mapping[str, Any]) -> Summary:
    """Return a summary from the profiler's keys. Raises ValueError for a value of the wrong type, NaN, infinities and numbers past 2^63."""
    known: dict[str, Any] = {}
    throttle: dict[str, float] = {}
    unknown: dict[str, object] = {}
    for key, value in keys.items():
        name = attribute(key)
        kind = _KINDS.get(name)
        if kind in ("float", "int", "str", "bool"):
            known[name] = None if value is None else _checked(key, value, kind)
        elif key.startswith("throttle_"):
            throttle[name] = _checked(key, value, "float")
        else:
            unknown[key] = value
    return Summary(**known, throttle=throttle, unknown=unknown)


def _checked(key: str, value: Any, kind: str) -> Any:
    if kind in ("str", "bool"):
        if not isinstance(value, str if kind == "str" else bool):
            raise ValueError(f"summary key {key}: expected {kind}, found {type(value).__name__}")
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"summary key {key}: expected a number, found {type(value).__name__}")
    if value != value or abs(value) >= INTEGER_MAX:  # NaN, and whatever no device counts to
        raise ValueError(f"summary key {key}: {str(value)[:40]} is no count, time or fraction")
    if value < 0 and attribute(key).endswith(_NEVER_NEGATIVE):
        raise ValueError(f"summary key {key}: {value} is negative")
    if kind == "float":
        return float(value)
    if value != int(value):
        raise ValueError(f"summary key {key}: expected a whole number, found {value}")
    return int(value)
