"""Says what AWS's compiler makes of a kernel. docs/model.md says what shows each of the passes, and what the model is worth without it.

A kernel of the current dialect stays as it is written, but for loads of what still lies in SBUF. One of the old dialect that skips the middle end
(`nki.compiler.skip_middle_end_transformations`) keeps its computations; its overwritten tiles are new ones, its copies are shared between engines and its
stores put in order. Any other of the old dialect goes through the middle end: what is repeated is done once as long as SBUF has room, neighbouring
tiles are handled by one instruction, and a kernel whose tiles do not fit spills. Which tiles is not known: the program says so.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from neff_bench.simulator.chips import chip_for
from neff_bench.simulator.compiler.code.allocation import open_sbuf_bytes
from neff_bench.simulator.compiler.passes.computations import repeated_computation
from neff_bench.simulator.compiler.passes.identities import with_identities
from neff_bench.simulator.compiler.passes.invariants import without_repeated_work
from neff_bench.simulator.compiler.passes.leaving_psum import within_psum
from neff_bench.simulator.compiler.passes.loads import without_loads_in_place, without_repeated_loads
from neff_bench.simulator.compiler.passes.merging import MERGED, merged_tiles
from neff_bench.simulator.compiler.passes.renaming import with_new_tiles
from neff_bench.simulator.compiler.passes.sharing import shared_copies
from neff_bench.simulator.compiler.passes.spilling import Fitted, fitted, moved_to_their_use, rows_at_once
from neff_bench.simulator.compiler.passes.store_order import with_stores_in_turn
from neff_bench.simulator.compiler.program.capacity import check_capacity, memory_peak
from neff_bench.simulator.errors import CapacityError
from neff_bench.simulator.program import Instruction, Program

NO_ROOM_IN_PSUM = "products that PSUM has no room for"
NO_ROOM_IN_SBUF = "tiles that SBUF has no room for"
LOADED_AGAIN = "loads that the kernel repeats"
COMPUTED_AGAIN = "computations that the kernel repeats"
NOT_JOINED = "tiles that it joins where SBUF has room"
"""The parts of a program that AWS's compiler changes in ways that are not known."""


def compiled(program: Program, has_middle_end: bool | None) -> Program:
    """Return the program that AWS's compiler makes. has_middle_end: False where one of the old dialect skips it, None for the current dialect."""
    if has_middle_end is None:
        return without_loads_in_place(program)
    return _middle_end(program) if has_middle_end else _back_end(program)


def _back_end(program: Program) -> Program:
    program = without_loads_in_place(with_new_tiles(program), most_kept_bytes=0)
    cores = [shared_copies(program, steps) for steps in program.cores]
    return with_stores_in_turn(with_identities(program, cores, ()))


def _middle_end(program: Program) -> Program:
    """Apply as many of the known transformations as memory has room for."""
    changes: dict[str, None] = {}
    if _overflows(program, "psum"):
        changes[NO_ROOM_IN_PSUM] = None
        program = within_psum(program) or program
    spills = not _fits(program)
    made, kept = program, []
    for core in range(len(program.cores)):
        instructions, repeated = without_repeated_loads(program, core)
        written_bytes = _written_bytes(program, core)
        room_bytes = _room_bytes(program, written_bytes)
        plans = [instructions] if spills else _plans(program, core, instructions, room_bytes)
        fit = _within_sbuf(made, core, plans, room_bytes, spills)
        if fit is None:
            # The operands of one instruction do not fit. What of its tiles the compiler keeps where there is no room is not known.
            return with_identities(
                program, [shared_copies(program, core) for core in program.cores], (NO_ROOM_IN_SBUF,)
            )
        # AWS's compiler keeps bytes of SBUF for itself, so it changes a program that needs them.
        fits_as_written = room_bytes <= open_sbuf_bytes(chip_for(program.target))
        again = repeated_computation(program.buffers, instructions)
        computed_again = f"{COMPUTED_AGAIN}{_at(program, again)}" if again else ""
        no_room = fit.changed or not fits_as_written
        found = ((repeated, LOADED_AGAIN), (no_room, NO_ROOM_IN_SBUF), (again, computed_again))
        changes.update((what, None) for is_so, what in found if is_so)
        made = msgspec.structs.replace(
            made,
            buffers=fit.buffers,
            spilled_bytes=made.spilled_bytes + fit.spilled_bytes,
            reloaded_bytes=made.reloaded_bytes + fit.reloaded_bytes,
        )
        kept.append(fit.instructions)
    whole, cores, all_merged = _merged_in_room(made, kept)
    shared = [shared_copies(whole, instructions) for instructions in cores]
    return with_identities(whole, shared, [*changes] if changes or all_merged else [NOT_JOINED])


def _at(program: Program, step: Instruction) -> str:
    """Return the line of an instruction in brackets, where one is known."""
    place = program.sources[step.source].rpartition("/")[2]
    return f" ({place})" if place else ""


def _plans(program: Program, core: int, loaded_once: list[Instruction], room_bytes: int) -> list[list[Instruction]]:
    """Return what a core may run, the best first: what is loaded or done once takes room for long, and where not all of it has room, the loads
    stay as they are written, or all does."""
    plans = [without_repeated_work(program, core, loaded_once), loaded_once]
    written = list(program.cores[core])
    return [
        *(plan for plan in plans if rows_at_once(program.buffers, plan) <= room_bytes),
        without_repeated_work(program, core, written),
        written,
    ]


def _merged_in_room(
    made: Program, kept: Sequence[list[Instruction]]
) -> tuple[Program, Sequence[list[Instruction]], bool]:
    """Return the program and the instructions of each core with as many tiles merged as have room, and whether these are all: else DMAs
    stay as they are, or all instructions do, and PSUM is still read where it lies."""
    crowded = not _has_room(made, kept)
    for operations in (MERGED, MERGED - {"dma_copy"}, frozenset[str]()):
        # One instruction waits for all that its parts read, which has to be kept until then.
        merged = _merged(made, kept, operations)
        if _has_room(*merged, crowded):
            return *merged, operations == MERGED
    return made, kept, False


def _merged(
    made: Program, kept: Sequence[list[Instruction]], operations: frozenset[str]
) -> tuple[Program, Sequence[list[Instruction]]]:
    """Return the program's buffers and the instructions of each core once neighbouring tiles are merged in these operations."""
    whole, cores = made, []
    for instructions in kept:
        buffers, merged = merged_tiles(whole, instructions, operations)
        whole = msgspec.structs.replace(whole, buffers=buffers)
        cores.append(merged)
    return whole, cores


def _has_room(program: Program, cores: Sequence[Sequence[Instruction]], crowded: bool = False) -> bool:
    """Return whether all tiles of these instructions have room beside the bytes of SBUF that the compiler keeps; in a `crowded` program with them."""
    whole = with_identities(program, cores, ())
    room = open_sbuf_bytes(chip_for(program.target))
    return _fits(whole) and (crowded or all(rows_at_once(whole.buffers, steps) <= room for steps in whole.cores))


def _written_bytes(program: Program, core: int) -> int:
    """Return the bytes of each partition of SBUF that the program of a core needs as it is written."""
    [written] = [peak.used_bytes for peak in memory_peak(program) if (peak.core, peak.memory) == (core, "sbuf")]
    return written


def _room_bytes(program: Program, written_bytes: int) -> int:
    """Return the bytes of each partition of SBUF that the tiles of a core may take. What fits as it is written keeps what it takes: nothing of it is
    loaded more often."""
    chip = chip_for(program.target)
    room = open_sbuf_bytes(chip)
    return max(room, written_bytes) if written_bytes <= chip.sbuf_usable_bytes else room


def _within_sbuf(
    program: Program, core: int, plans: Sequence[Sequence[Instruction]], room_bytes: int, spills: bool
) -> Fitted | None:
    """Return the first plan whose tiles all have room from their first to their last use; where there is none, the last one with tiles moved and
    loaded again, if the program `spills`."""
    for instructions in plans:
        found = fitted(program, core, instructions, room_bytes, spills=False)
        if found is not None and not found.changed:
            return found
    return fitted(program, core, moved_to_their_use(program, plans[-1]), room_bytes, spills=True) if spills else None


def _overflows(program: Program, memory: str) -> bool:
    return any(peak.memory == memory and peak.used_bytes > peak.capacity_bytes for peak in memory_peak(program))


def _fits(program: Program) -> bool:
    try:
        check_capacity(program)
    except CapacityError:
        return False
    return True
