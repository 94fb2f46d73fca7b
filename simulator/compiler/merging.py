"""Neighbouring tiles in one instruction, and PSUM read where it lies: what AWS's compiler does to loops over tiles.

Source: the instructions of eight traces of attention, four of them fused, beside their kernels (github
allenkchau/trainium-kernel-fusion @d709ddf1, profiling/artifacts; development data). What they show:

- A copy from PSUM to SBUF that only Vector and Scalar read is left out: they read PSUM. So does an operation of two tiles where one
  product wrote the one: in AWS's first tutorial on Mamba (aws-neuron/aws-neuron-sdk @72825d5, general/nki/tutorials/fused_mamba.rst, trn1) Scalar
  copies the rows that the PE repeats with 8192 columns, which take more than a bank, and with 512 it does not. At most half of the banks are used like
  this, so a loop is taken in blocks of as many rounds; of several tiles of one round it is the first ones. In a block the products
  whose results are copied come first, then those that are read in place, and then what reads them.
- Instructions of one line that do the same to neighbouring tiles become one, as long as a partition of the whole has at most 512
  elements. The traces have no more than eight tiles in one, as many as their longest loop has rounds, and so has this. Tiles of their own are laid side by side: in SBUF as many as that, in PSUM those of one bank, where one product writes each
  and all of them are that few.
- DMAs of neighbouring tiles become one of at most 512 KiB. Those of the traces move rows; what moves each element by itself stays apart.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from neff_bench.chips.dtypes import SIZE_BYTES
from neff_bench.simulator.compiler.contraction import Contraction
from neff_bench.simulator.compiler.dependencies import table_and_edges
from neff_bench.simulator.compiler.loads import load_of
from neff_bench.simulator.compiler.rectangles import box_of, overlap
from neff_bench.simulator.compiler.uses import Uses, uses_of
from neff_bench.simulator.costs.engines import POINTERS
from neff_bench.simulator.program import Access, Buffer, Dynamic, Instruction, Program

ELEMENTS_MAX = 512
"""Of one partition of a merged operand."""
TILES_MAX = 8
"""Of a merged instruction of an engine."""
DMA_BYTES_MAX = 512 * 1024
BANK_BYTES = 2048
BANKS_IN_PLACE = 4
"""PSUM banks, of eight, whose tiles are read in place."""

_READ_PSUM = {"tensor_reduce": ("data",), "activation": ("data",), "tensor_scalar": ("data",)}
"""Operations that read PSUM in place, and the operands that may lie there."""
_READ_PRODUCT = {**_READ_PSUM, "tensor_tensor": ("data1", "data2")}
"""Those that read a tile in place which one product wrote."""
MERGED = frozenset({
    "tensor_copy", "tensor_reduce", "reciprocal", "activation", "tensor_scalar", "tensor_tensor", "dma_copy",
})  # fmt: skip


class Place(NamedTuple):
    """Where a tile lies once it is laid beside others: as number `position` in `buffer`, whose rows hold `tiles` of them."""

    buffer: int
    position: int
    tiles: int


def merged_tiles(
    program: Program, instructions: Sequence[Instruction], operations: frozenset[str] = MERGED
) -> tuple[tuple[Buffer, ...], list[Instruction]]:
    """The buffers and the instructions of one core afterwards; every result stays what it was. `operations`: those that are merged."""
    steps, readers, block = psum_in_place(program.buffers, instructions)
    graph = Contraction(table_and_edges(program, steps)[1].waits())
    behind = graph.behind(readers)
    buffers = list(program.buffers)
    places: dict[int, Place] = {}
    uses = uses_of(steps)
    merged: dict[int, Instruction] = {}
    # DMAs come first: they take most tiles at once, and what lies side by side for them does for smaller parts too.
    for members in sorted(
        _alike(program.buffers, steps, operations), key=lambda members: steps[members[0]].op != "dma_copy"
    ):
        for run in _runs(steps, members):
            of_engine = block if behind.intersection(run) else TILES_MAX
            limit = len(run) if steps[run[0]].op == "dma_copy" else of_engine
            size = min(limit, _tiles_at_once(buffers, steps, run, uses))
            for part in (run[at : at + size] for at in range(0, len(run), max(size, 1))):
                families = _families(buffers, steps, part, uses, places) if len(part) > 1 else None
                if families is not None and graph.merge(part):
                    for family in families:
                        _lay_side_by_side(buffers, places, family)
                    merged[part[0]] = _one(buffers, steps, part)
    ranks = _ranks(steps, readers, uses)
    # What a merged load waits for comes with it: else all that lies between would come first, and its tiles would be kept meanwhile.
    for first in (index for index, step in merged.items() if load_of(buffers, step)):
        for index in graph.held_up_by(first):
            ranks[index] = min(ranks[index], ranks[first])
    order = graph.order(ranks)
    if order is None:
        return program.buffers, steps
    return tuple(buffers), [_placed(merged.get(index, steps[index]), buffers, places) for index in order]


def _ranks(steps: Sequence[Instruction], readers: set[int], uses: Uses) -> list[float]:
    """By instruction: its number, but for products that are read in place and their readers the places that they have in their block."""
    rank = [float(index) for index in range(len(steps))]
    lines = {steps[reader].source for reader in readers}
    in_place = {
        at
        for reader in readers for access in steps[reader].reads.values() for at in uses.writers[access.buffer][-1:]
        if steps[at].op == "nc_matmul"
    }  # fmt: skip
    by_line: dict[int, list[int]] = defaultdict(list)
    for index, step in enumerate(steps):
        if step.op == "nc_matmul":
            by_line[step.source].append(index)
    for products in by_line.values():
        starts = [index for index in products if index in in_place][::BANKS_IN_PLACE]
        for start, end in itertools.pairwise([*starts, len(steps)]):
            block = [index for index in products if start <= index < end]
            read = [at for index in block for to in steps[index].writes.values() for at in uses.readers[to.buffer]]
            copied = max((at for at in read if steps[at].op == "tensor_copy"), default=block[-1])
            for index in range(start, end):
                if index in in_place:
                    rank[index] = block[-1] + 0.5
                elif steps[index].source in lines and index < copied:
                    rank[index] = copied + 0.5
    return rank


def psum_in_place(
    buffers: Sequence[Buffer], instructions: Sequence[Instruction]
) -> tuple[list[Instruction], set[int], int]:
    """The instructions without the copies whose readers read PSUM, the indices of these readers, and the rounds of a block."""
    uses = uses_of(instructions)
    by_line: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for index, step in enumerate(instructions):
        if _can_be_left_out(buffers, instructions, uses, index):
            by_line[step.source][step.writes["dst"].buffer].append(index)
    gone: dict[int, list[int]] = {}
    block = BANKS_IN_PLACE
    for tiles in by_line.values():
        rounds = min(len(tiles), BANKS_IN_PLACE)
        block = min(block, rounds)
        for copies in tiles.values():
            for index in copies[: BANKS_IN_PLACE // rounds]:
                gone[index] = _readers(instructions, uses, index)
    moved: dict[int, dict[Access, Access]] = defaultdict(dict)
    for copy, found in gone.items():
        for reader in found:
            moved[reader][instructions[copy].writes["dst"]] = instructions[copy].reads["src"]
    kept = [index for index in range(len(instructions)) if index not in gone]
    steps = [_reading(instructions[index], moved.get(index)) for index in kept]
    readers = {place for place, index in enumerate(kept) if index in moved}
    return steps, readers, block


def _reading(step: Instruction, in_place: Mapping[Access, Access] | None) -> Instruction:
    """The instruction with what the copies read in the place of what they wrote."""
    if not in_place:
        return step
    reads = {name: in_place.get(access, access) for name, access in step.reads.items()}
    return msgspec.structs.replace(step, reads=reads)


def _can_be_left_out(buffers: Sequence[Buffer], steps: Sequence[Instruction], uses: Uses, index: int) -> bool:
    """Whether a copy moves a tile of one PSUM bank as it is, for readers that can read PSUM."""
    step = steps[index]
    if step.op != "tensor_copy" or step.engine != "vector" or step.attributes:
        return False
    source, to = step.reads["src"], step.writes["dst"]
    held, kept = buffers[source.buffer], buffers[to.buffer]
    if (held.memory, kept.memory, held.address, kept.address) != ("psum", "sbuf", None, None):
        return False
    if source.dtype != to.dtype or source.shape != to.shape or held.row_bytes > BANK_BYTES:
        return False
    if max(uses.writers[source.buffer], default=-1) > index or {source.buffer, to.buffer} & uses.dynamic:
        return False
    readers = _readers(steps, uses, index)
    others = [at for at in uses.readers[to.buffer] if at not in readers]
    return (
        bool(readers)
        and all(_apart(steps[at], to, kept) for at in others)
        and not any(at != index and not _apart(steps[at], to, kept) for at in uses.writers[to.buffer])
    )


def _readers(steps: Sequence[Instruction], uses: Uses, copy: int) -> list[int]:
    """The Vector and Scalar instructions that read exactly what a copy wrote."""
    to = steps[copy].writes["dst"]
    operands = _READ_PSUM if len(uses.writers[steps[copy].reads["src"].buffer]) > 1 else _READ_PRODUCT
    return [
        at
        for at in uses.readers[to.buffer]
        if at > copy and steps[at].engine in ("vector", "scalar")
        and _only(steps[at], to) in operands.get(steps[at].op, ())
    ]  # fmt: skip


def _only(step: Instruction, tile: Access) -> str:
    """The one operand that is this view; "" where there is none or another operand reads its buffer too."""
    names = [name for name, access in step.reads.items() if access.buffer == tile.buffer]
    return names[0] if len(names) == 1 and step.reads[names[0]] == tile else ""


def _apart(step: Instruction, tile: Access, buffer: Buffer) -> bool:
    """Whether no operand of the step touches the rectangle around the tile."""
    mine = box_of(tile, buffer)
    return not any(
        access.buffer == tile.buffer and overlap(mine, box_of(access, buffer))
        for access in (*step.reads.values(), *step.writes.values())
    )


def _alike(buffers: Sequence[Buffer], steps: Sequence[Instruction], operations: frozenset[str]) -> list[list[int]]:
    """Instructions of one line that do the same to views of the same form, in program order; two of them are within the limits."""

    def form(name: str, access: Access) -> tuple[object, ...]:
        memory = buffers[access.buffer].memory
        return name, access.pattern, access.dtype, memory, access.buffer if memory == "hbm" else None

    found: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for index, step in enumerate(steps):
        if (
            step.op not in operations or "reduce_cmd" in step.attributes
        ):  # one reduction for all of them would be another
            continue
        accesses = (*step.reads.items(), *step.writes.items())
        if not any(access.dynamic for _, access in accesses) and _most(accesses, step.op) >= 2:
            views = tuple(form(name, access) for name, access in accesses)
            found[step.source, step.op, step.engine, repr(step.attributes), views].append(index)
    return [members for members in found.values() if len(members) > 1]


def _most(accesses: Sequence[tuple[str, Access]], op: str) -> int:
    """How many instructions with these operands one may replace."""
    if op == "dma_copy":
        return DMA_BYTES_MAX // max(access.elements * SIZE_BYTES[access.dtype] for _, access in accesses)
    return ELEMENTS_MAX // max(access.columns for _, access in accesses)


def _runs(steps: Sequence[Instruction], members: Sequence[int]) -> list[list[int]]:
    """The members in pieces whose operands go on by one stride, or have a tile of their own each."""
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
    """`tiles`: the buffers of each operand of the run."""
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
    """Elements from an operand of the first to that of the second; None for two buffers."""
    one, other = (_operand(steps[at], name) for at in run[:2])
    return other.offset - one.offset if one.buffer == other.buffer else None


def _tiles_at_once(buffers: Sequence[Buffer], steps: Sequence[Instruction], run: Sequence[int], uses: Uses) -> int:
    """How many of a run become one instruction; 1 for none."""
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
    """The tiles that have to lie side by side and do not yet; None where they cannot."""
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
    """Whether the views of a run lie in the same partitions: one stride cannot go from one to the next."""
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
    """The instruction that does what the run did. Tiles of their own count as lying one row apart until they are placed."""
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
    """The instruction with its operands where their tiles lie now."""
    accesses = (*step.reads.values(), *step.writes.values())
    indices = [part.index for access in accesses for part in access.dynamic]
    if not any(access.buffer in places for access in (*accesses, *indices)):
        return step
    reads = {name: _moved(access, buffers, places) for name, access in step.reads.items()}
    writes = {name: _moved(access, buffers, places) for name, access in step.writes.items()}
    return msgspec.structs.replace(step, reads=reads, writes=writes)


def _moved(access: Access, buffers: Sequence[Buffer], places: dict[int, Place]) -> Access:
    """On chip the first pair of a pattern walks the partitions, the others stay within a row. What a view takes its addresses from moves too."""
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
