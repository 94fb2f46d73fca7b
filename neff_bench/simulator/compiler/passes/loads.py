"""Leaves out loads of what is on chip already: their readers read the tile of the earlier load.

In a program of the old dialect all of them go (docs/model.md says what shows it, and what becomes of tiles without room). In one of the
current dialect those go whose earlier tile still lies in SBUF: tiles are placed one after the other, each where the oldest one was,
so a tile is there until those behind it have filled SBUF. One that skips the middle end is like the current dialect, small loads
included.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from math import prod
from typing import TYPE_CHECKING

import msgspec

from neff_bench.chips.dtypes import SIZE_BYTES
from neff_bench.simulator.chips import chip_for
from neff_bench.simulator.compiler.code.allocation import open_sbuf_bytes
from neff_bench.simulator.compiler.program.capacity import memory_peak
from neff_bench.simulator.compiler.program.columns import DTYPES, HBM, INDEX, SBUF, WRITE, Table, Views, table_of
from neff_bench.simulator.compiler.program.lives import lives_of_all
from neff_bench.simulator.program import Access, Buffer, Dynamic, Instruction, Program

if TYPE_CHECKING:
    import numpy as np

SMALL_BYTES = 32 * 1024
"""What a repeated load moves at most that stays where it is written (docs/model.md)."""

_Held = tuple[int, int, int, int]
"""What a tile holds: equal where the same elements of HBM were loaded and did not change in between."""


def without_repeated_loads(program: Program, core: int) -> tuple[list[Instruction], bool]:
    """Return the core's instructions without the loads that are repeated, and whether there were any."""
    first: dict[_Held, int] = {}
    tile_of = {tile: first.setdefault(held, tile) for tile, held in _held(program, core).items()}
    tile_of = {tile: before for tile, before in tile_of.items() if tile != before}
    return list(_without(program, core, tile_of)), bool(tile_of)


def without_loads_in_place(program: Program, most_kept_bytes: int = SMALL_BYTES) -> Program:
    """Return the program without the loads of what still lies in SBUF; as it was where its tiles would have no room then. most_kept_bytes: loads of
    that much or less stay."""
    room_bytes = open_sbuf_bytes(chip_for(program.target))
    left_out = [_in_place(program, core, room_bytes, most_kept_bytes) for core in range(len(program.cores))]
    if not any(left_out):
        return program
    cores = tuple(_without(program, core, tiles) for core, tiles in enumerate(left_out))
    left_out_bytes = sum(_read_bytes(program, core, tiles) for core, tiles in enumerate(left_out))
    changed = msgspec.structs.replace(program, cores=cores, left_out_bytes=left_out_bytes)
    fits = all(peak.used_bytes <= room_bytes for peak in memory_peak(changed) if peak.memory == "sbuf")
    return changed if fits else program


def _read_bytes(program: Program, core: int, tiles: Iterable[int]) -> int:
    """Return what the loads of some tiles read from HBM. A load may convert."""
    table, buffers = table_of(program), program.buffers
    views = table.cores[core].views
    _, source, tile = _loads(table, core)
    read = dict(zip(views.buffer[tile].tolist(), views.dtype[source].tolist()))
    elements = ((one, buffers[one].size_bytes // SIZE_BYTES[buffers[one].dtype]) for one in tiles)
    return sum(count * SIZE_BYTES[DTYPES[read[one]]] for one, count in elements)


def _in_place(program: Program, core: int, room_bytes: int, most_kept_bytes: int) -> dict[int, int]:
    """Return for each tile whose load is left out the tile that still holds the same. From its place to the end of those behind it there are at most
    as many bytes of a partition as SBUF has; one whose load was left out counts as placed anew."""
    import numpy as np

    table = table_of(program)
    _, source, _ = _loads(table, core)
    if len(np.unique(source)) == len(source):
        return {}
    held = _held(program, core)
    row_bytes, rows = table.buffers.row_bytes.tolist(), table.buffers.rows.tolist()
    latest: dict[_Held, tuple[int, int]] = {}
    found: dict[int, int] = {}
    placed_bytes = 0
    used = lives_of_all(table, core).buffer
    for buffer in used[table.buffers.memory[used] == SBUF].tolist():
        here = placed_bytes
        what = held.get(buffer)
        if what is None or row_bytes[buffer] * rows[buffer] <= most_kept_bytes:
            placed_bytes += row_bytes[buffer]
            continue
        known = latest.get(what)
        if known and here - known[1] <= room_bytes:
            found[buffer] = known[0]
        else:
            placed_bytes += row_bytes[buffer]
        latest[what] = (found.get(buffer, buffer), here)
    return found


def _without(program: Program, core: int, tile_of: Mapping[int, int]) -> Sequence[Instruction]:
    """Return the instructions without those that write the tiles of `tile_of`, whose readers read the other tile."""
    import numpy as np

    steps, columns = program.cores[core], table_of(program).cores[core]
    if not tile_of:
        return steps
    other = np.arange(len(program.buffers))
    other[[*tile_of]] = [*tile_of.values()]
    moved = (other != np.arange(len(other)))[columns.views.buffer[columns.view]]
    if isinstance(steps, (tuple, list)) or (moved & (columns.role == INDEX)).any():
        known: dict[tuple[object, ...], Access] = {}
        return tuple(
            renamed(step, tile_of, known)
            for step in steps
            if not any([to.buffer in tile_of for to in step.writes.values()])
        )
    keep = np.ones(len(columns.kind), bool)
    keep[columns.instructions(np.flatnonzero(moved & (columns.role == WRITE)))] = False
    kept: Sequence[Instruction] = steps.without(keep.tobytes(), other[columns.views.buffer].tobytes())  # type: ignore[attr-defined]
    return kept


def _loads(table: Table, core: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the plain loads from HBM to tiles that the compiler places: the instructions, and the views of their sources and of their tiles."""
    import numpy as np

    columns, buffers = table.cores[core], table.buffers
    are_copies = np.array([step.op == "dma_copy" and not step.attributes for step in table.kinds], bool)
    at = np.flatnonzero(are_copies[columns.kind])
    # Behind the source lie the indices of its address, and then the tile.
    source, tile = columns.view[columns.use_start[at]], columns.view[columns.use_start[at] + 1]
    of_source, of_tile = columns.views.buffer[source], columns.views.buffer[tile]
    dynamic = columns.views.dynamic[source] + columns.views.dynamic[tile] > 0
    loads = ~dynamic & (buffers.memory[of_source] == HBM) & (buffers.memory[of_tile] == SBUF)
    loads &= buffers.address[of_tile] < 0
    return at[loads], source[loads], tile[loads]


def _held(program: Program, core: int) -> dict[int, _Held]:
    """Return for each tile that one load fills and nothing else writes, in program order, what it holds."""
    import numpy as np

    table = table_of(program)
    columns = table.cores[core]
    views, writes = columns.views, np.flatnonzero(columns.role == WRITE)
    at, source, tile = _loads(table, core)
    written, writer = views.buffer[columns.view[writes]], columns.instructions(writes)
    elsewhere = np.zeros(len(program.buffers), bool)
    for other in (one for one in table.cores if one is not columns):
        elsewhere[other.views.buffer[other.view[other.role == WRITE]]] = True
    writers = np.bincount(written, minlength=len(program.buffers))
    chosen = ~elsewhere[views.buffer[source]] & (writers[views.buffer[tile]] == 1)
    chosen[chosen] = _filling(program, views, tile[chosen])
    at, source, tile = at[chosen], source[chosen], tile[chosen]
    # The latest instruction before the load that writes to its source.
    length = len(columns.kind) + 1
    changes = np.sort(written * length + writer)
    before = np.searchsorted(changes, views.buffer[source] * length + at)
    latest = np.append(-1, changes)[before]
    changed = np.where(latest // length == views.buffer[source], latest % length, -1)
    what = (source, views.pattern[tile], views.dtype[tile], changed)
    return dict(zip(views.buffer[tile].tolist(), zip(*(column.tolist() for column in what)), strict=True))


def _filling(program: Program, views: Views, chosen: np.ndarray) -> list[bool]:
    """Return for each chosen view whether it covers the whole of its tile."""
    starts, steps, lengths = (column.tolist() for column in (views.pattern_start, views.step, views.length))

    @cache  # the tiles of a loop share a few
    def is_whole(shape: tuple[int, ...], number: int) -> bool:
        first, last = starts[number], starts[number + 1]
        return _is_whole(shape, tuple(zip(steps[first:last], lengths[first:last], strict=True)))

    keys = (column[chosen].tolist() for column in (views.buffer, views.offset, views.dtype, views.pattern))
    return [
        not offset
        and DTYPES[dtype] == program.buffers[buffer].dtype
        and is_whole(program.buffers[buffer].shape, pattern)
        for buffer, offset, dtype, pattern in zip(*keys, strict=True)
    ]


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
    return not to.offset and to.dtype == buffer.dtype and _is_whole(buffer.shape, to.pattern)


def _is_whole(shape: tuple[int, ...], pattern: tuple[tuple[int, int], ...]) -> bool:
    """Return whether a pattern has this shape, or goes through whole rows of as many partitions from the first element to the last."""
    if tuple([size for _, size in pattern]) == shape:
        return True
    behind = 1
    for step, size in reversed(pattern[1:]):
        if size > 1 and step != behind:
            return False
        behind *= size
    return pattern[0][1] == shape[0] and behind == prod(shape[1:])


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
