"""Leaves out loads of what is on chip already: their readers read the tile of the earlier load.

In a program of the old dialect all of them go (docs/model.md says what shows it, and what becomes of tiles without room). In one of the
current dialect those go whose earlier tile still lies in SBUF: tiles are placed one after the other, each where the oldest one was,
so a tile is there until those behind it have filled SBUF. One that skips the middle end is like the current dialect, small loads
included.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import prod

import msgspec

from neff_bench.simulator.chips import chip_for
from neff_bench.simulator.compiler.code.allocation import open_sbuf_bytes
from neff_bench.simulator.compiler.program.capacity import memory_peak
from neff_bench.simulator.program import Access, Buffer, Dynamic, Instruction, Program

SMALL_BYTES = 32 * 1024
"""What a repeated load moves at most that stays where it is written (docs/model.md)."""

_Held = tuple[object, ...]
"""What a tile holds: equal where the same elements of HBM were loaded and did not change in between."""


def without_repeated_loads(program: Program, core: int) -> tuple[list[Instruction], bool]:
    """Return the core's instructions without the loads that are repeated, and whether there were any."""
    first: dict[_Held, int] = {}
    tile_of = {tile: first.setdefault(held, tile) for tile, held in _held(program, core).items()}
    tile_of = {tile: before for tile, before in tile_of.items() if tile != before}
    return _without(program.cores[core], tile_of), bool(tile_of)


def without_loads_in_place(program: Program, most_kept_bytes: int = SMALL_BYTES) -> Program:
    """Return the program without the loads of what still lies in SBUF; as it was where its tiles would have no room then. most_kept_bytes: loads of
    that much or less stay."""
    room_bytes = open_sbuf_bytes(chip_for(program.target))
    left_out = [_in_place(program, core, room_bytes, most_kept_bytes) for core in range(len(program.cores))]
    if not any(left_out):
        return program
    cores = tuple(tuple(_without(steps, tiles)) for steps, tiles in zip(program.cores, left_out, strict=True))
    left_out_bytes = sum(program.buffers[tile].size_bytes for tiles in left_out for tile in tiles)
    changed = msgspec.structs.replace(program, cores=cores, left_out_bytes=left_out_bytes)
    fits = all(peak.used_bytes <= room_bytes for peak in memory_peak(changed) if peak.memory == "sbuf")
    return changed if fits else program


def _in_place(program: Program, core: int, room_bytes: int, most_kept_bytes: int) -> dict[int, int]:
    """Return for each tile whose load is left out the tile that still holds the same. From its place to the end of those behind it there are at most
    as many bytes of a partition as SBUF has; one whose load was left out counts as placed anew."""
    if not _loads_twice(program.buffers, program.cores[core]):
        return {}
    held = _held(program, core)
    held = {tile: what for tile, what in held.items() if program.buffers[tile].size_bytes > most_kept_bytes}
    latest: dict[_Held, tuple[int, int]] = {}
    found: dict[int, int] = {}
    placed_bytes = 0
    for buffer in _by_first_use(program.cores[core]):
        if program.buffers[buffer].memory == "sbuf":
            here = placed_bytes
            known = latest.get(held[buffer]) if buffer in held else None
            if known and here - known[1] <= room_bytes:
                found[buffer] = known[0]
            else:
                placed_bytes += program.buffers[buffer].row_bytes
            if buffer in held:
                latest[held[buffer]] = (found.get(buffer, buffer), here)
    return found


def _by_first_use(instructions: Sequence[Instruction]) -> dict[int, None]:
    """Return the buffers of a core in the order in which they are used first."""
    found: dict[int, None] = {}
    for step in instructions:
        for operands in (step.reads, step.writes):
            for access in operands.values():
                found[access.buffer] = None
                for part in access.dynamic:
                    found[part.index.buffer] = None
    return found


def _loads_twice(buffers: Sequence[Buffer], instructions: Sequence[Instruction]) -> bool:
    """Return whether a core loads any elements more than once: a quick answer for the many programs that do not."""
    loads = [load for step in instructions if step.op == "dma_copy" and (load := load_of(buffers, step))]
    return len({(source.buffer, source.offset, source.pattern) for source, _ in loads}) < len(loads)


def _without(instructions: Sequence[Instruction], tile_of: Mapping[int, int]) -> list[Instruction]:
    """Return the instructions without those that write the tiles of `tile_of`, whose readers read the other tile."""
    known: dict[tuple[object, ...], Access] = {}
    return [
        renamed(step, tile_of, known)
        for step in instructions
        if not any([to.buffer in tile_of for to in step.writes.values()])
    ]


def _held(program: Program, core: int) -> dict[int, _Held]:
    """Return for each tile that one load fills and nothing else writes, in program order, what it holds."""
    instructions = program.cores[core]
    elsewhere = {to.buffer for other, steps in enumerate(program.cores) if other != core for to in _written(steps)}
    writers = Counter(to.buffer for to in _written(instructions))
    changed: dict[int, int] = {}
    found: dict[int, _Held] = {}
    for at, step in enumerate(instructions):
        load = load_of(program.buffers, step) if step.op == "dma_copy" else None
        if load is not None and fills(program.buffers, load[1]):
            source, tile = load
            if source.buffer not in elsewhere and writers[tile.buffer] == 1:
                elements = (source.buffer, source.offset, source.pattern, source.dtype, tile.pattern, tile.dtype)
                found[tile.buffer] = (*elements, changed.get(source.buffer))
        for to in step.writes.values():
            changed[to.buffer] = at
    return found


def _written(instructions: Sequence[Instruction]) -> list[Access]:
    return [to for step in instructions for to in step.writes.values()]


def load_of(buffers: Sequence[Buffer], step: Instruction) -> tuple[Access, Access] | None:
    """Return the source and the destination of a plain load from HBM to a tile that the compiler places; None for any other instruction."""
    if step.op != "dma_copy" or step.attributes:
        return None
    source, tile = step.reads["src"], step.writes["dst"]
    held = buffers[tile.buffer]
    if buffers[source.buffer].memory != "hbm" or held.memory != "sbuf" or held.address is not None:
        return None
    return None if source.dynamic or tile.dynamic else (source, tile)


def fills(buffers: Sequence[Buffer], to: Access) -> bool:
    """Return whether a view is the whole of its tile, whatever dimensions the view cuts a row into."""
    buffer = buffers[to.buffer]
    if to.offset or to.dtype != buffer.dtype:
        return False
    return to.shape == buffer.shape or (to.shape[0] == buffer.shape[0] and _goes_through_rows(to, buffer))


def _goes_through_rows(to: Access, buffer: Buffer) -> bool:
    """Return whether a view goes through whole rows of its tile from the first element to the last."""
    behind = 1
    for step, size in reversed(to.pattern[1:]):
        if size > 1 and step != behind:
            return False
        behind *= size
    return behind == prod(buffer.shape[1:])


def renamed(
    step: Instruction, tile_of: Mapping[int, int], known: dict[tuple[object, ...], Access] | None = None
) -> Instruction:
    """Return the instruction with the buffers of `tile_of` in the places of others. known: views that were made for other instructions; equal
    ones are one object."""
    known = {} if known is None else known
    reads, writes = _operands(step.reads, tile_of, known), _operands(step.writes, tile_of, known)
    if reads is step.reads and writes is step.writes:
        return step
    return Instruction(step.op, step.engine, writes, reads, step.attributes, step.source)


def _operands(
    operands: dict[str, Access], tile_of: Mapping[int, int], known: dict[tuple[object, ...], Access]
) -> dict[str, Access]:
    """Return the same object where nothing of it is renamed."""
    for access in operands.values():
        if access.buffer in tile_of or access.dynamic:
            return {name: _renamed(access, tile_of, known) for name, access in operands.items()}
    return operands


def _renamed(access: Access, tile_of: Mapping[int, int], known: dict[tuple[object, ...], Access]) -> Access:
    buffer = tile_of.get(access.buffer)
    if access.dynamic:
        dynamic = tuple([Dynamic(part.step, _renamed(part.index, tile_of, known)) for part in access.dynamic])
        return Access(access.buffer if buffer is None else buffer, access.offset, access.pattern, access.dtype, dynamic)
    if buffer is None:
        return access
    key = buffer, access.offset, access.pattern, access.dtype
    found = known.get(key)
    if found is None:
        found = known[key] = Access(*key)
    return found
