"""Which earlier instructions each instruction must wait for.

Read after write, write after read and write after write, found by regions of buffers: every access is reduced to a
rectangle (partition rows x bytes in the partition on chip, rows x bytes of the last dimension in HBM), and each buffer
keeps its live accesses in a grid of cells, so that the cost of an access does not grow with the length of the program.
A strided view counts as the rectangle around it. Buffers that the kernel placed at addresses are views of one memory, so
that reuse of an address is a dependency too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from simulator.dtypes import SIZE_BYTES
from simulator.program import Access, Buffer, Instruction, Program


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


def item_bytes(dtype: str) -> int:
    """Bytes of one element of `dtype`; `..._x4` packs four one-byte elements."""
    known = SIZE_BYTES.get(dtype)
    if known is not None:
        return known
    if dtype.endswith("_x4"):
        return 2 if dtype.startswith("float4") else 4
    return 1


def buffer_bytes(buffer: Buffer) -> int:
    size = item_bytes(buffer.dtype)
    for extent in buffer.shape:
        size *= extent
    return size


def row_bytes(buffer: Buffer) -> int:
    """Bytes of one row: one partition on chip, the last dimension in HBM."""
    extents = buffer.shape[-1:] if buffer.memory == "hbm" else buffer.shape[1:]
    size = item_bytes(buffer.dtype)
    for extent in extents:
        size *= extent
    return max(size, 1)


def box_of(access: Access, buffer: Buffer) -> Box:
    """The rectangle around a view."""
    return _box(access, row_bytes(buffer), buffer)


def storage_box(buffer: Buffer) -> Box:
    """The rectangle of a placed buffer in the memory that it lies in."""
    start = buffer.address or 0
    return Box(buffer.partition, buffer.partition + buffer.shape[0], start, start + row_bytes(buffer))


def _box(access: Access, row: int, buffer: Buffer) -> Box:
    if access.dynamic:
        return Box(0, -(-buffer_bytes(buffer) // row), 0, row)
    size = item_bytes(access.dtype)
    r0, c0 = divmod(access.offset * size, row)
    r1, c1 = r0, c0
    for step, count in access.pattern:
        if count == 1:
            continue
        step *= size
        span = step * (count - 1)
        if step % row == 0:
            r0, r1 = (r0, r1 + span // row) if span >= 0 else (r0 + span // row, r1)
        elif span >= 0:
            c1 += span
        else:
            c0 += span
    c1 += size
    if c0 < 0 or c1 > row:
        return Box(r0 + c0 // row, r1 + (c1 - 1) // row + 1, 0, row)
    return Box(r0, r1 + 1, c0, c1)


def overlap(a: Box, b: Box) -> bool:
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


class _Cell:
    """What is live in one cell: the last writer of each part, and who has read which part since."""

    __slots__ = ("written", "read")

    def __init__(self) -> None:
        self.written: list[_Touch] = []
        self.read: list[_Touch] = []


class _Grid:
    """The live rectangles of one storage on one core, in cells of about the size of its accesses."""

    __slots__ = ("cells", "rows", "cols")

    def __init__(self, boxes: Sequence[Box]) -> None:
        heights = [b.r1 - b.r0 for b in boxes]
        widths = [b.c1 - b.c0 for b in boxes]
        self.rows = max(min(heights), -(-max(heights) // 8), 1)
        self.cols = max(min(widths), -(-max(widths) // 8), 1)
        self.cells: dict[tuple[int, int], _Cell] = {}

    def _keys(self, box: Box) -> list[tuple[int, int]]:
        row, col = box.r0 // self.rows, box.c0 // self.cols
        if (box.r1 - 1) // self.rows == row and (box.c1 - 1) // self.cols == col:
            return [(row, col)]
        rows = range(box.r0 // self.rows, (box.r1 - 1) // self.rows + 1)
        cols = range(box.c0 // self.cols, (box.c1 - 1) // self.cols + 1)
        return [(r, c) for r in rows for c in cols]

    def read(self, box: Box, reader: int, operand: str, edges: set[Edge]) -> None:
        for key in self._keys(box):
            cell = self.cells.get(key)
            if cell is None:
                cell = self.cells[key] = _Cell()
            for written, writer in cell.written:
                if overlap(written, box):
                    edges.add(Edge(writer, "raw", operand))
            cell.read.append((box, reader))

    def write(self, box: Box, writer: int, operand: str, edges: set[Edge]) -> None:
        r0, r1, c0, c1 = box
        for key in self._keys(box):
            cell = self.cells.get(key)
            if cell is None:
                cell = self.cells[key] = _Cell()
                cell.written.append((box, writer))
                continue
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
                        edges.add(Edge(who, kind, operand))
                    if not (r0 <= old[0] and old[1] <= r1 and c0 <= old[2] and old[3] <= c1):
                        kept += [(part, who) for part in _outside(old, box)]
                touches[:] = kept
            cell.written.append((box, writer))


class _Places:
    """Where views lie: the storage (a buffer's index, -1 for SBUF and -2 for PSUM that the kernel addresses) and the rectangle
    in it."""

    def __init__(self, buffers: Sequence[Buffer]) -> None:
        self.buffers = buffers
        self.known: dict[int, tuple[int, int, int, int]] = {}

    def find(self, access: Access) -> tuple[int, Box]:
        index = access.buffer
        buffer = self.buffers[index]
        known = self.known.get(index)
        if known is None:
            if buffer.address is None or buffer.memory == "hbm":
                storage, down, right = index, 0, 0
            else:
                storage, down, right = -1 if buffer.memory == "sbuf" else -2, buffer.partition, buffer.address
            known = self.known[index] = storage, row_bytes(buffer), down, right
        storage, row, down, right = known
        box = _box(access, row, buffer)
        return storage, Box(box.r0 + down, box.r1 + down, box.c0 + right, box.c1 + right) if down or right else box


def find_edges(program: Program, instructions: Sequence[Instruction]) -> list[set[Edge]]:
    """For each instruction of one core's list: what it waits for, as indices into the same list."""
    places = _Places(program.buffers)
    boxes: dict[int, list[Box]] = {}
    accesses: list[list[tuple[bool, int, Box, str]]] = []
    written: set[int] = set()
    for instruction in instructions:
        row: list[tuple[bool, int, Box, str]] = []
        for write, operands in ((False, instruction.reads), (True, instruction.writes)):
            for name, access in operands.items():
                storage, box = places.find(access)
                row.append((write, storage, box, name))
                if write:
                    written.add(storage)
                for dynamic in access.dynamic:
                    row.append((False, *places.find(dynamic.index), name))
        if instruction.op == "core_barrier":
            # What the barrier guards is settled before it and used after it.
            row += [(True, buffer, box, name) for write, buffer, box, name in row if not write]
            written.update(buffer for _, buffer, _, _ in row)
        accesses.append(row)
        for _, buffer, box, _ in row:
            boxes.setdefault(buffer, []).append(box)
    grids = {buffer: _Grid(boxes[buffer]) for buffer in written}
    found: list[set[Edge]] = []
    for index, row in enumerate(accesses):
        edges: set[Edge] = set()
        for write, buffer, box, operand in row:
            grid = grids.get(buffer)
            if grid is None:
                continue
            if write:
                grid.write(box, index, operand, edges)
            else:
                grid.read(box, index, operand, edges)
        found.append({edge for edge in edges if edge.before != index})
    return found
