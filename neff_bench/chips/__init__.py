"""Says what the hardware is: one file a chip, each value with its unit and its public origin; engines and dtypes beside them.

A new file here that has a `CHIP` is a new chip: it is found by itself.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from neff_bench.errors import WrongCall

if TYPE_CHECKING:
    from neff_bench.chips.chip import Chip as Chip

    CHIPS: dict[str, Chip]
    """Every chip under its name, older ones first."""
    GENERATIONS: list[int]
    """The generations of the NeuronCore."""
    PAIRED: tuple[str, ...]
    """The chips whose logical cores may have two physical cores."""


ENVIRONMENT = "NEURON_SIM_CALIBRATION"
"""Names the file of the calibration in force; the children of a command inherit it."""


class UnknownChip(WrongCall):
    """A name that no chip has. The text is one line: the name, and what was expected."""


_HAS_CHIP = re.compile(rb"^(?:\w.*\b)?CHIP\b", re.MULTILINE)
NAMES = tuple(
    sorted(
        module.name
        for module in iter_modules(__path__)
        if _HAS_CHIP.search(Path(__path__[0], f"{module.name}.py").read_bytes())
    )
)
"""Every chip, by its file: help texts name the chips without importing them."""

LISTED = " or ".join(", ".join(NAMES).rsplit(", ", 1))
"""All of them, for a help text: `inf2, trn1, trn2 or trn3`."""


def __getattr__(name: str) -> Any:
    """Return what needs the chips themselves, which are imported when somebody first asks for them."""
    if name == "Chip":
        from neff_bench.chips.chip import Chip

        return Chip
    if name == "CHIPS":
        return _chips()
    if name == "GENERATIONS":
        return sorted({chip.generation for chip in _chips().values()})
    if name == "PAIRED":
        return tuple(chip.name for chip in _chips().values() if chip.max_lnc > 1)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@cache
def _chips() -> dict[str, Chip]:
    found = []
    for name in NAMES:
        chip = import_module(f"{__name__}.{name}").CHIP
        if chip.name != name:
            raise ImportError(f"chips/{name}.py: its CHIP is named {chip.name!r}, expected {name!r}")
        found.append(chip)
    return {chip.name: chip for chip in sorted(found, key=lambda chip: (chip.generation, chip.year, chip.name))}


def chip_for(target: str) -> Chip:
    """Return the chip of a name. Raises UnknownChip."""
    try:
        return _chips()[target]
    except KeyError:
        raise UnknownChip(f"unknown target {target!r}: expected one of {', '.join(_chips())}") from None


def peak_tflops(target: str, dtype: str, lnc: int) -> float | None:
    """Return the matmul rate of a logical core at most, which MFU is divided by; None for a target or dtype that is not known."""
    chip = _chips().get(target)
    return chip.peak_tflops(dtype, lnc) if chip else None


def names_from(generation: int) -> str:
    """Return the chips of this NeuronCore generation and later, for a message."""
    return ", ".join(chip.name for chip in _chips().values() if chip.generation >= generation)


def first_of_generation(name: str) -> str:
    """Return the chip that `gen3` stands for where tools name a generation; any other name is returned as it is."""
    return next((chip.name for chip in _chips().values() if f"gen{chip.generation}" == name), name)
