"""What AWS's compiler does to a kernel of the current dialect, which it otherwise takes as it is written.

- A load of what still lies in SBUF goes (loads.py), and so does a copy from PSUM whose readers can read PSUM (copies.py).
- Rows that are stored one after the other from tiles of one line lie in one tile (store_tiles.py).
- `tensor_scalar` that scales or shifts is on Scalar (sharing.py).
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from neff_bench.simulator.compiler.passes.copies import without_needless_copies
from neff_bench.simulator.compiler.passes.loads import without_loads_in_place
from neff_bench.simulator.compiler.passes.sharing import scaled_on_scalar
from neff_bench.simulator.compiler.passes.store_tiles import rows_in_one_tile
from neff_bench.simulator.program import Buffer, Instruction, Program


def current(program: Program) -> Program:
    """The program after these transformations."""
    program = rows_in_one_tile(without_loads_in_place(program))
    cores = tuple(tuple(_core(program.buffers, instructions)) for instructions in program.cores)
    return program if cores == program.cores else msgspec.structs.replace(program, cores=cores)


def _core(buffers: Sequence[Buffer], instructions: Sequence[Instruction]) -> list[Instruction]:
    return scaled_on_scalar(without_needless_copies(buffers, instructions, from_sbuf=False))
