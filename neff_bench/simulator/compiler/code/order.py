"""Finds the order in which a compiler hands a program to the engines: a list schedule (docs/model.md, Evidence).

Of the operations that are ready, an engine takes the one that comes first in the program. Loads come in the order in which their data is first needed;
an operation that waits for nothing, a memset for example, is ordered like a load.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from neff_bench.chips import Chip
from neff_bench.simulator import native
from neff_bench.simulator.compiler.code.lowering import Operations
from neff_bench.simulator.compiler.program.dependencies import Edges
from neff_bench.simulator.native.issuing import ENGINES, Order, issue_all

if TYPE_CHECKING:
    import numpy as np


def issue_order(operations: Operations, kind: np.ndarray, edges: Edges, chip: Chip) -> np.ndarray:
    """Return a permutation of the instructions of one core, in int64, that keeps every dependency. `kind`: of each instruction.

    Meetings of the two cores keep their order. Times are estimates: PE at full clock, DMAs one after the other.
    """
    import numpy as np

    columns = operations.columns
    engine, loads, meets = (columns[name] for name in ("engine", "loads", "meets"))
    count = len(kind)
    missing = edges.start[1:] - edges.start[:-1]
    waiting = np.repeat(np.arange(count), missing)
    after = waiting[np.argsort(edges.before, kind="stable")]
    after_start = np.append(0, np.cumsum(np.bincount(edges.before, minlength=count)))
    # Loads, and what waits for nothing, are wanted where they are first used.
    wanted = np.arange(count)
    early = ((loads[kind] > 0) | (missing == 0)) & (np.diff(after_start) > 0)
    wanted[early] = after[after_start[:-1][early]]
    ranked = np.argsort(wanted, kind="stable")
    rank, follower = np.empty((2, count), np.int64)
    rank[ranked] = np.arange(count)
    follower[:] = -1
    # The loads of each queue keep their order, and so do the meetings of the cores.
    queue = np.where(loads[kind[ranked]] > 0, engine[kind[ranked]], -1)
    chains = [ranked[queue == each] for each in range(ENGINES)] + [np.flatnonzero(meets[kind])]
    for chain in chains:
        follower[chain[:-1]] = chain[1:]
        missing[chain[1:]] += 1
    soon_at, here_at = np.empty((2, ENGINES * count))
    soon, here = np.empty((2, ENGINES * count), np.int64)
    order = np.empty(count, np.int64)
    native.run(
        issue_all,
        Order(
            count, chip.dma_wait_ns, chip.semaphore_ns, engine, columns["busy_ns"], columns["result_ns"],
            columns["moving_ns"], kind, rank, ranked, missing, after_start, after, follower, np.zeros(count),
            np.zeros(ENGINES), np.zeros(1), soon_at, soon, np.zeros(ENGINES, np.int64), here_at, here,
            np.zeros(ENGINES, np.int64), order,
        ),
    )  # fmt: skip
    return order
