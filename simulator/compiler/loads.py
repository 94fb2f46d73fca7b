"""Loads of what is on chip already: their readers read the tile of the earlier load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from neff_bench.simulator.program import Access, Buffer, Dynamic, Instruction, Program


def without_repeated_loads(program: Program, core: int) -> tuple[list[Instruction], bool]:
    """The core's instructions without the loads that are repeated, and whether there were any."""
    instructions = program.cores[core]
    tile_of = _repeats(program, core)
    kept = [
        renamed(step, tile_of) for step in instructions if not any(to.buffer in tile_of for to in step.writes.values())
    ]
    return kept, bool(tile_of)


def _repeats(program: Program, core: int) -> dict[int, int]:
    """By tile that is only loaded, behind an earlier load of the same elements to a tile that only holds these: the earlier one."""
    instructions = program.cores[core]
    elsewhere = {to.buffer for other, steps in enumerate(program.cores) if other != core for to in _written(steps)}
    writers: dict[int, int] = {}
    for to in _written(instructions):
        writers[to.buffer] = writers.get(to.buffer, 0) + 1
    changed: dict[int, int] = {}
    latest: dict[tuple[object, ...], tuple[int, int]] = {}
    found: dict[int, int] = {}
    for at, step in enumerate(instructions):
        load = load_of(program.buffers, step)
        if load is not None and fills(program.buffers, load[1]):
            source, tile = load
            if source.buffer not in elsewhere and writers[tile.buffer] == 1:
                key = (source.buffer, source.offset, source.pattern, source.dtype, tile.pattern, tile.dtype)
                before = latest.get(key)
                if before is not None and changed.get(source.buffer, -1) < before[1]:
                    found[tile.buffer] = before[0]
                else:
                    latest[key] = (tile.buffer, at)
        for to in step.writes.values():
            changed[to.buffer] = at
    return found


def _written(instructions: Sequence[Instruction]) -> list[Access]:
    return [to for step in instructions for to in step.writes.values()]


def load_of(buffers: Sequence[Buffer], step: Instruction) -> tuple[Access, Access] | None:
    """Source and destination of a plain load from HBM to a tile that the compiler places; None for any other instruction."""
    if step.op != "dma_copy" or step.attributes:
        return None
    source, tile = step.reads["src"], step.writes["dst"]
    held = buffers[tile.buffer]
    if buffers[source.buffer].memory != "hbm" or held.memory != "sbuf" or held.address is not None:
        return None
    return None if source.dynamic or tile.dynamic else (source, tile)


def fills(buffers: Sequence[Buffer], to: Access) -> bool:
    """Whether a view is the whole of its tile."""
    return not to.offset and to.shape == buffers[to.buffer].shape and to.dtype == buffers[to.buffer].dtype


def renamed(step: Instruction, tile_of: Mapping[int, int]) -> Instruction:
    """The instruction with the buffers of `tile_of` in the places of others."""
    reads = {name: _renamed(access, tile_of) for name, access in step.reads.items()}
    writes = {name: _renamed(access, tile_of) for name, access in step.writes.items()}
    if all(
        one is other
        for one, other in zip((*reads.values(), *writes.values()), (*step.reads.values(), *step.writes.values()))
    ):
        return step
    return msgspec.structs.replace(step, reads=reads, writes=writes)


def _renamed(access: Access, tile_of: Mapping[int, int]) -> Access:
    buffer = tile_of.get(access.buffer, access.buffer)
    if buffer == access.buffer and not access.dynamic:
        return access
    dynamic = tuple(Dynamic(part.step, _renamed(part.index, tile_of)) for part in access.dynamic)
    return msgspec.structs.replace(access, buffer=buffer, dynamic=dynamic)
