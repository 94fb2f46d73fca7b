"""What is pinned of a program: microseconds in all, and how long each engine and the DMA engines are active."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from neff_bench.chips import Chip
from neff_bench.simulator.program import ENGINES, Program
from neff_bench.simulator.timing.counters import summarise
from neff_bench.simulator.timing.schedule import schedule
from neff_bench.simulator.timing.timeline import timeline_of

FILE = Path(__file__).with_name("times.json")

_KEYS = {
    "total": "total_time",
    **{engine: f"{engine}_engine_active_time" for engine in ENGINES},
    "dma": "dma_active_time",
}

TOLERANCE = 1e-3
"""Share of a figure within which it counts as unchanged."""


def times(program: Program, chip: Chip | None = None) -> dict[str, float]:
    """Simulated times in microseconds. `chip`: constants other than the target's."""
    timed = schedule(program, chip)
    summary = summarise(program, timed, timeline_of(timed))
    return {name: summary[key] * 1e6 for name, key in _KEYS.items()}


def moved(before: dict[str, float], after: dict[str, float]) -> list[str]:
    """Names of the figures that differ by more than the tolerance."""
    return [name for name, us in before.items() if abs(after[name] - us) > TOLERANCE * us]


def read() -> dict[str, Any]:
    """The pinned figures."""
    return json.loads(FILE.read_bytes())
