"""Queues of DMAs whose descriptors `--disable-dge` makes at compile time.

A queue has sixteen semaphores, and its DMAs take them in turn: one is started when the DMA that had its semaphore before is done. Source: the
instructions of 44 NEFFs (validation/correlation/coursework.py; `semaphore_set` of each queue in their def.json). In their traces of transpositions Sync and
GpSimd start the first sixteen 82 to 98 ns apart, and the rest at the pace of the DMA engines.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neff_bench.simulator.compiler.code.assembler import Code

SEMAPHORES = 16
"""Of a queue."""


def with_turns(code: Code) -> Code:
    """The instructions of one core, where such a DMA also waits for the sixteenth before it of its engine."""
    if sum(one.dge_disabled for one in code.transfers) <= SEMAPHORES:
        return code

    import numpy as np

    # Instructions that start no DMA have the number -1, which finds the last element.
    ours = np.flatnonzero(np.array([*(one.dge_disabled for one in code.transfers), False])[code.transfer])
    queues = [ours[code.engine[ours] == engine] for engine in np.unique(code.engine[ours]).tolist()]
    waiting = np.concatenate([queue[SEMAPHORES:] for queue in queues]) if queues else ours
    if not len(waiting):
        return code
    before = np.concatenate([queue[:-SEMAPHORES] for queue in queues])
    added = np.zeros(len(code.wait_start), code.wait_start.dtype)
    added[waiting + 1] = 1
    by_place = np.argsort(waiting)
    ends = code.wait_start[waiting[by_place] + 1]
    waits = np.insert(code.waits, ends, before[by_place].astype(code.waits.dtype))
    return replace(code, waits=waits, wait_start=code.wait_start + np.cumsum(added))
