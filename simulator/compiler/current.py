"""What AWS's compiler does to a kernel of the current dialect, which it otherwise takes as it is written.

- A load of what still lies in SBUF goes (loads.py), and so does a copy from PSUM whose readers can read PSUM (copies.py).
- Rows that are stored one after the other from tiles of one line lie in one tile (store_tiles.py).
- `tensor_scalar` with one operator that Scalar has, multiply or add, is on Scalar where the kernel names no engine: all 72, 72, 100, 100
  and 128 of five traces are ACTIVATE (KevGomes1403/nki-moe-megakernel @f1fe87a, four of attention and one of experts). What becomes of one
  with two operators is not known; it stays on Vector.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from neff_bench.simulator.compiler.copies import without_needless_copies
from neff_bench.simulator.compiler.loads import without_loads_in_place
from neff_bench.simulator.compiler.sharing import may_leave_vector
from neff_bench.simulator.compiler.store_tiles import rows_in_one_tile
from neff_bench.simulator.program import Buffer, Instruction, Program

_ON_SCALAR = frozenset({"multiply", "add"})


def current(program: Program) -> Program:
    """The program after these transformations."""
    program = rows_in_one_tile(without_loads_in_place(program))
    cores = tuple(tuple(_core(program.buffers, instructions)) for instructions in program.cores)
    return program if cores == program.cores else msgspec.structs.replace(program, cores=cores)


def _core(buffers: Sequence[Buffer], instructions: Sequence[Instruction]) -> list[Instruction]:
    steps = without_needless_copies(buffers, instructions, from_sbuf=False)
    return [msgspec.structs.replace(step, engine="scalar") if _goes_to_scalar(step) else step for step in steps]


def _goes_to_scalar(step: Instruction) -> bool:
    if step.op != "tensor_scalar" or not may_leave_vector(step):
        return False
    return step.attributes["op0"] in _ON_SCALAR and "op1" not in step.attributes
