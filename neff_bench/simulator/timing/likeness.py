"""What a row of the model has in common with rows that were measured: the features that its interval follows from."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from neff_bench.parsers.formats.opcodes import OPCODES
from neff_bench.simulator.program import Program
from neff_bench.simulator.timing.schedule import Schedule

_PE_BOUND = 0.75
"""Share of the kernel's time with the PE busy that counts as busy."""

_STEPS = 4
"""Steps of the share of uncompared operations: rows that differ by less say the same."""

_LIBRARY = "nkilib"
"""The folder of nki-library's files: the first or the second of their paths, as the library is installed or lies in a clone."""

_OF_ITS_LINES = 0.9
"""A kernel that only calls one of nki-library's has more lines of its own than a tenth."""


class Likeness(NamedTuple):
    """generation: of the NeuronCore. lnc: physical cores that have work. compiled: AWS's compiler stands between the kernel and its program, as for the
    old dialect and for HLO. tensor_busy: the Tensor Engine is busy for three quarters of the kernel. uncompared: the part of the
    engines' time that rests on operations that were never compared with hardware, in quarters, rounded up."""

    generation: int
    lnc: int
    compiled: bool
    tensor_busy: bool
    uncompared: float


def likeness(program: Program, schedule: Schedule, uncompared_share: float) -> Likeness:
    """Of a scheduled program. uncompared_share: that of `compared.uncompared`."""
    return Likeness(
        schedule.chip.generation,
        sum(1 for core in schedule.cores if len(core.code)) or 1,
        program.keeps_weights or program.from_hlo,
        _pe_share(schedule) >= _PE_BOUND,
        -int(-_STEPS * uncompared_share // 1) / _STEPS,
    )


def library_kernel(program: Program, kernels: Collection[str]) -> str:
    """Which of these kernels of nki-library a program is: the one whose files made nine of ten of its lines; empty where there is none."""
    called = set(program.callers)
    made = [
        _parts((*program.call_stack(line), program.sources[line]))
        for line in range(1, len(program.sources))
        if line not in called
    ]
    for kernel in sorted(kernels):
        if made and sum(kernel in parts for parts in made) >= _OF_ITS_LINES * len(made):
            return kernel
    return ""


def _parts(lines: Sequence[str]) -> set[str]:
    """Folders and files, without suffix, of those lines that are in nki-library."""
    paths = [line.rpartition(":")[0].split("/") for line in lines]
    return {part.removesuffix(".py") for path in paths if _LIBRARY in path[:2] for part in path}


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
