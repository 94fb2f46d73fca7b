"""Says what a profile says of the device that it ran on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Metadata:
    """Holds what the profiler assumed of the device. Clocks in Hz, bandwidth in bytes/s."""

    tensor_clock_hz: float | None
    core_clock_hz: float | None
    tensor_rows: int | None
    tensor_columns: int | None
    hbm_bytes_per_s: float | None
    physical_cores: int | None
    ntff_version: int | None


def metadata_from(keys: Mapping[str, Any]) -> Metadata:
    """Read the keys of neuron-profile or of explorer, which renamed them."""

    def number(*names: str) -> float | None:
        found = [keys[key] for key in names if isinstance(keys.get(key), (int, float))]
        return float(found[0]) if found and abs(found[0]) < 1e300 else None

    def whole(*names: str) -> int | None:
        found = number(*names)
        return None if found is None else int(found)

    def ghz(*names: str) -> float | None:
        found = number(*names)
        return None if found is None else found * 1e9

    return Metadata(
        tensor_clock_hz=ghz("pe_clock_freq", "tensor_engine_clock_freq"),
        core_clock_hz=ghz("pe_clock_others", "neuroncore_clock_freq"),
        tensor_rows=whole("pe_num_rows", "tensor_engine_num_rows"),
        tensor_columns=whole("pe_num_cols", "tensor_engine_num_cols"),
        hbm_bytes_per_s=number("hbm_ddr_bandwidth"),
        physical_cores=whole("num_physical_cores"),
        ntff_version=whole("ntff_version"),
    )
