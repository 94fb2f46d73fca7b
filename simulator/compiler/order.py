"""The order in which a compiler hands a program to the engines: a list schedule.

"The compiler scheduler is free to reorder independent operations" (AWS docs nki.language.no_reorder,
nki/guides/how-to-scheduling-apis.rst). Compiled kernels show what it does with that freedom (NTFF of github
allenkchau/trainium-kernel-fusion @d709ddf1 beside their sources). Of the operations that are ready, an engine takes the one that
comes first in the program: PE transposes of all tiles run before the products of the first tile, and copies of one loop between
reductions of another. Loads come in the order in which their data is first needed: v, q, k where the program loads q, k, v and
transposes v first. Here, every operation that waits for nothing is ordered like a load, a memset for example.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from heapq import heappop, heappush

from neff_bench.chips import Chip
from neff_bench.simulator.compiler.dependencies import Edge
from neff_bench.simulator.costs.steps import Lowered
from neff_bench.simulator.costs.transfers import Transfer, packet_ns

_ENGINES = 5


def issue_order(operations: Sequence[Lowered], edges: Sequence[set[Edge]], chip: Chip, sharers: int) -> list[int]:
    """A permutation of the operations of one core that keeps every dependency. `sharers`: cores that share HBM.

    Meetings of the two cores keep their order. Times are estimates: PE at full clock, DMAs one after the other.
    """
    n = len(operations)
    missing = [len(waits) for waits in edges]
    after: list[list[int]] = [[] for _ in range(n)]
    first_use = list(range(n))
    for index, waits in enumerate(edges):
        for edge in waits:
            before = edge.before
            if not after[before]:
                first_use[before] = index
            after[before].append(index)
    wanted = [first_use[index] if operations[index].loads or not edges[index] else index for index in range(n)]
    ranked = sorted(range(n), key=wanted.__getitem__)
    rank = [0] * n
    for place, index in enumerate(ranked):
        rank[index] = place
    follower = [-1] * n
    for chain in _chains(operations, ranked):
        for before, index in itertools.pairwise(chain):
            follower[before] = index
            missing[index] += 1
    transfers = {id(o.transfer): o.transfer for o in operations if o.transfer is not None}
    moving = {key: _moving_ns(transfer, chip, sharers) for key, transfer in transfers.items()}
    ready = [0.0] * n
    free = [0.0] * _ENGINES
    dma_free = 0.0
    waiting: list[list[tuple[float, int]]] = [[] for _ in range(_ENGINES)]
    available: list[list[int]] = [[] for _ in range(_ENGINES)]
    for index in range(n):
        if not missing[index]:
            heappush(available[operations[index].engine], rank[index])
    order: list[int] = []
    for _ in range(n):
        engine, start = -1, 0.0
        for other, (here, soon) in enumerate(zip(available, waiting, strict=True)):
            at = free[other]
            if not here:
                if not soon:
                    continue
                at = max(at, soon[0][0])
            if engine < 0 or at < start:
                engine, start = other, at
        here, soon = available[engine], waiting[engine]
        while soon and soon[0][0] <= start:
            heappush(here, rank[heappop(soon)[1]])
        index = ranked[heappop(here)]
        order.append(index)
        operation = operations[index]
        free[engine] = start + operation.busy_ns
        done = start + operation.result_ns
        if operation.transfer is not None:
            dma_free = max(dma_free, done) + moving[id(operation.transfer)]
            done = dma_free + chip.dma_wait_ns
        else:
            done += chip.semaphore_ns
        for other in after[index]:
            if done > ready[other]:
                ready[other] = done
            missing[other] -= 1
            if not missing[other]:
                heappush(waiting[operations[other].engine], (ready[other], other))
        other = follower[index]
        if other >= 0:
            missing[other] -= 1
            if not missing[other]:
                heappush(waiting[operations[other].engine], (max(ready[other], start), other))
    return order


def _chains(operations: Sequence[Lowered], ranked: Sequence[int]) -> list[list[int]]:
    """What keeps its order among itself: the loads of each queue, and the meetings of the cores."""
    loads: list[list[int]] = [[] for _ in range(_ENGINES)]
    for index in ranked:
        if operations[index].loads:
            loads[operations[index].engine].append(index)
    return [*loads, [index for index, operation in enumerate(operations) if operation.meets]]


def _moving_ns(transfer: Transfer, chip: Chip, sharers: int) -> float:
    """Time on all DMA engines of the core, or on its share of HBM."""
    engines = transfer.packets * packet_ns(transfer, chip) / chip.dma_engines
    return max(engines, (transfer.hbm_read + transfer.hbm_write) * sharers / chip.hbm_bandwidth)
