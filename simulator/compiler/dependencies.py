"""Which earlier instructions each instruction must wait for.

An instruction waits where it reads what another wrote, or writes what another read or wrote. Every access is reduced to a
rectangle: on chip, partitions x bytes of the partition; in HBM, rows x bytes of the last dimension. A strided view counts as
the rectangle around it. Each buffer keeps its live accesses in a grid of cells, so that the cost of an access does not grow
with the length of the program. A rectangle that overlaps no other rectangle has one writer and its readers, and needs no
grid. Buffers with an address are views of one memory, so that reuse of an address is a dependency too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from neff_bench.chips.dtypes import SIZE_BYTES
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


def _outside(box: Box, cut: Box) -> Iterator[Box]:
    """The parts of `box` that `cut` leaves, as disjoint rectangles."""
    r0, r1, c0, c1 = box
    top, bottom = max(r0, cut.r0), min(r1, cut.r1)
    if r0 < top:
        yield Box(r0, top, c0, c1)
    if bottom < r1:
        yield Box(bottom, r1, c0, c1)
    if c0 < cut.c0:
        yield Box(top, bottom, c0, cut.c0)
    if cut.c1 < c1:
        yield Box(top, bottom, cut.c1, c1)


_Touch = tuple[Box, int]
"""A rectangle and the instruction that wrote or read it."""

_Use = tuple[bool, int, str]
"""Whether it writes, the number of its region, and the operand's name."""


class _Cell:
    """What is live in one cell: the last writer of each part, and who has read which part since."""

    __slots__ = ("read", "written")

    def __init__(self) -> None:
        self.written: list[_Touch] = []
        self.read: list[_Touch] = []


class _Grid:
    """The live rectangles of one storage on one core, in cells of about the size of its accesses."""

    __slots__ = ("cells", "cols", "rows")

    def __init__(self, sizes: set[tuple[int, int]]) -> None:
        """`sizes`: (rows, bytes) of the accesses."""
        heights, widths = [height for height, _ in sizes], [width for _, width in sizes]
        self.rows = max(min(heights), -(-max(heights) // 8), 1)
        self.cols = max(min(widths), -(-max(widths) // 8), 1)
        self.cells: dict[tuple[int, int], _Cell] = {}

    def _cells(self, box: Box) -> list[_Cell]:
        r0, r1, c0, c1 = box
        row, row_end, col, col_end = r0 // self.rows, (r1 - 1) // self.rows, c0 // self.cols, (c1 - 1) // self.cols
        if row == row_end and col == col_end:
            cell = self.cells.get((row, col))
            if cell is None:
                cell = self.cells[row, col] = _Cell()
            return [cell]
        keys = [(r, c) for r in range(row, row_end + 1) for c in range(col, col_end + 1)]
        return [self.cells.setdefault(key, _Cell()) for key in keys]

    def place(self, box: Box, number: int) -> set[int]:
        """Puts it in its cells; those there that it overlaps."""
        found: set[int] = set()
        for cell in self._cells(box):
            found.update(other for old, other in cell.read if overlap(old, box))
            cell.read.append((box, number))
        return found

    def read(self, box: Box, reader: int, operand: str, edges: set[Edge]) -> None:
        r0, r1, c0, c1 = box
        for cell in self._cells(box):
            for old, writer in cell.written:
                if old[0] < r1 and r0 < old[1] and old[2] < c1 and c0 < old[3] and writer != reader:
                    edges.add(_edge(Edge, (writer, "raw", operand)))
            cell.read.append((box, reader))

    def write(self, box: Box, writer: int, operand: str, edges: set[Edge]) -> None:
        r0, r1, c0, c1 = box
        for cell in self._cells(box):
            for kind, touches in (("waw", cell.written), ("war", cell.read)):
                if not touches:
                    continue
                kept: list[_Touch] = []
                for touch in touches:
                    old, who = touch
                    if not (old[0] < r1 and r0 < old[1] and old[2] < c1 and c0 < old[3]):
                        kept.append(touch)
                        continue
                    if who != writer:
                        edges.add(_edge(Edge, (who, kind, operand)))
                    if not (r0 <= old[0] and old[1] <= r1 and c0 <= old[2] and old[3] <= c1):
                        kept += [(part, who) for part in _outside(old, box)]
                touches[:] = kept
            cell.written.append((box, writer))


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
    accesses = [_accesses(instruction, places.number) for instruction in instructions]
    written = {number for row in accesses for write, number, _ in row if write}
    shared = _shared(places.regions, written)
    writer = [-1] * len(places.regions)
    readers: list[list[int]] = [[] for _ in places.regions]
    found: list[set[Edge]] = []
    for index, row in enumerate(accesses):
        edges: set[Edge] = set()
        for write, number, operand in row:
            grid = shared[number]
            if grid is not None:
                (grid.write if write else grid.read)(places.regions[number][1], index, operand, edges)
                continue
            before = writer[number]
            if before >= 0 and before != index:
                edges.add(_edge(Edge, (before, "waw" if write else "raw", operand)))
            if not write:
                readers[number].append(index)
                continue
            writer[number] = index
            if readers[number]:
                for before in readers[number]:
                    if before != index:
                        edges.add(_edge(Edge, (before, "war", operand)))
                readers[number] = []
        found.append(edges)
    return found


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


def _shared(regions: Sequence[tuple[int, Box]], written: set[int]) -> list[_Grid | None]:
    """For each region the grid of its storage; None for a region that overlaps no other one, and in a storage that no
    instruction writes."""
    storages: dict[int, list[int]] = {}
    for number, (storage, _) in enumerate(regions):
        storages.setdefault(storage, []).append(number)
    shared: list[_Grid | None] = [None] * len(regions)
    for numbers in storages.values():
        if len(numbers) == 1 or not any(number in written for number in numbers):
            continue
        boxes = [regions[number][1] for number in numbers]
        grid = _Grid({(r1 - r0, c1 - c0) for r0, r1, c0, c1 in boxes})
        for number in numbers:
            for other in grid.place(regions[number][1], number):
                shared[number] = shared[other] = grid
        grid.cells.clear()
    return shared
