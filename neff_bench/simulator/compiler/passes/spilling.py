"""Shares SBUF for programs whose tiles do not all fit: which tiles leave, and how they come back.

Which tiles AWS's compiler spills is not known. Here, where an instruction needs room, the tile leaves whose next use is farthest (Belady, IBM Systems
Journal 5(2), 1966). One that holds a load of what is unchanged until then is loaded again; others go to a scratch tensor in HBM and back.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Collection, Container, Mapping, Sequence
from functools import lru_cache
from heapq import heappop, heappush
from math import prod
from typing import NamedTuple

import msgspec

from neff_bench.chips.dtypes import SIZE_BYTES
from neff_bench.simulator.compiler.passes.loads import fills, load_of, renamed
from neff_bench.simulator.compiler.program.capacity import share_bytes
from neff_bench.simulator.compiler.program.dependencies import table_and_edges
from neff_bench.simulator.program import Access, Buffer, Instruction, Program


class Fitted(NamedTuple):
    """A core's instructions and the program's buffers once all tiles fit. `spilled_bytes`: what is written to scratch tensors,
    `reloaded_bytes`: what is read from them. `changed`: whether any tile left."""

    buffers: tuple[Buffer, ...]
    instructions: list[Instruction]
    spilled_bytes: int
    reloaded_bytes: int
    changed: bool


def fitted(
    program: Program, core: int, instructions: Sequence[Instruction], room_bytes: int, spills: bool
) -> Fitted | None:
    """Return the instructions with tiles that leave and come back, so that at most `room_bytes` of each partition are in use.

    Without `spills`, only tiles leave that can be loaded again. None where the operands of one instruction do not fit.
    """
    tiles = _Tiles(program, core, instructions, room_bytes, spills)
    for index in range(len(instructions)):
        if not tiles.step(index):
            return None
    return Fitted(tuple(tiles.buffers), tiles.made, tiles.spilled_bytes, tiles.reloaded_bytes, tiles.changed)


def moved_to_their_use(program: Program, instructions: Sequence[Instruction]) -> list[Instruction]:
    """Return each load right before the first instruction that waits for it, each store right behind the last that it waits for."""
    waits = table_and_edges(program, instructions)[1].waits()
    key = [(index, 1) for index in range(len(instructions))]
    moves = [_moves(program.buffers, step) for step in instructions]
    first_use = list(range(len(instructions)))
    for index in reversed(range(len(instructions))):
        for before in waits[index]:
            first_use[before] = index
    for index, (move, earlier) in enumerate(zip(moves, waits, strict=True)):
        if move == "load" and first_use[index] > index:
            key[index] = (first_use[index], 0)
        elif move == "store" and earlier:
            key[index] = (max(key[before][0] for before in earlier), 2)
    return [instructions[index] for index in sorted(range(len(instructions)), key=lambda index: (key[index], index))]


def _moves(buffers: Sequence[Buffer], step: Instruction) -> str:
    """Return "load" and "store" for DMAs between HBM and SBUF, "" for all else."""
    if not step.op.startswith("dma_"):
        return ""
    read = {buffers[access.buffer].memory for access in step.reads.values()}
    written = {buffers[access.buffer].memory for access in step.writes.values()}
    if (read, written) == ({"hbm"}, {"sbuf"}):
        return "load"
    return "store" if (read, written) == ({"sbuf"}, {"hbm"}) else ""


class _Part(NamedTuple):
    """What a view of a tile holds is in HBM too. `at`: the load of it; None where the source is a scratch tensor, which stays as it is."""

    source: Access
    view: Access
    at: int | None


class _Tiles:
    """Holds what SBUF holds while the instructions of one core go by."""

    def __init__(
        self, program: Program, core: int, instructions: Sequence[Instruction], room_bytes: int, spills: bool
    ) -> None:
        self.buffers = list(program.buffers)
        self.instructions = instructions
        self.core = core
        self.spills = spills
        self.free_bytes = room_bytes
        self.made: list[Instruction] = []
        self.spilled_bytes = self.reloaded_bytes = 0
        self.changed = False
        self.tiles = [tiles_of(program.buffers, step, "sbuf") for step in instructions]
        self.uses: dict[int, deque[int]] = defaultdict(deque)
        self.changes: dict[int, list[int]] = defaultdict(list)
        for index, (step, used) in enumerate(zip(instructions, self.tiles, strict=True)):
            for tile in used:
                self.uses[tile].append(index)
            for to in step.writes.values():
                self.changes[to.buffer].append(index)
        others = [step for other, steps in enumerate(program.cores) if other != core for step in steps]
        self.elsewhere = {access.buffer for step in others for access in (*step.reads.values(), *step.writes.values())}
        self.stays = staying(program.buffers, instructions) | self.elsewhere
        self.here: dict[int, int] = {}  # by tile: the buffer that holds it now
        self.written: dict[int, dict[Access, None]] = defaultdict(dict)
        self.copies: dict[int, list[_Part]] = {}  # of tiles whose contents are in HBM: what to read, in this order
        self.scratch: dict[int, int] = {}
        self.unused: dict[tuple[tuple[int, ...], str], deque[int]] = defaultdict(deque)
        self.farthest: list[tuple[int, int]] = []  # (minus the next use, tile), some of them out of date

    def step(self, index: int) -> bool:
        """Take the next instruction. False where its operands do not fit."""
        used = self.tiles[index]
        missing = [tile for tile in used if tile not in self.here]
        self.free_bytes -= sum(share_bytes(self.buffers[tile]) for tile in missing)
        while self.free_bytes < 0:
            if not self._one_leaves(used):
                return False
        for tile in missing:
            self._come(tile)
        step = self.instructions[index]
        self.made.append(renamed(step, self.here))
        self._note_writes(step, index)
        for tile in used:
            self.uses[tile].popleft()
            self._after_use(tile)
        return True

    def _note_writes(self, step: Instruction, index: int) -> None:
        for to in step.writes.values():
            if to.buffer in self.here:
                before = self.copies.pop(to.buffer, None if self.written[to.buffer] else [])
                self.written[to.buffer][to] = None
                load = load_of(self.buffers, step)
                if load is None or load[0].buffer in self.elsewhere:
                    continue
                if fills(self.buffers, to):
                    before = []
                if before is not None:
                    others = [part for part in before if part.view != to]
                    self.copies[to.buffer] = [*others, _Part(*load, index)]

    def _after_use(self, tile: int) -> None:
        """Give the room of a tile that is done back; else note when it is needed again."""
        if not self.uses[tile]:
            self.free_bytes += share_bytes(self.buffers[tile])
            del self.here[tile]
            if tile in self.scratch:
                self.unused[self._form(tile)].append(self.scratch.pop(tile))
        elif tile not in self.stays and (self.spills or self._is_in_hbm(tile)):
            heappush(self.farthest, (-self.uses[tile][0], tile))

    def _is_in_hbm(self, tile: int) -> bool:
        """Return whether the tile's contents are in HBM until its next use."""
        return tile in self.copies and all(self._is_unchanged(part, self.uses[tile][0]) for part in self.copies[tile])

    def _is_unchanged(self, part: _Part, until: int) -> bool:
        if part.at is None:
            return True
        changes = self.changes.get(part.source.buffer, [])
        following = bisect_right(changes, part.at)
        return following == len(changes) or changes[following] >= until

    def _one_leaves(self, used: Collection[int]) -> bool:
        tile = needed_last(self.farthest, self.here, self.uses, used)
        if tile is None:
            return False
        if not self._is_in_hbm(tile):
            self._spill(tile)
        del self.here[tile]
        self.free_bytes += share_bytes(self.buffers[tile])
        self.changed = True
        return True

    def _spill(self, tile: int) -> None:
        """Write what the tile holds to its scratch tensor."""
        if tile not in self.scratch:
            self.scratch[tile] = self._scratch_tensor(tile)
        parts = []
        for view in whole_or_parts(self.buffers[tile], tuple(self.written[tile])):
            to = msgspec.structs.replace(view, buffer=self.scratch[tile])
            parts.append(_Part(to, msgspec.structs.replace(view, buffer=tile), None))
            self._copy(to, msgspec.structs.replace(view, buffer=self.here[tile]), tile)
            self.spilled_bytes += _size_bytes(view)
        self.copies[tile] = parts

    def _scratch_tensor(self, tile: int) -> int:
        unused = self.unused[self._form(tile)]
        if unused:
            return unused.popleft()
        buffer = self.buffers[tile]
        self.buffers.append(
            Buffer("spill", "hbm", buffer.shape, buffer.dtype, "internal", self.core, b"", None, buffer.source)
        )
        return len(self.buffers) - 1

    def _form(self, tile: int) -> tuple[tuple[int, ...], str]:
        return self.buffers[tile].shape, self.buffers[tile].dtype

    def _come(self, tile: int) -> None:
        """Add a tile that is new, or that comes back into a buffer of its own."""
        self.here[tile] = tile
        if tile not in self.copies:
            return
        self.buffers.append(self.buffers[tile])
        self.here[tile] = len(self.buffers) - 1
        for part in self.copies[tile]:
            self.reloaded_bytes += _size_bytes(part.view) if part.at is None else 0
            self._copy(msgspec.structs.replace(part.view, buffer=self.here[tile]), part.source, tile)

    def _copy(self, to: Access, source: Access, tile: int) -> None:
        self.made.append(Instruction("dma_copy", "sync", {"dst": to}, {"src": source}, {}, self.buffers[tile].source))


def _size_bytes(view: Access) -> int:
    return view.elements * SIZE_BYTES[view.dtype]


def needed_last(
    farthest: list[tuple[int, int]], here: Container[int], uses: Mapping[int, Sequence[int]], used: Container[int]
) -> int | None:
    """Return the tile that may leave and is needed again last; None where none may.

    farthest: a heap of (minus the next use, tile), some of them out of date; what is looked at is taken out. here: the tiles in memory.
    uses: where each is used from now on. used: the tiles of the instruction that needs room, which stay.
    """
    while farthest:
        minus_next, tile = heappop(farthest)
        if tile in here and uses[tile][0] == -minus_next and tile not in used:
            return tile
    return None


def tiles_of(buffers: Sequence[Buffer], step: Instruction, memory: str) -> tuple[int, ...]:
    """Return the buffers in SBUF or PSUM that an instruction uses, each once."""
    accesses = [*step.reads.values(), *step.writes.values()]
    accesses += [part.index for access in accesses for part in access.dynamic]
    return tuple(dict.fromkeys(access.buffer for access in accesses if buffers[access.buffer].memory == memory))


def rows_at_once(buffers: Sequence[Buffer], instructions: Sequence[Instruction]) -> int:
    """Return the most bytes of a partition that tiles take which the compiler places, if none lies beside another in other partitions."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for index, step in enumerate(instructions):
        for tile in tiles_of(buffers, step, "sbuf"):
            if buffers[tile].address is None:
                first.setdefault(tile, index)
                last[tile] = index
    coming: dict[int, int] = defaultdict(int)
    leaving: dict[int, int] = defaultdict(int)
    for tile in first:
        coming[first[tile]] += buffers[tile].row_bytes
        leaving[last[tile]] += buffers[tile].row_bytes
    here = most = 0
    for index in sorted({*coming, *leaving}):
        here += coming[index]
        most = max(most, here)
        here -= leaving[index]
    return most


def staying(buffers: Sequence[Buffer], instructions: Sequence[Instruction]) -> set[int]:
    """Return tiles that the kernel placed, and those with addresses of run time."""
    found = {index for index, buffer in enumerate(buffers) if buffer.address is not None}
    for step in instructions:
        for access in (*step.reads.values(), *step.writes.values()):
            if access.dynamic:
                found.update((access.buffer, *(part.index.buffer for part in access.dynamic)))
    return found


def whole_or_parts(buffer: Buffer, written: tuple[Access, ...]) -> tuple[Access, ...]:
    """Return the whole tile where all of it was written, else each view that was."""
    rows, row = buffer.shape[0], prod(buffer.shape[1:])
    covered = _cover(rows * row, buffer.dtype, tuple((view.offset, view.pattern, view.dtype) for view in written))
    return (Access(0, 0, ((row, rows), (1, row)), buffer.dtype),) if covered else written


@lru_cache(maxsize=1024)
def _cover(elements: int, dtype: str, views: tuple[tuple[int, tuple[tuple[int, int], ...], str], ...]) -> bool:
    """Return whether views, as (offset, pattern, dtype), cover all elements of a tile."""
    import numpy as np

    item = SIZE_BYTES[dtype]
    found = np.zeros(elements, bool)
    for offset, pattern, other in views:
        if SIZE_BYTES[other] != item:
            return False
        shape, steps = tuple(size for _, size in pattern), tuple(step for step, _ in pattern)
        np.ndarray(shape, bool, found, offset, steps)[...] = True
    return bool(found.all())
