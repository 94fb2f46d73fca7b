"""Says which instructions of a core read and write each buffer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Sequence
from typing import NamedTuple

from neff_bench.simulator.program import Instruction


class Uses(NamedTuple):
    """Instructions by buffer, in program order.

    dtypes: of the views of each buffer. addressed: the buffers with an address of run time. dynamic: these, and those that hold one.
    """

    readers: dict[int, list[int]]
    writers: dict[int, list[int]]
    dtypes: dict[int, set[str]]
    addressed: set[int]
    dynamic: set[int]


def uses_of(steps: Sequence[Instruction], only: Container[int] | None = None) -> Uses:
    """Return the uses of a list of instructions, for the buffers of `only`; for all without it."""
    found = Uses(defaultdict(list), defaultdict(list), defaultdict(set), set(), set())
    for index, step in enumerate(steps):
        for operands, by_buffer in ((step.reads, found.readers), (step.writes, found.writers)):
            for access in operands.values():
                if only is not None and access.buffer not in only and not access.dynamic:
                    continue
                by_buffer[access.buffer].append(index)
                found.dtypes[access.buffer].add(access.dtype)
                if access.dynamic:
                    found.addressed.add(access.buffer)
                    found.dynamic.update((access.buffer, *(part.index.buffer for part in access.dynamic)))
    return found
