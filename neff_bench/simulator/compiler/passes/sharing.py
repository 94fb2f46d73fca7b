"""Shares copies whose engine the kernel leaves open between Vector and Scalar: each goes to Scalar unless Vector can start it sooner."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from neff_bench.chips import Chip
from neff_bench.simulator.chips import chip_for
from neff_bench.simulator.compiler.code.lowering import Numbered, lower, lowering, operations_of
from neff_bench.simulator.compiler.code.order import issue_order
from neff_bench.simulator.compiler.program.dependencies import table_and_edges
from neff_bench.simulator.costs.transfers import Transfer, packet_ns
from neff_bench.simulator.program import ENGINES, Instruction, Program

_WIDE_INTEGERS = frozenset({"int32", "uint32"})
"""Scalar takes these through float32."""


def shared_copies(program: Program, instructions: Sequence[Instruction]) -> list[Instruction]:
    """Return each copy that names no engine on Scalar, or on Vector where that would start it sooner, when all else goes by the order of issue."""
    if not any(is_open_copy(step) for step in instructions):
        return list(instructions)
    chip = chip_for(program.target)
    lower_once = lowering(program, chip)
    table, edges = table_and_edges(program, instructions)
    lowered = [lower(first, program, chip) for first in table.kinds]
    operations = operations_of(lowered, chip, program.sharers, Numbered({}, {}))
    order = issue_order(operations, table.cores[0].kind, edges, chip)
    waits = edges.waits()
    free_ns = dict.fromkeys(ENGINES, 0.0)
    done_ns = [0.0] * len(instructions)
    placed = list(instructions)
    for at in order.tolist():
        step = instructions[at]
        ready_ns = max((done_ns[before] for before in waits[at]), default=0.0)
        if is_open_copy(step) and max(ready_ns, free_ns["scalar"]) <= max(ready_ns, free_ns["vector"]):
            placed[at] = step = msgspec.structs.replace(step, engine="scalar")
        found = lower_once(step)
        start_ns = max(ready_ns, free_ns[step.engine])
        free_ns[step.engine] = start_ns + found.busy_ns
        done_ns[at] = start_ns + found.result_ns + (_moving_ns(found.transfer, chip) if found.transfer else 0.0)
    return placed


def _moving_ns(transfer: Transfer, chip: Chip) -> float:
    """Return the time from the first packet of a DMA that has all engines to itself to the instruction that waits for it."""
    return transfer.packets * packet_ns(transfer, chip) / chip.dma_engines + chip.dma_wait_ns


def is_open_copy(step: Instruction) -> bool:
    """Return whether it is a copy that the compiler may put on Vector or on Scalar: no engine is named, and Scalar takes its values as they are."""
    if step.op != "tensor_copy" or step.engine != "vector" or "engine" in step.attributes:
        return False
    return not any(access.dtype in _WIDE_INTEGERS for access in (*step.reads.values(), *step.writes.values()))
