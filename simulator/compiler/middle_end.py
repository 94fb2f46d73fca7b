"""What AWS's compiler does to a kernel of the old dialect before it allocates and schedules.

- A load of what is on chip already, unchanged, is removed: its readers read the tile of the earlier load. In a program
  whose loops are unrolled this is the hoisting of invariant loads too. Source: profiles that zhang677/AccelOpt publishes
  (experiments/full_complete_local/profile_results.csv): add_rmsnorm_matmul reads 42.0 MB, each of its inputs once, where
  its instructions read 302.
- Neighbouring tiles are handled by one instruction, and PSUM is read where it lies (merging.py).
- Copies whose engine the kernel leaves open are shared between Vector and Scalar: each goes to the one that would be done with it
  first. Source: a rmsnorm of the same profiles, 141 and 104 us where all copies on Vector give 203 and 50, the same sum; the numbers
  of copies on either engine in the traces below, which agree within six of 26 to 42.
- The PE transposes with an identity matrix, which is loaded once for each dtype. Source: eight traces of attention of
  allenkchau/trainium-kernel-fusion (profiling/artifacts), which read 65,536 bytes more than their kernels where these
  transpose float32, and 32,768 more for bfloat16.

Tiles are kept as long as SBUF has room, those that are needed again soonest first. Which ones AWS's compiler keeps, and
what it spills, is not known: a program in which a load is repeated, or whose tiles do not all fit, says so
(`Program.before_middle_end`).
A kernel turns all of it off with `nki.compiler.skip_middle_end_transformations`, and so do direct allocations of a tile.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from neff_bench.chips import Chip
from neff_bench.simulator.chips import chip_for
from neff_bench.simulator.compiler.capacity import check_capacity
from neff_bench.simulator.compiler.dependencies import columns_and_edges, settling
from neff_bench.simulator.compiler.lives import lives
from neff_bench.simulator.compiler.lowering import lower_different, lowering, operation_columns
from neff_bench.simulator.compiler.merging import merged_tiles
from neff_bench.simulator.compiler.order import issue_order
from neff_bench.simulator.costs.transfers import Transfer, packet_ns
from neff_bench.simulator.dtypes import numpy_dtype
from neff_bench.simulator.errors import CapacityError
from neff_bench.simulator.machine.operands import PARTITIONS
from neff_bench.simulator.program import ENGINES, Access, Buffer, Dynamic, Instruction, Program

_WIDE_INTEGERS = frozenset({"int32", "uint32"})
"""A copy of these on Scalar goes through float32."""


class Repeat(NamedTuple):
    """Tile `later` holds what tile `earlier` holds. `end`: the last use of the one; `start`: the load of the other."""

    earlier: int
    later: int
    end: int
    start: int


def middle_end(program: Program) -> Program:
    """The program after the known transformations, as many of them as memory has room for."""
    numbers = range(len(program.cores))
    found = [_without_repeated_loads(program, core) for core in numbers]
    known = all(certain for _, certain in found)
    kept = [instructions for instructions, _ in found]
    for merges in (True, False):
        made, cores = program, []
        for instructions in kept:
            if merges:
                buffers, instructions = merged_tiles(made, instructions)
                made = msgspec.structs.replace(made, buffers=buffers)
            cores.append(_shared_copies(made, instructions))
        made = _with_identities(made, cores, known and merges)
        if _fits(made):
            return made
    # What of its tiles the compiler keeps and merges where not all of it has room is not known.
    return _with_identities(program, [_shared_copies(program, list(core)) for core in program.cores], known=False)


def _with_identities(program: Program, cores: Sequence[Sequence[Instruction]], known: bool) -> Program:
    buffers, loads = _identities(program)
    whole = tuple((*load, *core) for load, core in zip(loads, cores))
    return msgspec.structs.replace(program, buffers=buffers, cores=whole, before_middle_end=not known)


def _fits(program: Program) -> bool:
    try:
        check_capacity(program)
    except CapacityError:
        return False
    return True


def _identities(program: Program) -> tuple[tuple[Buffer, ...], list[list[Instruction]]]:
    """The program's buffers with those of identity matrices, and for each core the loads of what its transposes need."""
    import numpy as np

    buffers, loads = list(program.buffers), []
    for number, core in enumerate(program.cores):
        kinds = {step.reads["data"].dtype for step in core if step.op == "nc_transpose" and step.engine == "tensor"}
        loads.append([_identity_load(buffers, np.eye(PARTITIONS), kind, number) for kind in sorted(kinds)])
    return tuple(buffers), loads


def _identity_load(buffers: list[Buffer], values: Any, dtype: str, core: int) -> Instruction:
    """Add an identity matrix and its tile to `buffers`; the load of the one into the other."""
    data = values.astype(numpy_dtype(dtype)).tobytes()
    buffers.append(Buffer("identity", "hbm", values.shape, dtype, "constant", core, data))
    buffers.append(Buffer("identity tile", "sbuf", values.shape, dtype, "internal", core))
    to, source = (
        Access(len(buffers) - back, 0, ((values.shape[1], values.shape[0]), (1, values.shape[1])), dtype)
        for back in (1, 2)
    )
    return Instruction("dma_copy", "sync", {"dst": to}, {"src": source}, {})


def _without_repeated_loads(program: Program, core: int) -> tuple[list[Instruction], bool]:
    """The core's instructions without repeated loads, and whether the compiler had nothing to choose: no load is
    repeated, and all tiles fit into SBUF."""
    instructions = program.cores[core]
    life = lives(program, core)
    repeats = _repeats(program, core, life)
    kept, fits = _kept(program, repeats, life, len(instructions))
    known = fits and not repeats
    if not kept:
        return list(instructions), known
    tile_of: dict[int, int] = {}
    for repeat in sorted(kept, key=lambda one: one.start):
        tile_of[repeat.later] = tile_of.get(repeat.earlier, repeat.earlier)
    gone = {repeat.start for repeat in kept}
    return [_renamed(step, tile_of) for at, step in enumerate(instructions) if at not in gone], known


def _repeats(program: Program, core: int, life: dict[int, tuple[int, int]]) -> list[Repeat]:
    """Each load of a whole tile that nothing else writes, behind an earlier one of the same elements."""
    instructions = program.cores[core]
    elsewhere = {to.buffer for other, steps in enumerate(program.cores) if other != core for to in _written(steps)}
    writers: dict[int, int] = {}
    for to in _written(instructions):
        writers[to.buffer] = writers.get(to.buffer, 0) + 1
    changed: dict[int, int] = {}
    latest: dict[tuple[object, ...], tuple[int, int]] = {}
    found = []
    for at, step in enumerate(instructions):
        load = _load(program.buffers, step)
        if load is not None:
            source, tile = load
            if source.buffer not in elsewhere and writers[tile.buffer] == 1:
                key = (source.buffer, source.offset, source.pattern, source.dtype, tile.pattern, tile.dtype)
                before = latest.get(key)
                if before is not None and changed.get(source.buffer, -1) < before[1]:
                    found.append(Repeat(before[0], tile.buffer, life[before[0]][1], at))
                latest[key] = (tile.buffer, at)
        for to in step.writes.values():
            changed[to.buffer] = at
    return found


def _written(instructions: Sequence[Instruction]) -> list[Access]:
    return [to for step in instructions for to in step.writes.values()]


def _load(buffers: Sequence[Buffer], step: Instruction) -> tuple[Access, Access] | None:
    """Source and tile of a plain load from HBM of a whole tile that the compiler places."""
    if step.op != "dma_copy" or step.attributes:
        return None
    source, tile = step.reads["src"], step.writes["dst"]
    held = buffers[tile.buffer]
    if buffers[source.buffer].memory != "hbm" or held.memory != "sbuf" or held.address is not None:
        return None
    if source.dynamic or tile.dynamic or tile.offset or tile.shape != held.shape or tile.dtype != held.dtype:
        return None
    return source, tile


def _kept(
    program: Program, repeats: list[Repeat], life: dict[int, tuple[int, int]], length: int
) -> tuple[list[Repeat], bool]:
    """The repeats whose tile stays in SBUF from the one use to the other, and whether those are all, and all fits."""
    import numpy as np

    changes = np.zeros(length + 2, dtype=np.int64)
    for index, (first, last) in life.items():
        if program.buffers[index].memory == "sbuf":
            changes[first] += program.buffers[index].row_bytes
            changes[last + 1] -= program.buffers[index].row_bytes
    used = np.cumsum(changes)
    chip = chip_for(program.target)
    room = chip.sbuf_partition_bytes - chip.sbuf_reserved_bytes
    fits = bool(used.max(initial=0) <= room)
    kept = []
    for repeat in sorted(repeats, key=lambda one: (one.start - one.end, one.start)):
        between = used[repeat.end + 1 : repeat.start]
        size = program.buffers[repeat.earlier].row_bytes
        if between.size and between.max() + size > room:
            fits = False
            continue
        between += size
        kept.append(repeat)
    return kept, fits


def _renamed(step: Instruction, tile_of: dict[int, int]) -> Instruction:
    if not any(_touches(access, tile_of) for access in step.reads.values()):
        return step
    reads = {key: _renamed_access(access, tile_of) for key, access in step.reads.items()}
    return msgspec.structs.replace(step, reads=reads)


def _touches(access: Access, tile_of: dict[int, int]) -> bool:
    return access.buffer in tile_of or any(part.index.buffer in tile_of for part in access.dynamic)


def _renamed_access(access: Access, tile_of: dict[int, int]) -> Access:
    dynamic = tuple(Dynamic(part.step, _renamed_access(part.index, tile_of)) for part in access.dynamic)
    return msgspec.structs.replace(access, buffer=tile_of.get(access.buffer, access.buffer), dynamic=dynamic)


def _shared_copies(program: Program, instructions: list[Instruction]) -> list[Instruction]:
    """Each copy that names no engine on the one of Vector and Scalar that is done with it first, when all else goes by the order of issue."""
    if not any(_is_open_copy(step) for step in instructions):
        return instructions
    chip = chip_for(program.target)
    lower = lowering(program, chip)
    columns, edges = columns_and_edges(program, instructions)
    first = [instructions[index] for index in columns.first_of_kind.tolist()]
    operations, _ = operation_columns(
        lower_different(first, lower, program, chip), settling(first), chip, len(program.cores)
    )
    order = issue_order(operations, columns.kind, edges, chip)
    waits = edges.waits()
    free_ns = dict.fromkeys(ENGINES, 0.0)
    done_ns = [0.0] * len(instructions)
    placed = list(instructions)
    for at in order.tolist():
        step = instructions[at]
        ready_ns = max((done_ns[before] for before in waits[at]), default=0.0)
        choices = [step, msgspec.structs.replace(step, engine="scalar")] if _is_open_copy(step) else [step]
        ends = [max(ready_ns, free_ns[one.engine]) + lower(one).result_ns for one in choices]
        placed[at] = step = choices[ends.index(min(ends))]
        found, start_ns = lower(step), max(ready_ns, free_ns[step.engine])
        free_ns[step.engine] = start_ns + found.busy_ns
        done_ns[at] = start_ns + found.result_ns + (_moving_ns(found.transfer, chip) if found.transfer else 0.0)
    return placed


def _moving_ns(transfer: Transfer, chip: Chip) -> float:
    """From the first packet of a DMA that has all engines to itself to the instruction that waits for it."""
    return transfer.packets * packet_ns(transfer, chip) / chip.dma_engines + chip.dma_wait_ns


def _is_open_copy(step: Instruction) -> bool:
    if step.op != "tensor_copy" or step.engine != "vector" or "engine" in step.attributes:
        return False
    return not any(access.dtype in _WIDE_INTEGERS for access in (*step.reads.values(), *step.writes.values()))
