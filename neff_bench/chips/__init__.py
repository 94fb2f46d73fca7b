"""Says what the hardware is: one file a chip, each value with its unit and its public origin; engines and dtypes beside them.

A new file here that has a `CHIP` is a new chip: it is found by itself.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from neff_bench.chips.chip import Chip
from neff_bench.errors import WrongCall


class UnknownChip(WrongCall):
    """A name that no chip has. The text is one line: the name, and what was expected."""


def _chips() -> list[Chip]:
    found = []
    for module in iter_modules(__path__):
        chip = getattr(import_module(f"{__name__}.{module.name}"), "CHIP", None)
        if chip is not None:
            if chip.name != module.name:
                raise ImportError(f"chips/{module.name}.py: its CHIP is named {chip.name!r}, expected {module.name!r}")
            found.append(chip)
    return sorted(found, key=lambda chip: (chip.generation, chip.year, chip.name))


CHIPS: dict[str, Chip] = {chip.name: chip for chip in _chips()}
"""Every chip under its name, older ones first."""


LISTED = " or ".join(", ".join(CHIPS).rsplit(", ", 1))
"""All of them, for a help text: `trn1, inf2, trn2 or trn3`."""

GENERATIONS = sorted({chip.generation for chip in CHIPS.values()})
"""The generations of the NeuronCore."""

PAIRED = tuple(chip.name for chip in CHIPS.values() if chip.max_lnc > 1)
"""The chips whose logical cores may have two physical cores."""


def chip_for(target: str) -> Chip:
    """Return the chip of a name. Raises UnknownChip."""
    try:
        return CHIPS[target]
    except KeyError:
        raise UnknownChip(f"unknown target {target!r}: expected one of {', '.join(CHIPS)}") from None


def peak_tflops(target: str, dtype: str, lnc: int) -> float | None:
    """Return the matmul rate of a logical core at most, which MFU is divided by; None for a target or dtype that is not known."""
    chip = CHIPS.get(target)
    return chip.peak_tflops(dtype, lnc) if chip else None


def names_from(generation: int) -> str:
    """Return the chips of this NeuronCore generation and later, for a message."""
    return ", ".join(chip.name for chip in CHIPS.values() if chip.generation >= generation)


def first_of_generation(name: str) -> str:
    """Return the chip that `gen3` stands for where tools name a generation; any other name is returned as it is."""
    return next((chip.name for chip in CHIPS.values() if f"gen{chip.generation}" == name), name)


__all__ = [
    "CHIPS",
    "GENERATIONS",
    "LISTED",
    "PAIRED",
    "Chip",
    "UnknownChip",
    "chip_for",
    "first_of_generation",
    "names_from",
    "peak_tflops",
]
