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
from typing import TYPE_CHECKING

from neff_bench.chips import Chip
from neff_bench.simulator.compiler.code.lowering import Operations
from neff_bench.simulator.compiler.program.dependencies import Edges

if TYPE_CHECKING:
    import numpy as np

_ENGINES = 5
_TENSOR = 0


def issue_order(operations: Operations, kind: np.ndarray, edges: Edges, chip: Chip) -> np.ndarray:
    """A permutation of the instructions of one core, in int64, that keeps every dependency. `kind`: of each instruction.

    Meetings of the two cores keep their order. Times are estimates: PE at full clock, DMAs one after the other.
    simulator/native/order.c is the same in C.
    """
    import numpy as np

    kinds = operations.kinds
    of_each = [
        (o.engine, o.loads, o.meets, o.busy_ns, o.result_ns, o.moving_ns) for o in map(kinds.__getitem__, kind.tolist())
    ]
    engines, loads, meets, busy_ns, result_ns, moving_ns = zip(*of_each) if of_each else ((),) * 6
    n = len(engines)
    start_of, befores = edges.start.tolist(), edges.before.tolist()
    waits_of = [befores[start_of[index] : start_of[index + 1]] for index in range(n)]
    missing = [len(waits) for waits in waits_of]
    after: list[list[int]] = [[] for _ in range(n)]
    first_use = list(range(n))
    for index, waits in enumerate(waits_of):
        for before in waits:
            if not after[before]:
                first_use[before] = index
            after[before].append(index)
    wanted = [first_use[index] if loads[index] or not waits_of[index] else index for index in range(n)]
    ranked = sorted(range(n), key=wanted.__getitem__)
    rank = [0] * n
    for place, index in enumerate(ranked):
        rank[index] = place
    follower = [-1] * n
    for chain in _chains(engines, loads, meets, ranked):
        for before, index in itertools.pairwise(chain):
            follower[before] = index
            missing[index] += 1
    ready = [0.0] * n
    free = [0.0] * _ENGINES
    dma_free = 0.0
    waiting: list[list[tuple[float, int]]] = [[] for _ in range(_ENGINES)]
    available: list[list[int]] = [[] for _ in range(_ENGINES)]
    for index in range(n):
        if not missing[index]:
            heappush(available[engines[index]], rank[index])
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
        free[engine] = start + busy_ns[index]
        done = start + result_ns[index]
        if moving_ns[index] >= 0:
            dma_free = max(dma_free, done) + moving_ns[index]
            done = dma_free + chip.dma_wait_ns
        else:
            done += chip.semaphore_ns
        for other in after[index]:
            # The PE adds in PSUM without waiting for itself.
            at = free[engine] if engine == engines[other] == _TENSOR else done
            if at > ready[other]:
                ready[other] = at
            missing[other] -= 1
            if not missing[other]:
                heappush(waiting[engines[other]], (ready[other], other))
        other = follower[index]
        if other >= 0:
            missing[other] -= 1
            if not missing[other]:
                heappush(waiting[engines[other]], (max(ready[other], start), other))
    return np.array(order, np.int64)


def _chains(
    engines: Sequence[int], loads: Sequence[int], meets: Sequence[int], ranked: Sequence[int]
) -> list[list[int]]:
    """What keeps its order among itself: the loads of each queue, and the meetings of the cores."""
    queues: list[list[int]] = [[] for _ in range(_ENGINES)]
    for index in ranked:
        if loads[index]:
            queues[engines[index]].append(index)
    return [*queues, [index for index, met in enumerate(meets) if met]]
