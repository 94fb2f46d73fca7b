"""Lets ranks meet: a collective of all ranks of a replica group."""

from __future__ import annotations

from collections.abc import Sequence

from neff_bench.simulator.errors import ExecutionError
from neff_bench.simulator.machine.operands import Operands
from neff_bench.simulator.operations import OPERATIONS
from neff_bench.simulator.program import Instruction, Program

_MAY_LEAVE_OUT = "collective_permute"
"""Ranks outside of its pairs take no part in it (AWS docs, neuron-runtime/about/collectives.rst)."""


def meet_ranks(program: Program, standing: Sequence[Sequence[Operands]], count: int) -> None:
    """Exchange the data of a collective at which every rank stands. `standing[rank][core]`: its operands. `count`: how many ranks run.

    Raises ExecutionError for a replica group that names other ranks than those that run.
    """
    first = standing[0][0].instruction
    groups = first.attributes["groups"]
    named = sorted(rank for ranks in groups for rank in ranks)
    if named[-1] >= count or (len(named) < count and first.op != _MAY_LEAVE_OUT):
        wanted = named[-1] + 1
        raise ExecutionError(
            f"{first.op}: the replica group {groups} is for ranks 0 to {wanted - 1}, and {count} run; a shapes file with `ranks: "
            f"{wanted}` runs them, or neuron-sim capture -r {wanted}",
            source_of(program, first),
        )
    for core, operands in enumerate(standing[0]):
        if operands.attributes.get("half"):
            continue  # core 0 has done it for both
        for ranks in groups:
            _exchange(program, [standing[rank][core] for rank in ranks])


def _exchange(program: Program, peers: list[Operands]) -> None:
    instruction = peers[0].instruction
    across = OPERATIONS[instruction.op].across
    try:
        if across is not None:
            across(peers)
    except ExecutionError as error:
        raise ExecutionError(error.what, source_of(program, instruction)) from None


def source_of(program: Program, instruction: Instruction) -> str | None:
    """Return the kernel's line, None where it is not known."""
    return program.sources[instruction.source] or None
