"""What a row of the model has in common with rows that were measured: the features that its interval follows from."""

from __future__ import annotations

from typing import NamedTuple

from neff_bench.chips import Chip
from neff_bench.parsers.formats.opcodes import OPCODES
from neff_bench.simulator.timing.schedule import Schedule

_PE_BOUND = 0.75
"""Share of the kernel's time with the PE busy that counts as busy."""

_LONG_NS = 200e3
"""Total from which the fixed times around a kernel are a small part of it."""


class Likeness(NamedTuple):
    """What weighs more stands before. engines: the generation of them, `NC-v2` or `NC-v3`. lnc: physical cores. tensor_busy: the
    Tensor Engine is busy for three quarters of the kernel. long: the total is 200 us or more."""

    engines: str
    lnc: int
    tensor_busy: bool
    long: bool


def likeness(schedule: Schedule) -> Likeness:
    """Of a scheduled program."""
    return Likeness(
        engines_of(schedule.chip), len(schedule.cores), _pe_share(schedule) >= _PE_BOUND, schedule.total_ns >= _LONG_NS
    )


def engines_of(chip: Chip) -> str:
    """NeuronCore-v4 counts as v3: its overheads are those of trn2."""
    return "NC-v2" if chip.generation < 3 else "NC-v3"


def _pe_share(schedule: Schedule) -> float:
    """Busiest core's PE time over its kernel time."""
    shares = [0.0]
    for core in schedule.cores:
        matmuls = core.code.opcode == OPCODES["MATMUL"]
        kernel = core.kernel_end_ns - schedule.overheads.preamble_ns
        if matmuls.any() and kernel > 0:
            latency = schedule.chip.pe_latency_ns
            shares.append(float((core.end_ns - core.start_ns - latency)[matmuls].sum()) / kernel)
    return max(shares)
