"""Computes the roofline of a logical core: how fast it can compute at most for each FLOP/byte, and where a profile stands.

Peaks are those that profiles divide by (chips/chip.py). Memory: the HBM that the profiler reports, which two cores share, and the DMA engines.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from neff_bench.chips import CHIPS
from neff_bench.parsers.event_columns import coded
from neff_bench.parsers.event_rows import Timeline
from neff_bench.parsers.formats.ntff import family_of

SHOWN_DTYPES = ("float8_e4m3fn_x4", "float8_e4m3", "bfloat16", "float32")
"""One for each rate of the matrix unit."""


@dataclass(frozen=True)
class Point:
    """A profile: FLOP for each byte of HBM traffic, and FLOP/s over the total time. `label`: what it is."""

    label: str
    intensity: float
    flops: float
    simulated: bool = False

    @property
    def can_be_drawn(self) -> bool:
        """Whether it has a place on logarithmic axes; a damaged file may say anything."""
        return all(math.isfinite(value) and value > 0 for value in (self.intensity, self.flops))


@dataclass(frozen=True)
class Roofline:
    """Roofs of `lnc` physical cores of a chip. `peaks`: FLOP/s by dtype. `bandwidths`: bytes/s by memory."""

    target: str
    lnc: int
    peaks: Mapping[str, float]
    bandwidths: Mapping[str, float]


def roofline(target: str | None, lnc: int | None, dtype: str | None = None) -> Roofline | None:
    """Return the roofs for a dtype, or for one dtype of each rate; None where the chip or its LNC is not known."""
    chip = CHIPS.get(target or "")
    if chip is None or not lnc:
        return None
    rates = {1e12 * peak: name for name in SHOWN_DTYPES if (peak := chip.peak_tflops(name, lnc))}
    own = chip.peak_tflops(dtype, lnc) if dtype else None
    peaks = {dtype: 1e12 * own} if dtype and own else {name: peak for peak, name in rates.items()}
    dma = 1e9 * lnc * chip.dma_engines * chip.dma_engine_bandwidth
    return Roofline(chip.name, lnc, peaks, {"HBM": chip.hbm_bandwidth_reported, "DMA engines": dma})


def roofline_of(timeline: Timeline) -> Roofline | None:
    """Return the roofs of the device that a timeline was taken on."""
    instance = timeline.summary.get("instance_type")
    cores = set(coded(timeline.instructions, ("subgraph",), str).values)
    return roofline(family_of(instance if isinstance(instance, str) else None), len(cores))


def point_of(timeline: Timeline, label: str) -> Point | None:
    """Return where a timeline stands: the FLOPs of its model, else those of its matmuls without transposes. None where its summary does not tell."""
    number = {key: float(value) for key, value in timeline.summary.items() if isinstance(value, (int, float))}
    moved = number.get("hbm_read_bytes", 0.0) + number.get("hbm_write_bytes", 0.0)
    done = number.get("hardware_flops", 0.0) - number.get("transpose_flops", 0.0)
    flops, total_s = number.get("model_flops") or done, number.get("total_time", 0.0)
    return Point(label, flops / moved, flops / total_s, timeline.simulated) if moved and total_s else None
