"""Which earlier instructions each instruction must wait for.

An instruction waits where it reads what another wrote, or writes what another read or wrote. Every access is reduced to a
rectangle: on chip, partitions x bytes of the partition; in HBM, rows x bytes of the last dimension. A strided view counts as
the rectangle around it. Rectangles that overlap are cut into parts (parts.py), and each part has its last writer and the
readers since. Buffers with an address are views of one memory, so that reuse of an address is a dependency too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from neff_bench.chips.dtypes import SIZE_BYTES
from neff_bench.simulator.compiler.parts import cut
from neff_bench.simulator.program import Access, Buffer, Instruction, Program


class Box(NamedTuple):
    """Half-open rectangle: rows [r0, r1), bytes [c0, c1) within a row."""

    r0: int
    r1: int
    c0: int
    c1: int


class Edge(NamedTuple):
    """`instruction` waits for `before`. `kind`: "raw", "war" or "waw". `operand`: its name in the waiting instruction."""

    before: int
    kind: str
    operand: str


def box_of(access: Access, buffer: Buffer) -> Box:
    """The rectangle around a view."""
    return _Places([buffer], {}).find(Access(0, access.offset, access.pattern, access.dtype, access.dynamic))[1]


def storage_box(buffer: Buffer) -> Box:
    """The rectangle of a placed buffer in the memory that it lies in."""
    start = buffer.address or 0
    return Box(buffer.partition, buffer.partition + buffer.shape[0], start, start + buffer.row_bytes)


class _Extent(NamedTuple):
    """The rectangle around a view, from its first element: rows [up, down], bytes [left, right). size: bytes of an element."""

    size: int
    up: int
    down: int
    left: int
    right: int


def _extent(pattern: Sequence[tuple[int, int]], size: int, row: int) -> _Extent:
    up = down = left = 0
    right = size
    for step, count in pattern:
        span = step * size * (count - 1)
        if step * size % row == 0:
            up, down = up + min(span // row, 0), down + max(span // row, 0)
        else:
            left, right = left + min(span, 0), right + max(span, 0)
    return _Extent(size, up, down, left, right)


def overlap(a: Box, b: Box) -> bool:
    """Whether two rectangles share a byte."""
    return a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3]


_KINDS = ("raw", "waw", "war")
_Use = tuple[bool, int, str]
"""Whether it writes, the number of its region, and the operand's name."""


_box, _edge = tuple.__new__, tuple.__new__
"""`Box(...)` and `Edge(...)` without the call of a Python function: there are several for each instruction."""


class _Places:
    """Where views lie: the storage (a buffer's index; -1 for SBUF and -2 for PSUM where it has an address) and the rectangle
    in it."""

    def __init__(self, buffers: Sequence[Buffer], addresses: Mapping[int, int]) -> None:
        self.buffers = buffers
        self.addresses = addresses
        self.known: dict[int, tuple[int, int, int, int]] = {}
        self.extents: dict[tuple[object, ...], _Extent] = {}
        self.numbers: dict[tuple[object, ...], int] = {}
        self.regions: list[tuple[int, Box]] = []
        """Each different (storage, rectangle); `numbers` finds them by view and by themselves."""

    def number(self, access: Access) -> int:
        """The region that a view lies in."""
        if access.dynamic:
            return self._number(self.find(access))
        view = (access.buffer, access.offset, access.pattern, access.dtype)
        number = self.numbers.get(view)
        if number is None:
            number = self.numbers[view] = self._number(self.find(access))
        return number

    def _number(self, region: tuple[int, Box]) -> int:
        number = self.numbers.setdefault(region, len(self.regions))
        if number == len(self.regions):
            self.regions.append(region)
        return number

    def find(self, access: Access) -> tuple[int, Box]:
        known = self.known.get(access.buffer)
        if known is None:
            known = self.known[access.buffer] = self._place(access.buffer)
        storage, row, down, right = known
        if access.dynamic:
            rows = -(-self.buffers[access.buffer].size_bytes // row)
            return storage, _box(Box, (down, rows + down, right, row + right))
        key = (access.pattern, access.dtype, row)
        extent = self.extents.get(key)
        if extent is None:
            extent = self.extents[key] = _extent(access.pattern, SIZE_BYTES[access.dtype], row)
        size, e_up, e_down, e_left, e_right = extent
        r0, c0 = divmod(access.offset * size, row)
        left, end = c0 + e_left, c0 + e_right
        if left < 0 or end > row:
            # It runs over the ends of rows.
            top, bottom = r0 + e_up + left // row, r0 + e_down + (end - 1) // row + 1
            return storage, _box(Box, (top + down, bottom + down, right, row + right))
        return storage, _box(Box, (r0 + e_up + down, r0 + e_down + 1 + down, left + right, end + right))

    def _place(self, index: int) -> tuple[int, int, int, int]:
        buffer = self.buffers[index]
        address = self.addresses.get(index) if buffer.address is None else buffer.address
        if address is None or buffer.memory == "hbm":
            return index, buffer.row_bytes, 0, 0
        return -1 if buffer.memory == "sbuf" else -2, buffer.row_bytes, buffer.partition, address


def find_edges(
    program: Program, instructions: Sequence[Instruction], addresses: Mapping[int, int] = MappingProxyType({})
) -> list[set[Edge]]:
    """For each instruction of one core's list: what it waits for, as indices into the same list.

    `addresses`: byte in each partition, by buffer, of on-chip buffers that the kernel did not place and that reuse memory.
    """
    places = _Places(program.buffers, addresses)
    names: dict[str, int] = {}
    uses = [
        (index, write, region, names.setdefault(name, len(names)))
        for index, instruction in enumerate(instructions)
        for write, region, name in _accesses(instruction, places.number)
    ]
    found: list[set[Edge]] = [set() for _ in instructions]
    operands = tuple(names)
    for index, before, kind, operand in _conflicts(uses, places.regions):
        found[index].add(_edge(Edge, (before, _KINDS[kind], operands[operand])))
    return found


def _conflicts(
    uses: Sequence[tuple[int, bool, int, int]], regions: Sequence[tuple[int, Box]]
) -> Iterator[tuple[int, int, int, int]]:
    """(instruction, the one before, index of `_KINDS`, operand) of each pair that must keep its order.

    `uses`: (instruction, whether it writes, region, operand), in program order.
    """
    import numpy as np

    if not uses:
        return iter(())
    parts = cut([storage for storage, _ in regions], [box for _, box in regions])
    instruction, write, region, operand = np.array(uses, dtype=np.int64).T
    # One entry for each part of each use, part by part and in program order within one.
    count = np.diff(parts.first)[region]
    use = np.repeat(np.arange(len(uses)), count)
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
    kind = np.repeat(np.arange(len(_KINDS)), [raw.sum(), waw.sum(), war.sum()])
    length, operands = int(instruction[-1]) + 1, int(operand.max()) + 1
    key = ((instruction[waiting] * length + instruction[before]) * len(_KINDS) + kind) * operands + operand[waiting]
    key, which = np.divmod(np.unique(key[instruction[waiting] != instruction[before]]), operands)
    key, kind = np.divmod(key, len(_KINDS))
    return zip(*(column.tolist() for column in (*np.divmod(key, length), kind, which)), strict=True)


def _accesses(instruction: Instruction, number: Callable[[Access], int]) -> list[_Use]:
    row: list[_Use] = []
    for write, operands in ((False, instruction.reads), (True, instruction.writes)):
        for name, access in operands.items():
            row.append((write, number(access), name))
            for dynamic in access.dynamic:
                row.append((False, number(dynamic.index), name))
    if instruction.op == "core_barrier":
        # What the barrier guards is settled before it and used after it.
        row += [(True, region, name) for write, region, name in row if not write]
    return row
