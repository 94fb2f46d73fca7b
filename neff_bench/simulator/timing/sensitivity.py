"""Says what each constant of a chip, better by a factor of two, would change of a simulated time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from neff_bench.chips import Chip
from neff_bench.simulator.program import ENGINES, Program
from neff_bench.simulator.timing.schedule import Schedule, schedule

INSTRUCTIONS_MAX = 2000
"""The largest program that is scheduled again for each constant without being asked to: some seconds."""
MORE_IS_BETTER = ("_bandwidth", "_ghz", "dma_engines")
LESS_IS_BETTER = ("_ns", "_cycles", "_factor")
"""Ends of names. Other constants are sizes or limits, which have no better side."""
OF_ENGINE = {
    "pe_": "tensor", "load_weights_": "tensor", "throttle_": "tensor", "minimum_": "tensor", "scalar_": "scalar",
    "activation_": "scalar", "vector_": "vector", "gpsimd_": "gpsimd", "software_dma_": "gpsimd",
}  # fmt: skip
"""The engine that a constant is of, by the start of its name."""


class Sensitivity(NamedTuple):
    """`change`: `2x` or `0.5x`, the better one. Time in microseconds."""

    constant: str
    change: str
    total_time_us: float


def sensitivities(program: Program, timed: Schedule) -> list[Sensitivity]:
    """Return the constants that gain something, the most first."""
    total = timed.total_ns / 1e3
    found = [
        Sensitivity(name, "2x" if factor > 1 else "0.5x", schedule(program, changed).total_ns / 1e3)
        for name, factor, changed in _changes(timed)
    ]
    return sorted((one for one in found if one.total_time_us < total), key=lambda one: one.total_time_us)


def _changes(timed: Schedule) -> Iterator[tuple[str, float, Chip]]:
    """Yield the constants that can matter: those of an engine that has nothing to do cannot."""
    chip = timed.chip
    used = {ENGINES[engine] for core in timed.cores for engine in set(core.code.engine.tolist())}
    for name in chip.units:
        value, factor = getattr(chip, name), _better(name)
        engine = next((engine for start, engine in OF_ENGINE.items() if name.startswith(start)), None)
        if factor is None or isinstance(value, bool) or not value or (engine is not None and engine not in used):
            continue
        lowest = 1.0 if name.endswith("_factor") else 0.0
        changed = max(value * factor, lowest)
        if changed != value:
            yield name, factor, replace(chip, **{name: type(value)(changed)})


def _better(name: str) -> float | None:
    if name.endswith(("base_clock_ghz", "throttle_window_ns")):
        return None  # the unit that cycles are counted in; a time over which the PE's load is averaged
    return 2.0 if name.endswith(MORE_IS_BETTER) else 0.5 if name.endswith(LESS_IS_BETTER) else None
