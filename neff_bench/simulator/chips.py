"""Finds the chip that a program runs on, and chips with changed constants."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import cache
from typing import Any

from neff_bench import chips
from neff_bench.chips import Chip
from neff_bench.chips.calibration import CalibrationError, calibrated, calibration_of
from neff_bench.chips.chip import facts_of
from neff_bench.simulator.errors import SimulatorError


def chip_for(target: str) -> Chip:
    """Return the chip, with the constants of the calibration in force. Raises SimulatorError for a target that no chip has, and for a
    calibration that cannot be read."""
    try:
        found = calibration_of(target)
        chip = chips.chip_for(target)
        return chip if found is None else _calibrated(chip, found)
    except (chips.UnknownChip, CalibrationError) as error:
        raise SimulatorError(str(error)) from None


_calibrated = cache(calibrated)


_NO_EFFECT = (
    "cores_per_device", "devices_per_server", "_clock_ns", "_clock_spread_ns", "_reported", "_bank_bytes", "_reserved_bytes", "_fmax_bytes", "max_lnc", "pe_rows", "pe_cols", "base_clock_ghz", "year", "generation",
)  # fmt: skip
"""Ends of the names of numbers that the schedule does not use."""

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
    """Return the chip with one constant changed: `name=value` or `name=2x` (a multiple). Raises SimulatorError."""
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
    # With less memory the model would be wrong: a tensor that finds no room gets no address and never waits for memory.
    lowest = old if name.endswith("_partition_bytes") else _LOWEST.get(name, 0.0)
    if not lowest <= value < float("inf"):
        raise SimulatorError(f"--what-if {change}: the value must be at least {lowest:g}")
    changed: Any = {name: round(value) if isinstance(old, int) else value}
    return replace(chip, **changed)


def constant_lines(chip: Chip) -> list[str]:
    """Return each constant, its value and where it comes from."""
    return [f"{name:<28}{value!s:>14}  {source}" for name, value, _, source in facts_of(chip)]
