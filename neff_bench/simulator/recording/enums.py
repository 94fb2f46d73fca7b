"""Declares enumerations of `nki.isa`, and how their members, names and numbers become the words that a program holds."""

from __future__ import annotations

from enum import Enum, IntEnum
from functools import cache
from typing import Any

from neff_bench.chips import GENERATIONS, chip_for
from neff_bench.simulator.recording.recorder import invalid, recorder


class engine(Enum):
    """The engine that an operation is asked to run on; `unknown` leaves it to the compiler."""

    tensor = 1
    vector = 5
    scalar = 2
    gpsimd = 3
    dma = 4
    sync = 6
    unknown = 0


class reduce_cmd(Enum):
    """Says what an operation does with the engine's accumulators."""

    idle = 0
    reset = 1
    reduce = 2
    reset_reduce = 3
    load_reduce = 4


class dge_mode(Enum):
    """Who makes a DMA's descriptors: GpSimd (`swdge`), hardware (`hwdge`), or the compiler (`none`)."""

    unknown = 0
    swdge = 1
    hwdge = 2
    none = 3


class oob_mode(Enum):
    """Says what a DMA does at a run-time address outside its buffer."""

    error = 0
    skip = 1


class matmul_perf_mode(Enum):
    """Says how a product uses the PE array: `double_row` contracts two float8 rows at a time; the old dialect says which chip."""

    none = "none"
    double_row = "double_row"
    double_row_gen3 = "double_row"  # noqa: PIE796 - another name of the same mode


nc_version = IntEnum("nc_version", {f"gen{number}": number for number in GENERATIONS})  # type: ignore[misc]
"""Generations of the NeuronCore; they can be compared."""


class dma_engine(Enum):
    """Who moves the data of `sendrecv`."""

    dma = 1
    gpsimd_dma = 2


tensor_engine = engine.tensor
vector_engine = engine.vector
scalar_engine = engine.scalar
gpsimd_engine = engine.gpsimd
unknown_engine = engine.unknown


def get_nc_version() -> IntEnum:
    """Return the generation of the target that is recorded for."""
    number: IntEnum = nc_version(chip_for(recorder().target).generation)
    return number


def get_nc_sub_version() -> int:
    """Return 0: no target has another one."""
    return 0


@cache
def _words(kind: type[Enum]) -> dict[Any, str]:
    words: dict[Any, str] = {}
    for name, member in kind.__members__.items():
        words[member] = words[name] = words[member.value] = member.name
    return words


def word(kind: type[Enum], value: Any) -> str:
    """Return the bare name of a member, given as member, name or number; None is the member that means no choice."""
    words = _words(kind)
    found = words.get(value)
    if found is None:
        found = "unknown" if value is None and "unknown" in words else words.get(getattr(value, "name", ""))
    if found is None and isinstance(value, str):
        found = words.get(value.rpartition(".")[2])
    if found is None:
        raise invalid(f"{value!r} is no {kind.__name__}; known: {', '.join(kind.__members__)}")
    return found
