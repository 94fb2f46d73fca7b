"""Which earlier instructions each instruction must wait for.

An instruction waits where it reads what another wrote, or writes what another read or wrote. Regions (rectangles.py) that overlap are
cut into parts (parts.py), and each part has its last writer and the readers since.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from neff_bench.simulator import native
from neff_bench.simulator.compiler.program.columns import (
    WRITE,
    Buffers,
    Columns,
    Table,
    item_bytes,
    operand_names,
    tabulated,
)
from neff_bench.simulator.compiler.program.parts import Parts, cut
from neff_bench.simulator.compiler.program.rectangles import Regions, regions_of
from neff_bench.simulator.program import Instruction, Program

if TYPE_CHECKING:
    import numpy as np

KINDS = ("raw", "waw", "war")


class Edges(NamedTuple):
    """What the instructions of a core wait for, instruction by instruction, each once. Arrays of int64.

    start: where the edges of each instruction begin, and the end. before: the earlier instruction. kind: index into `KINDS`.
    operand: its name in the waiting instruction, as an index into `operand_names`.
    """

    start: np.ndarray
    before: np.ndarray
    kind: np.ndarray
    operand: np.ndarray

    def waits(self) -> list[list[int]]:
        """By instruction: the earlier ones that it waits for."""
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
    """For each instruction of one core's list: what it waits for, as indices into the same list.

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
    """The instructions of one core as the only ones of a table, and what they wait for. `addresses`: as for `find_edges`."""
    import numpy as np

    table = tabulated(program.buffers, [instructions])
    buffers = table.buffers
    given = np.array([addresses.get(index, -1) for index in range(len(program.buffers))], np.int64)
    address = np.where(buffers.address >= 0, buffers.address, given)
    return table, edges_of(buffers, table.cores[0], address, settling(table.kinds))


def settling(kinds: Sequence[Instruction]) -> np.ndarray:
    """1 for each kind of instruction that is a barrier, in int64: what one guards is settled before it and used after it, so that it
    writes what it reads."""
    import numpy as np

    return np.array([first.op == "core_barrier" for first in kinds], np.int64)


def edges_of(buffers: Buffers, columns: Columns, address: np.ndarray, settles: np.ndarray) -> Edges:
    """The edges of one core. `address`: see `regions_of`. `settles`: see `settling`."""
    if native.library() is None:
        return plain_edges(columns, regions_of(buffers, columns, address), settles)
    return _compiled(buffers, columns, address, settles)


def _compiled(buffers: Buffers, columns: Columns, address: np.ndarray, settles: np.ndarray) -> Edges:
    """`plain_edges` in C, with the regions."""
    import numpy as np

    start = np.empty(len(columns.kind) + 1, np.int64)
    count, room = _EDGES_OF_A_USE * len(columns.view), -1
    while count > room:
        room = count
        found = np.empty((3, room), np.int64)
        count = native.call(
            "edges_of", columns.block, (len(address), *buffers), address, item_bytes(), settles, room,
            (start, *native.rows(found)),
        )  # fmt: skip
    return Edges(start, *found[:, :count])


_EDGES_OF_A_USE = 4
"""For which there is room at first."""


def plain_edges(columns: Columns, regions: Regions, settles: np.ndarray) -> Edges:
    """The edges of one core, for where nothing is compiled. simulator/native/edges.c is the same in C."""
    import numpy as np

    instructions = len(columns.kind)
    if not len(columns.view):
        return Edges(np.zeros(instructions + 1, np.int64), *np.zeros((3, 0), np.int64))
    uses = _uses(columns, regions, settles[columns.kind])
    instruction, before, kind, operand = _conflicts(uses, cut(regions.different))
    start = np.searchsorted(instruction, np.arange(instructions + 1)).astype(np.int64)
    return Edges(start, before, kind, operand)


def _uses(columns: Columns, regions: Regions, settles: np.ndarray) -> np.ndarray:
    """(instruction, whether it writes, region, operand) of each use, in program order, in (4, n)."""
    import numpy as np

    instruction = np.repeat(np.arange(len(settles)), np.diff(columns.use_start))
    writes = columns.role == WRITE
    uses = np.stack([instruction, writes, regions.of_view[columns.view], columns.name])
    again = uses[:, (settles[instruction] > 0) & ~writes]
    again[1] = 1
    uses = np.concatenate([uses, again], axis=1)
    return uses[:, np.argsort(uses[0], kind="stable")]


def _conflicts(uses: np.ndarray, parts: Parts) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(instruction, the one before, index of `KINDS`, operand) of each pair that must keep its order, in the order of these."""
    import numpy as np

    instruction, write, region, operand = uses
    # One entry for each part of each use, part by part and in program order within one.
    count = np.diff(parts.first)[region]
    use = np.repeat(np.arange(len(region)), count)
    part = parts.part[np.arange(len(use)) + np.repeat(parts.first[region] - (np.cumsum(count) - count), count)]
    order = np.argsort(part, kind="stable")
    use, part = use[order], part[order]
    here, number = np.arange(len(use)), len(use)
    writes = write[use] > 0
    written = np.maximum.accumulate(np.where(writes, here, -1))
    earlier = np.append(-1, written[:-1])  # the last write before each entry
    earlier[earlier < np.searchsorted(part, part)] = -1
    later = np.minimum.accumulate(np.where(writes, here, number)[::-1])[::-1]  # the next write, for a read
    later[later >= np.searchsorted(part, part, "right")] = number
    raw, waw, war = (earlier >= 0) & ~writes, (earlier >= 0) & writes, (later < number) & ~writes
    waiting = np.concatenate([use[raw], use[waw], use[later[war]]])
    before = np.concatenate([use[earlier[raw]], use[earlier[waw]], use[war]])
    kind = np.repeat(np.arange(len(KINDS)), [raw.sum(), waw.sum(), war.sum()])
    length, operands = int(instruction[-1]) + 1, int(operand.max()) + 1
    key = ((instruction[waiting] * length + instruction[before]) * len(KINDS) + kind) * operands + operand[waiting]
    key, which = np.divmod(np.unique(key[instruction[waiting] != instruction[before]]), operands)
    key, kind = np.divmod(key, len(KINDS))
    return *np.divmod(key, length), kind, which
