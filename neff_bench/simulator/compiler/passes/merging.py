"""Joins neighbouring tiles in one instruction: what AWS's compiler does to loops over tiles.

- Instructions of one line that do the same to neighbouring tiles become one, as long as a partition of the whole has at most 512 elements, and
  of no more than eight tiles. Tiles of their own are laid side by side: in SBUF as many as that, in PSUM those of one bank, where
  one product writes each and all of them are that few.
- DMAs of neighbouring tiles become one of at most 512 KiB. What moves each element by itself stays apart.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from neff_bench.chips.dtypes import SIZE_BYTES
from neff_bench.simulator.compiler.passes.contraction import Contraction
from neff_bench.simulator.compiler.passes.loads import load_of
from neff_bench.simulator.compiler.program.dependencies import table_and_edges
from neff_bench.simulator.compiler.program.uses import Uses, uses_of
from neff_bench.simulator.costs.engine_work import POINTERS
from neff_bench.simulator.program import Access, Buffer, Dynamic, Instruction, Program

BANK_BYTES = 2048
ELEMENTS_MAX = 512
"""The most bytes, and the most elements, of one partition of a merged operand."""
TILES_MAX = 8
"""The most tiles of a merged instruction of an engine."""
DMA_BYTES_MAX = 512 * 1024
MERGED = frozenset({
    "tensor_copy", "tensor_reduce", "reciprocal", "activation", "tensor_scalar", "tensor_tensor", "dma_copy",
})  # fmt: skip


class Place(NamedTuple):
    """Holds where a tile lies once it is laid beside others: as number `position` in `buffer`, whose rows hold `tiles` of them."""

    buffer: int
    position: int
    tiles: int


def merged_tiles(
    program: Program, instructions: Sequence[Instruction], operations: frozenset[str] = MERGED
) -> tuple[tuple[Buffer, ...], list[Instruction]]:
    """Return the buffers and the instructions of one core afterwards; every result stays what it was. `operations`: those that are merged."""
    steps = list(instructions)
    graph = Contraction(table_and_edges(program, steps)[1].waits())
    buffers = list(program.buffers)
    places: dict[int, Place] = {}
    uses = uses_of(steps)
    merged: dict[int, Instruction] = {}
    # DMAs come first: they take most tiles at once, and what lies side by side for them does for smaller parts too.
    for members in sorted(
        _alike(program.buffers, steps, operations), key=lambda members: steps[members[0]].op != "dma_copy"
    ):
        for run in _runs(steps, members):
            limit = len(run) if steps[run[0]].op == "dma_copy" else TILES_MAX
            size = min(limit, _tiles_at_once(buffers, steps, run, uses))
            for part in (run[at : at + size] for at in range(0, len(run), max(size, 1))):
                families = _families(buffers, steps, part, uses, places) if len(part) > 1 else None
                if families is not None and graph.merge(part):
                    for family in families:
                        _lay_side_by_side(buffers, places, family)
                    merged[part[0]] = _one(buffers, steps, part)
    ranks = list(range(len(steps)))
    # What a merged load waits for comes with it: else all that lies between would come first, and its tiles would be kept meanwhile.
    for first in (index for index, step in merged.items() if load_of(buffers, step)):
        for index in graph.held_up_by(first):
            ranks[index] = min(ranks[index], ranks[first])
    order = graph.order(ranks)
    if order is None:
        return program.buffers, steps
    return tuple(buffers), [_placed(merged.get(index, steps[index]), buffers, places) for index in order]


def _alike(buffers: Sequence[Buffer], steps: Sequence[Instruction], operations: frozenset[str]) -> list[list[int]]:
    """Return instructions of one line that do the same to views of the same form, in program order; two of them are within the limits."""

    def form(name: str, access: Access) -> tuple[object, ...]:
        memory = buffers[access.buffer].memory
        return name, access.pattern, access.dtype, memory, access.buffer if memory == "hbm" else None

    found: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for index, step in enumerate(steps):
        # One reduction for all of them would be another.
        if step.op not in operations or "reduce_cmd" in step.attributes:
            continue
        accesses = (*step.reads.items(), *step.writes.items())
        if not any(access.dynamic for _, access in accesses) and _most(accesses, step.op) >= 2:
            views = tuple(form(name, access) for name, access in accesses)
            found[step.source, step.op, step.engine, repr(step.attributes), views].append(index)
    return [members for members in found.values() if len(members) > 1]


def _most(accesses: Sequence[tuple[str, Access]], op: str) -> int:
    """Return how many instructions with these operands one may replace."""
    if op == "dma_copy":
        return DMA_BYTES_MAX // max(access.elements * SIZE_BYTES[access.dtype] for _, access in accesses)
    return ELEMENTS_MAX // max(access.columns for _, access in accesses)


def _runs(steps: Sequence[Instruction], members: Sequence[int]) -> list[list[int]]:
    """Return the members in pieces whose operands go on by one stride, or have a tile of their own each."""
    runs: list[list[int]] = []
    tiles: dict[str, set[int]] = {}
    for index in members:
        if runs and _goes_on(steps, runs[-1], index, tiles):
            runs[-1].append(index)
        else:
            runs.append([index])
            tiles = {}
        for name in (*steps[index].reads, *steps[index].writes):
            tiles.setdefault(name, set()).add(_operand(steps[index], name).buffer)
    return [run for run in runs if len(run) > 1]


def _goes_on(steps: Sequence[Instruction], run: Sequence[int], index: int, tiles: dict[str, set[int]]) -> bool:
    """Return whether an instruction continues a run. `tiles`: the buffers of each operand of the run."""
    first, step = steps[run[0]], steps[index]
    for name in (*first.reads, *first.writes):
        one, other = _operand(first, name), _operand(step, name)
        if name in POINTERS:
            if one != other:
                return False
        elif one.buffer == other.buffer:
            stride = _stride(steps, (run[0], run[1] if len(run) > 1 else index), name)
            if stride is None or other.offset != one.offset + len(run) * stride:
                return False
            if stride < 0 or (stride == 0 and name in step.writes):
                return False
        elif other.offset != one.offset or other.buffer in tiles[name] or len(tiles[name]) < len(run):
            return False
    return True


def _operand(step: Instruction, name: str) -> Access:
    return step.writes[name] if name in step.writes else step.reads[name]


def _stride(steps: Sequence[Instruction], run: Sequence[int], name: str) -> int | None:
    """Return the elements from an operand of the first to that of the second; None for two buffers."""
    one, other = (_operand(steps[at], name) for at in run[:2])
    return other.offset - one.offset if one.buffer == other.buffer else None


def _tiles_at_once(buffers: Sequence[Buffer], steps: Sequence[Instruction], run: Sequence[int], uses: Uses) -> int:
    """Return how many of a run become one instruction; 1 for none."""
    first = steps[run[0]]
    accesses = (*first.reads.items(), *first.writes.items())
    most = _most(accesses, first.op)
    if first.op == "dma_copy":
        loads_or_stores = {buffers[access.buffer].memory for _, access in accesses} == {"hbm", "sbuf"}
        alike = len({access.pattern[0][1] for _, access in accesses}) == 1
        in_rows = all(access.unit_stride for _, access in accesses)
        return min(len(run), most) if loads_or_stores and alike and in_rows and not first.attributes else 1
    banks = []
    for name, access in accesses:
        buffer = buffers[access.buffer]
        if buffer.memory == "psum" and _stride(steps, run, name) is None:
            if any(len(uses.writers[_operand(steps[at], name).buffer]) > 1 for at in run):
                return 1
            banks.append(BANK_BYTES // buffer.row_bytes)
    if not banks:
        return min(len(run), most)
    size = min(len(run), *banks)
    return size if size <= most else 1


def _families(
    buffers: Sequence[Buffer], steps: Sequence[Instruction], run: Sequence[int], uses: Uses, places: dict[int, Place]
) -> list[tuple[int, ...]] | None:
    """Return the tiles that have to lie side by side and do not yet; None where they cannot."""
    found = []
    for name in (*steps[run[0]].reads, *steps[run[0]].writes):
        tiles = tuple(_operand(steps[at], name).buffer for at in run)
        if tiles in found:
            continue
        if len(set(tiles)) == 1:
            if not _within_rows(buffers[tiles[0]], steps, run, name):
                return None
            continue
        if any(tile in places for tile in tiles):
            first = places.get(tiles[0])
            if first is None or [places.get(tile) for tile in tiles] != [
                first._replace(position=first.position + number) for number in range(len(run))
            ]:
                return None
            continue
        if not all(_can_move(buffers[tile], buffers[tiles[0]], uses, tile) for tile in tiles):
            return None
        found.append(tiles)
    return found


def _within_rows(buffer: Buffer, steps: Sequence[Instruction], run: Sequence[int], name: str) -> bool:
    """Return whether the views of a run lie in the same partitions: one stride cannot go from one to the next."""
    if buffer.memory == "hbm":
        return True
    first, last = _operand(steps[run[0]], name), _operand(steps[run[-1]], name)
    row = buffer.row_bytes // SIZE_BYTES[first.dtype]
    return first.offset // row == last.offset // row


def _can_move(tile: Buffer, first: Buffer, uses: Uses, index: int) -> bool:
    alike = (tile.memory, tile.shape, tile.dtype, tile.core) == (first.memory, first.shape, first.dtype, first.core)
    free = tile.memory in ("sbuf", "psum") and tile.kind == "internal" and tile.address is None
    return alike and free and uses.dtypes[index] == {tile.dtype} and index not in uses.addressed


def _lay_side_by_side(buffers: list[Buffer], places: dict[int, Place], tiles: Sequence[int]) -> None:
    first = buffers[tiles[0]]
    row = first.row_bytes // SIZE_BYTES[first.dtype]
    for position, tile in enumerate(tiles):
        places[tile] = Place(len(buffers), position, len(tiles))
    buffers.append(msgspec.structs.replace(first, shape=(first.shape[0], len(tiles) * row)))


def _one(buffers: Sequence[Buffer], steps: Sequence[Instruction], run: Sequence[int]) -> Instruction:
    """Return the instruction that does what the run did. Tiles of their own count as lying one row apart until they are placed."""
    first = steps[run[0]]
    views = {}
    for name in (*first.reads, *first.writes):
        access, stride = _operand(first, name), _stride(steps, run, name)
        if stride is None:
            buffer = buffers[access.buffer]
            stride = buffer.row_bytes // SIZE_BYTES[buffer.dtype]
        if not (name in POINTERS and stride == 0):
            pattern = (access.pattern[0], (stride, len(run)), *access.pattern[1:])
            access = msgspec.structs.replace(access, pattern=pattern)
        views[name] = access
    attributes = first.attributes
    if first.op == "tensor_reduce":
        axes = attributes["axis"]
        inner = [axis + 1 if axis > 0 else axis for axis in ([axes] if isinstance(axes, int) else axes)]
        attributes = {**attributes, "axis": inner}
    return msgspec.structs.replace(
        first,
        reads={name: views[name] for name in first.reads},
        writes={name: views[name] for name in first.writes},
        attributes=attributes,
    )


def _placed(step: Instruction, buffers: Sequence[Buffer], places: dict[int, Place]) -> Instruction:
    """Return the instruction with its operands where their tiles lie now."""
    accesses = (*step.reads.values(), *step.writes.values())
    indices = [part.index for access in accesses for part in access.dynamic]
    if not any(access.buffer in places for access in (*accesses, *indices)):
        return step
    reads = {name: _moved(access, buffers, places) for name, access in step.reads.items()}
    writes = {name: _moved(access, buffers, places) for name, access in step.writes.items()}
    return msgspec.structs.replace(step, reads=reads, writes=writes)


def _moved(access: Access, buffers: Sequence[Buffer], places: dict[int, Place]) -> Access:
    """Move a view. On chip the first pair of a pattern walks the partitions, the others stay within a row. What a view takes its addresses from moves too."""
    if access.dynamic:
        parts = tuple(Dynamic(part.step, _moved(part.index, buffers, places)) for part in access.dynamic)
        access = msgspec.structs.replace(access, dynamic=parts)
    place = places.get(access.buffer)
    if place is None:
        return access
    row = buffers[access.buffer].row_bytes // SIZE_BYTES[access.dtype]
    partition, column = divmod(access.offset, row)
    step, size = access.pattern[0]
    return msgspec.structs.replace(
        access,
        buffer=place.buffer,
        offset=partition * row * place.tiles + place.position * row + column,
        pattern=((step * place.tiles, size), *access.pattern[1:]),
    )
