"""Makes a tile of SBUF that is overwritten as a whole, once it has been read, a new tile from there on, as AWS's compiler of the old dialect does."""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Collection, Sequence

import msgspec

from neff_bench.chips.dtypes import SIZE_BYTES
from neff_bench.simulator.compiler.passes.loads import renamed
from neff_bench.simulator.compiler.program.rectangles import box_of, overlap
from neff_bench.simulator.compiler.program.uses import Uses, uses_of
from neff_bench.simulator.program import Access, Buffer, Instruction, Program


def with_new_tiles(program: Program) -> Program:
    """Return the program with a tile for each life of one; every result stays what it was."""
    buffers, cores = list(program.buffers), []
    for number, instructions in enumerate(program.cores):
        others = [steps for other, steps in enumerate(program.cores) if other != number]
        elsewhere = {access.buffer for steps in others for step in steps for access in _operands(step)}
        cores.append(tuple(_with_new_tiles(buffers, instructions, elsewhere)))
    return msgspec.structs.replace(program, buffers=tuple(buffers), cores=tuple(cores))


def _with_new_tiles(
    buffers: list[Buffer], instructions: Sequence[Instruction], elsewhere: Collection[int]
) -> list[Instruction]:
    """Return the instructions of one core; adds to `buffers`."""
    uses = uses_of(instructions)
    steps = list(instructions)
    for tile, writers in uses.writers.items():
        buffer = buffers[tile]
        if buffer.memory != "sbuf" or buffer.kind != "internal" or buffer.address is not None or len(writers) < 2:
            continue
        if tile in elsewhere or tile in uses.dynamic or uses.dtypes[tile] != {buffer.dtype}:
            continue
        starts = _starts(buffer, tile, steps, uses)
        touched = sorted({*writers, *uses.readers[tile]})
        for at, end in itertools.pairwise([*starts, len(steps)]):
            new = {tile: len(buffers)}
            buffers.append(buffer)
            for index in touched[bisect_left(touched, at) : bisect_left(touched, end)]:
                steps[index] = renamed(steps[index], new)
    return steps


def _starts(buffer: Buffer, tile: int, steps: Sequence[Instruction], uses: Uses) -> list[int]:
    """Return the instructions with which a new life of a tile begins, but for the first: since the life before it has been read, and what is
    written until the next reading fills the tile."""
    starts: list[int] = []
    first, written, was_read = -1, set[Access](), False
    for index in sorted({*uses.writers[tile], *uses.readers[tile]}):
        step = steps[index]
        if any(access.buffer == tile for access in step.reads.values()):
            first, written, was_read = -1, set(), True
        elif was_read:
            first = index if first < 0 else first
            written |= {access for access in step.writes.values() if access.buffer == tile}
            if _fill(buffer, written):
                starts.append(first)
                was_read = False
    return starts


def _fill(buffer: Buffer, views: Collection[Access]) -> bool:
    """Return whether these views, which leave nothing out of the rectangles around them, are the whole of a tile."""
    boxes = [box_of(view, buffer) for view in views]
    areas = [(box.r1 - box.r0) * (box.c1 - box.c0) for box in boxes]
    dense = all(area == view.elements * SIZE_BYTES[view.dtype] for area, view in zip(areas, views, strict=True))
    return (
        dense
        and sum(areas) == buffer.size_bytes
        and not any(overlap(one, other) for one, other in itertools.combinations(boxes, 2))
    )


def _operands(step: Instruction) -> list[Access]:
    return [*step.reads.values(), *step.writes.values()]
