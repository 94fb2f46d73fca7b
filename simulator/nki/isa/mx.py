"""Microscaling formats (NeuronCore-v4): named here, not modelled."""

from __future__ import annotations

from typing import Any

from simulator.nki.recorder import not_modelled


def nc_matmul_mx(*_: Any, **__: Any) -> None:
    raise not_modelled("nki.isa.nc_matmul_mx")


def quantize_mx(*_: Any, **__: Any) -> None:
    raise not_modelled("nki.isa.quantize_mx")
