"""What AWS's compiler does to a kernel of the old dialect that skips its middle end (`nki.compiler.skip_middle_end_transformations`).

Its loads stay as they are written, and so do its computations. Tiles that are overwritten are new tiles (renaming.py), needless copies go (copies.py), copies are shared between engines
(sharing.py), and what the PE transposes with is loaded (identities.py).
"""

from __future__ import annotations

from neff_bench.simulator.compiler.copies import without_needless_copies
from neff_bench.simulator.compiler.identities import with_identities
from neff_bench.simulator.compiler.renaming import with_new_tiles
from neff_bench.simulator.compiler.sharing import shared_copies
from neff_bench.simulator.program import Program


def back_end(program: Program) -> Program:
    """The program after these transformations."""
    program = with_new_tiles(program)
    cores = [
        shared_copies(program, without_needless_copies(program.buffers, instructions)) for instructions in program.cores
    ]
    return with_identities(program, cores, known=True)
