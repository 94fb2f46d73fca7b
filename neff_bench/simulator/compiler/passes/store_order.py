"""Puts stores behind loads: the order that AWS's compiler gives to the stores of a kernel whose tiles all have room (docs/model.md, Evidence).

It seems to take the DMA engines for one: no store is on the way while loads are. Of the stores whose data is there then, the latest go first, also where
AWS's compiler keeps the order of rows of eight tiles, which this does not know. Later stores come as their data does.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

import msgspec

from neff_bench.chips import Chip
from neff_bench.simulator.chips import chip_for
from neff_bench.simulator.compiler.code.allocation import open_sbuf_bytes
from neff_bench.simulator.compiler.code.lowering import Numbered, Operation, lower, operations_of
from neff_bench.simulator.compiler.program.dependencies import table_and_edges
from neff_bench.simulator.costs.triggers import IN_TURN
from neff_bench.simulator.program import ENGINES, Buffer, Instruction, Program


def with_stores_in_turn(program: Program) -> Program:
    """Return the program with its stores at the end, in the order that the compiler gives them; as it was where that is the order of their data."""
    cores = tuple(tuple(_core(program, steps)) for steps in program.cores)
    return program if cores == program.cores else msgspec.structs.replace(program, cores=cores)


def _core(program: Program, steps: Sequence[Instruction]) -> Sequence[Instruction]:
    stores = [at for at, step in enumerate(steps) if _stores(program.buffers, step)]
    chip = chip_for(program.target)
    if len(stores) < 2 or not _has_room(program.buffers, steps, chip):
        return steps
    table, edges = table_and_edges(program, steps)
    lowered = [lower(first, program, chip) for first in table.kinds]
    kinds = operations_of(lowered, chip, program.sharers, Numbered({}, {})).kinds
    operations = [kinds[kind] for kind in table.cores[0].kind.tolist()]
    waits = edges.waits()
    if any(waits[at] for at, one in enumerate(operations) if one.loads) or not _are_last(waits, stores):
        return steps
    ready_ns, loaded_ns = _ready_ns(operations, waits, stores, chip)
    order = _in_turn(ready_ns, loaded_ns, {at: operations[at].moving_ns for at in stores})
    if order == sorted(stores, key=lambda at: (ready_ns[at], at)):
        return steps
    moved = set(stores)
    kept = [step for at, step in enumerate(steps) if at not in moved]
    return [*kept, *(_kept_in_turn(steps[at]) for at in order)]


def _stores(buffers: Sequence[Buffer], step: Instruction) -> bool:
    """Return whether it is a DMA from SBUF to HBM."""
    if step.op != "dma_copy":
        return False
    return buffers[step.writes["dst"].buffer].memory == "hbm" and buffers[step.reads["src"].buffer].memory == "sbuf"


def _has_room(buffers: Sequence[Buffer], steps: Sequence[Instruction], chip: Chip) -> bool:
    """Return whether all tiles of SBUF have a place of their own."""
    tiles = {access.buffer for step in steps for access in (*step.reads.values(), *step.writes.values())}
    return sum(buffers[tile].row_bytes for tile in tiles if buffers[tile].memory == "sbuf") <= open_sbuf_bytes(chip)


def _are_last(waits: Sequence[Sequence[int]], stores: Sequence[int]) -> bool:
    """Return whether nothing waits for a store."""
    some = set(stores)
    return not any(some.intersection(befores) for befores in waits)


def _ready_ns(
    operations: Sequence[Operation], waits: Sequence[Sequence[int]], stores: Sequence[int], chip: Chip
) -> tuple[dict[int, float], float]:
    """Return when the data of each store is there, and when all is loaded, if the DMA engines are one."""
    some = set(stores)
    dma_ns = 0.0
    free_ns = [0.0] * len(ENGINES)
    done_ns = [0.0] * len(operations)
    ready_ns = {}
    for at, one in enumerate(operations):
        ready = max((done_ns[before] for before in waits[at]), default=0.0)
        if at in some:
            ready_ns[at] = ready
        elif one.moving_ns >= 0:
            dma_ns = max(dma_ns, ready) + one.moving_ns
            done_ns[at] = dma_ns + chip.dma_wait_ns
        else:
            start = max(ready, free_ns[one.engine])
            free_ns[one.engine] = start + one.busy_ns
            done_ns[at] = start + one.result_ns + chip.semaphore_ns
    return ready_ns, dma_ns


def _in_turn(ready_ns: dict[int, float], now_ns: float, moving_ns: dict[int, float]) -> list[int]:
    """Return the stores, from when all is loaded: of those whose data is there the latest first."""
    waiting = [(ready, at) for at, ready in ready_ns.items()]
    heapify(waiting)
    there: list[tuple[float, int]] = []
    order: list[int] = []
    while waiting or there:
        if not there:
            now_ns = max(now_ns, waiting[0][0])
        while waiting and waiting[0][0] <= now_ns:
            ready, at = heappop(waiting)
            heappush(there, (-ready, -at))
        at = -heappop(there)[1]
        order.append(at)
        now_ns += moving_ns[at]
    return order


def _kept_in_turn(step: Instruction) -> Instruction:
    return msgspec.structs.replace(step, attributes={**step.attributes, IN_TURN: True})
