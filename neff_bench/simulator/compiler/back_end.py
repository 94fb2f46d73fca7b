"""What AWS's compiler does to a kernel of the old dialect that skips its middle end (`nki.compiler.skip_middle_end_transformations`).

Its computations stay as they are written. Tiles that are overwritten are new tiles (renaming.py), what still lies in SBUF is not loaded again (loads.py), what
nobody reads is not set (overwritten.py), needless copies go (copies.py), copies are shared between engines (sharing.py), what the PE transposes with is loaded
(identities.py), and stores come behind loads where all tiles have room (store_order.py).
"""

from __future__ import annotations

from neff_bench.simulator.compiler.passes.copies import without_needless_copies
from neff_bench.simulator.compiler.passes.identities import with_identities
from neff_bench.simulator.compiler.passes.loads import without_loads_in_place
from neff_bench.simulator.compiler.passes.overwritten import without_overwritten
from neff_bench.simulator.compiler.passes.renaming import with_new_tiles
from neff_bench.simulator.compiler.passes.sharing import shared_copies
from neff_bench.simulator.compiler.passes.store_order import with_stores_in_turn
from neff_bench.simulator.program import Program


def back_end(program: Program) -> Program:
    """The program after these transformations."""
    program = without_loads_in_place(with_new_tiles(program), most_kept_bytes=0)
    cores = [
        shared_copies(program, without_needless_copies(program.buffers, without_overwritten(program.buffers, steps)))
        for steps in program.cores
    ]
    return with_stores_in_turn(with_identities(program, cores, known=True))
