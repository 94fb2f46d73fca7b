"""Finds work that a loop repeats with the same result: it is done once, as AWS's compiler does it before the loop (docs/model.md, Evidence).

A program has no loops any more: it is what a line does again, with the operands of the last time, which have not changed since.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from neff_bench.simulator.compiler.passes.loads import renamed
from neff_bench.simulator.compiler.passes.spilling import staying, tiles_of
from neff_bench.simulator.compiler.program.uses import Uses, uses_of
from neff_bench.simulator.program import Instruction, Program

_REPEATABLE = frozenset({
    "memset", "tensor_copy", "nc_matmul", "nc_transpose", "tensor_scalar", "tensor_tensor", "tensor_reduce", "reciprocal", "activation",
})  # fmt: skip
"""Operations whose result follows from their operands and attributes alone, but for those that `_follows` leaves out."""


def without_repeated_work(program: Program, core: int, instructions: Sequence[Instruction]) -> list[Instruction]:
    """Return the core's instructions without those that only write tiles which are as they were one round before: their readers read these."""
    uses = uses_of(instructions)
    tile_of = _repeats(program, core, instructions, uses)
    if not tile_of:
        return list(instructions)
    gone = {at for tile in tile_of for at in uses.writers[tile]}
    for at in sorted(uses.writers[tile][-1] for tile in _of_psum(program, uses)):
        [tile] = {to.buffer for to in instructions[at].writes.values()}
        if uses.readers[tile] and gone.issuperset(set(uses.readers[tile]) - set(uses.writers[tile])):
            gone.update(uses.writers[tile])
    return [renamed(step, tile_of) for at, step in enumerate(instructions) if at not in gone]


def _of_psum(program: Program, uses: Uses) -> list[int]:
    return [tile for tile in uses.writers if program.buffers[tile].memory == "psum" and uses.writers[tile]]


def _repeats(program: Program, core: int, instructions: Sequence[Instruction], uses: Uses) -> dict[int, int]:
    """Return for each tile of SBUF that holds what a tile of the round before holds the latter.

    A tile is known by what wrote all of it, line, operations and patterns, and by the operands. One in PSUM is known too, but not kept
    from round to round.
    """
    unknown = _fixed(program, core, instructions)
    written: dict[int, list[tuple[object, ...]]] = defaultdict(list)
    operands: dict[int, list[object]] = defaultdict(list)
    number: dict[object, int] = {}
    value: dict[int, int] = {}
    changed: dict[int, int] = {}
    latest: dict[object, int] = {}
    tile_of: dict[int, int] = {}
    for at, step in enumerate(instructions):
        tiles = {to.buffer for to in step.writes.values()}
        tile = min(tiles, default=-1)
        if len(tiles) != 1 or tile in unknown or not _follows(step):
            unknown |= tiles
            changed.update(dict.fromkeys(tiles, at))
            continue
        views = tuple(
            (name, view.offset, view.pattern, view.dtype) for name, view in (*step.reads.items(), *step.writes.items())
        )
        written[tile].append((step.source, step.op, step.engine, repr(step.attributes), views))
        operands[tile] += [_known(read.buffer, tile, value, changed) for read in step.reads.values()]
        writers = uses.writers[tile]
        if at < writers[-1]:
            changed[tile] = at
            continue
        buffer = program.buffers[tile]
        form = buffer.memory, buffer.shape, buffer.dtype, *written.pop(tile)
        value[tile] = number.setdefault((form, *operands.pop(tile)), len(number))
        before = latest.setdefault(form, tile)
        if buffer.memory == "sbuf" and value[before] == value[tile] and uses.writers[before][-1] < writers[0]:
            tile_of[tile] = before
        else:
            latest[form] = tile
    return tile_of


def _known(buffer: int, own: int, value: dict[int, int], changed: dict[int, int]) -> object:
    """Return what tells whether an operand is what another one was: the number of its value, or the tensor and when it was changed last."""
    if buffer == own:
        return "own"
    return value[buffer] if buffer in value else (buffer, changed.get(buffer, -1))


def _follows(step: Instruction) -> bool:
    """Return whether the result of an instruction follows from its operands and attributes."""
    if step.op not in _REPEATABLE or any(key.startswith("reduce") for key in step.attributes):
        return False
    if any(access.dynamic for access in (*step.reads.values(), *step.writes.values())):
        return False
    return step.op != "nc_matmul" or "accumulate" in step.attributes


def _fixed(program: Program, core: int, instructions: Sequence[Instruction]) -> set[int]:
    """Return Tensors that are not tiles of this core alone which the compiler may place."""
    mine = {
        tile for step in instructions for memory in ("sbuf", "psum") for tile in tiles_of(program.buffers, step, memory)
    }
    others = {
        access.buffer
        for other, steps in enumerate(program.cores) if other != core
        for step in steps for access in (*step.reads.values(), *step.writes.values())
    }  # fmt: skip
    touched = {access.buffer for step in instructions for access in (*step.reads.values(), *step.writes.values())}
    return (touched - mine) | others | staying(program.buffers, instructions)
