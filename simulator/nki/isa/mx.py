"""Microscaling formats (NeuronCore-v4): named here, not modelled."""

from __future__ import annotations

from typing import Any

from neff_bench.simulator.recording.recorder import not_modelled


def nc_matmul_mx(
    dst: Any,
    stationary: Any,
    moving: Any,
    stationary_scale: Any,
    moving_scale: Any,
    tile_position: Any = None,
    tile_size: Any = None,
    accumulate: Any = None,
    name: str | None = None,
) -> None:
    raise not_modelled("nki.isa.nc_matmul_mx")


def quantize_mx(dst: Any, src: Any, dst_scale: Any, name: str | None = None) -> None:
    raise not_modelled("nki.isa.quantize_mx")
