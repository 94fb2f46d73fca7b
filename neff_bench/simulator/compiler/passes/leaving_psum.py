"""Shares PSUM for programs whose tiles do not all fit: which of them are copied to SBUF, as AWS's compiler for the old dialect does.

Which tiles it copies is not known. Here, where an instruction needs room, the tile leaves whose next use is farthest (Belady, IBM Systems Journal 5(2),
1966). Readers read the copy in SBUF. A tile that is written again comes back into PSUM first.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Sequence
from heapq import heappush

import msgspec

from neff_bench.simulator.compiler.passes.loads import fills, renamed
from neff_bench.simulator.compiler.passes.spilling import needed_last, staying, tiles_of, whole_or_parts
from neff_bench.simulator.compiler.program.capacity import capacity_bytes, share_bytes
from neff_bench.simulator.program import Access, Buffer, Instruction, Program


def within_psum(program: Program) -> Program | None:
    """Return the program with tiles that leave PSUM where there is no room for them. None where the operands of one instruction do not fit."""
    buffers, cores = list(program.buffers), []
    for core in range(len(program.cores)):
        tiles = _Tiles(program, core, buffers)
        for index in range(len(program.cores[core])):
            if not tiles.step(index):
                return None
        cores.append(tuple(tiles.made))
    return msgspec.structs.replace(program, buffers=tuple(buffers), cores=tuple(cores))


class _Tiles:
    """Holds what PSUM holds while the instructions of one core go by. `buffers` grows by the copies."""

    def __init__(self, program: Program, core: int, buffers: list[Buffer]) -> None:
        self.buffers = buffers
        self.core = core
        self.instructions = program.cores[core]
        self.free_bytes = capacity_bytes(program.target, "psum")
        self.made: list[Instruction] = []
        self.used = [tiles_of(program.buffers, step, "psum") for step in self.instructions]
        self.uses: dict[int, deque[int]] = defaultdict(deque)
        for index, tiles in enumerate(self.used):
            for tile in tiles:
                self.uses[tile].append(index)
        self.stays = staying(program.buffers, self.instructions) | _counted_by_the_pe(self.instructions)
        self.here: dict[int, int] = {}  # by tile: the buffer in PSUM that holds it
        self.left: dict[int, int] = {}  # by tile: its copy in SBUF
        self.written: dict[int, dict[Access, None]] = defaultdict(dict)
        self.farthest: list[tuple[int, int]] = []  # (minus the next use, tile), some of them out of date

    def step(self, index: int) -> bool:
        """Take the next instruction. False where its operands do not fit."""
        step, used = self.instructions[index], self.used[index]
        changed = {to.buffer for to in step.writes.values()}
        coming = [tile for tile in used if tile not in self.here and (tile in changed or tile not in self.left)]
        self.free_bytes -= sum(share_bytes(self.buffers[tile]) for tile in coming)
        while self.free_bytes < 0:
            if not self._one_leaves(used):
                return False
        for tile in coming:
            self._come(tile, step)
        self.made.append(renamed(step, {**self.left, **self.here}))
        for to in step.writes.values():
            if to.buffer in self.here:
                self.written[to.buffer][to] = None
        for tile in used:
            self.uses[tile].popleft()
            self._after_use(tile)
        return True

    def _after_use(self, tile: int) -> None:
        """Give the room of a tile that is done back; else note when it is needed again."""
        if tile not in self.here:
            return
        if not self.uses[tile]:
            self.free_bytes += share_bytes(self.buffers[tile])
            del self.here[tile]
        elif tile not in self.stays:
            heappush(self.farthest, (-self.uses[tile][0], tile))

    def _one_leaves(self, used: Collection[int]) -> bool:
        tile = needed_last(self.farthest, self.here, self.uses, used)
        if tile is None:
            return False
        self.left[tile] = self._another(tile, "sbuf")
        self._copy(tile, self.left[tile], self.here.pop(tile))
        self.free_bytes += share_bytes(self.buffers[tile])
        return True

    def _come(self, tile: int, step: Instruction) -> None:
        """Add a tile that is new, or that comes back into a buffer of its own."""
        copy = self.left.pop(tile, None)
        self.here[tile] = tile if copy is None else self._another(tile, "psum")
        if copy is not None and not _overwrites(self.buffers, step, tile):
            self._copy(tile, self.here[tile], copy)

    def _another(self, tile: int, memory: str) -> int:
        self.buffers.append(msgspec.structs.replace(self.buffers[tile], memory=memory))
        return len(self.buffers) - 1

    def _copy(self, tile: int, to: int, source: int) -> None:
        """Record a copy of what was written of `tile`, on an engine that the compiler may choose."""
        for view in whole_or_parts(self.buffers[tile], tuple(self.written[tile])):
            writes, reads = (msgspec.structs.replace(view, buffer=buffer) for buffer in (to, source))
            self.made.append(
                Instruction("tensor_copy", "vector", {"dst": writes}, {"src": reads}, {}, self.buffers[tile].source)
            )


def _counted_by_the_pe(instructions: Sequence[Instruction]) -> set[int]:
    """Return tiles whose products do not say whether they add: the PE knows by what it wrote itself."""
    return {
        to.buffer
        for step in instructions
        if step.op == "nc_matmul" and "accumulate" not in step.attributes
        for to in step.writes.values()
    }


def _overwrites(buffers: Sequence[Buffer], step: Instruction, tile: int) -> bool:
    """Return whether an instruction leaves nothing of what a tile held."""
    if step.attributes.get("accumulate") or any(read.buffer == tile for read in step.reads.values()):
        return False
    return any(to.buffer == tile and fills(buffers, to) for to in step.writes.values())
