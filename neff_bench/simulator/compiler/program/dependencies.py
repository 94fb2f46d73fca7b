"""Says which earlier instructions each instruction must wait for.

An instruction waits where it reads what another wrote, or writes what another read or wrote. Regions (rectangles.py) that overlap are
cut into parts (parts.py), and each part has its last writer and the readers since.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from neff_bench.simulator import native
from neff_bench.simulator.compiler.program.columns import Buffers, Columns, Table, operand_names, tabulated
from neff_bench.simulator.compiler.program.parts import cut
from neff_bench.simulator.compiler.program.rectangles import regions_of
from neff_bench.simulator.native.edges import Uses, find_conflicts
from neff_bench.simulator.program import Instruction, Program

if TYPE_CHECKING:
    import numpy as np

KINDS = ("raw", "waw", "war")


class Edges(NamedTuple):
    """Holds what the instructions of a core wait for, instruction by instruction, each once. Arrays of int64.

    start: where the edges of each instruction begin, and the end. before: the earlier instruction. kind: index into `KINDS`.
    operand: its name in the waiting instruction, as an index into `operand_names`.
    """

    start: np.ndarray
    before: np.ndarray
    kind: np.ndarray
    operand: np.ndarray

    def waits(self) -> list[list[int]]:
        """Return for each instruction the earlier ones that it waits for."""
        start, before = self.start.tolist(), self.before.tolist()
        return [before[begin:end] for begin, end in itertools.pairwise(start)]


class Edge(NamedTuple):
    """`instruction` waits for `before`. `kind`: "raw", "war" or "waw". `operand`: its name in the waiting instruction."""

    before: int
    kind: str
    operand: str


def find_edges(
    program: Program, instructions: Sequence[Instruction], addresses: Mapping[int, int] = MappingProxyType({})
) -> list[set[Edge]]:
    """Return for each instruction of one core's list what it waits for, as indices into the same list.

    `addresses`: byte in each partition, by buffer, of on-chip buffers that the kernel did not place and that reuse memory.
    """
    import numpy as np

    table, edges = table_and_edges(program, instructions, addresses)
    names = operand_names(table.kinds)
    found: list[set[Edge]] = [set() for _ in instructions]
    waiting = np.repeat(np.arange(len(instructions)), np.diff(edges.start))
    for index, before, kind, operand in zip(*(c.tolist() for c in (waiting, *edges[1:])), strict=True):
        found[index].add(Edge(before, KINDS[kind], names[operand]))
    return found


def table_and_edges(
    program: Program, instructions: Sequence[Instruction], addresses: Mapping[int, int] = MappingProxyType({})
) -> tuple[Table, Edges]:
    """Return the instructions of one core as the only ones of a table, and what they wait for. `addresses`: as for `find_edges`."""
    import numpy as np

    table = tabulated(program.buffers, [instructions])
    buffers = table.buffers
    given = np.array([addresses.get(index, -1) for index in range(len(program.buffers))], np.int64)
    address = np.where(buffers.address >= 0, buffers.address, given)
    return table, edges_of(buffers, table.cores[0], address, settling(table.kinds))


def settling(kinds: Sequence[Instruction]) -> np.ndarray:
    """Return 1 for each kind of instruction that is a barrier, in int64: what one guards is settled before it and used after it, so that it
    writes what it reads."""
    import numpy as np

    return np.array([first.op == "core_barrier" for first in kinds], np.int64)


def edges_of(buffers: Buffers, columns: Columns, address: np.ndarray, settles: np.ndarray) -> Edges:
    """Return the edges of one core. `address`: see `regions_of`. `settles`: see `settling`."""
    import numpy as np

    regions = regions_of(buffers, columns, address)
    parts = cut(regions.different)
    instructions, names = len(columns.kind), int(columns.name.max(initial=0)) + 1
    # Each part of each use is read or written once; what settles writes what it read.
    room = int(np.diff(parts.first)[regions.of_view[columns.view]].sum()) * 2
    count = int(parts.part.max(initial=0)) + 1
    written, read = np.full((2, count), -1)
    reader, following, found = np.empty((3, room + 1), np.int64)
    seen, numbers = np.zeros(len(KINDS) * instructions, np.int64), np.zeros(3, np.int64)
    start, edges = np.empty(instructions + 1, np.int64), np.empty((3, 2 * room), np.int64)
    made = native.run(
        find_conflicts,
        Uses(
            instructions, names, columns.kind, columns.use_start, columns.view, columns.role, columns.name, settles, regions.of_view, *parts, written, read, reader, following, seen,
            found, numbers, start, *edges,
        ),
    )  # fmt: skip
    return Edges(start, *edges[:, :made])
