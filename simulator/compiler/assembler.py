"""From a program to machine instructions: one columnar list for each physical core.

The instructions become columns (columns.py); what costs the same is lowered once (lowering.py). Then come the lives and addresses
of tensors, the regions that views lie in, who waits for whom, the order of issue, and the machine instructions with their waits
(placing.py). The fixed instructions around a kernel are in `neff_bench.chips`.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from neff_bench.chips import Chip
from neff_bench.simulator.chips import chip_for
from neff_bench.simulator.compiler.allocation import allocate
from neff_bench.simulator.compiler.columns import Table, table_of
from neff_bench.simulator.compiler.dependencies import edges_of, settling
from neff_bench.simulator.compiler.lives import lives_of
from neff_bench.simulator.compiler.lowering import lower_different, lowering, operation_columns
from neff_bench.simulator.compiler.order import issue_order
from neff_bench.simulator.compiler.placing import Placed, place, step_columns
from neff_bench.simulator.compiler.rectangles import regions_of
from neff_bench.simulator.costs.steps import Lowered
from neff_bench.simulator.costs.transfers import Transfer
from neff_bench.simulator.program import Instruction, Program

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Code:
    """Machine instructions of one core, in the order of issue. Every array has one element per instruction, except
    `waits` (indices of instructions, all before the waiting one), cut up by `wait_start` of length n + 1.

    engine: index of `ENGINES`; each engine runs its instructions in this order. opcode: byte. origin: index into `Program.cores[core]`.
    interval_ns: time until the engine can start its next instruction; latency_ns: start to result.
    pe_ns: how long LDWEIGHTS and MATMUL hold the PE at full clock; the schedule adds throttling and latency.
    transfer: index into `transfers`, or -1.
    meeting: number of the core_barrier or sendrecv that both cores enter together, or -1.
    flops: 2 x rows x columns x moving; transpose: a PE transpose. sbuf_*, psum_*: bytes per partition that engines move.
    """

    engine: np.ndarray
    opcode: np.ndarray
    origin: np.ndarray
    interval_ns: np.ndarray
    latency_ns: np.ndarray
    pe_ns: np.ndarray
    transfer: np.ndarray
    meeting: np.ndarray
    flops: np.ndarray
    transpose: np.ndarray
    sbuf_read: np.ndarray
    sbuf_write: np.ndarray
    psum_read: np.ndarray
    psum_write: np.ndarray
    psum_read_sbuf_write: np.ndarray
    wait_start: np.ndarray
    waits: np.ndarray
    transfers: tuple[Transfer, ...]

    def __len__(self) -> int:
        return len(self.engine)


def assemble(program: Program, chip: Chip | None = None) -> tuple[Code, ...]:
    """Machine code of each core. `chip`: constants to use instead of the target's own. Raises SimulatorError."""
    chip = chip or chip_for(program.target)
    # Nothing here is cyclic, and looking for cycles among a million new tuples costs a third of the time.
    collecting = gc.isenabled()
    gc.disable()
    try:
        table, lower_once = table_of(program), lowering(program, chip)
        return tuple(_core(program, core, chip, table, lower_once) for core in range(len(program.cores)))
    finally:
        if collecting:
            gc.enable()


def _core(program: Program, core: int, chip: Chip, table: Table, lower_once: Callable[[Instruction], Lowered]) -> Code:
    instructions, buffers, columns = program.cores[core], table.buffers, table.cores[core]
    first_of_kind = columns.first_of_kind.tolist()
    operations = lower_different(instructions, first_of_kind, lower_once, program, chip)
    addresses = allocate(buffers, lives_of(columns, len(program.buffers)), chip)
    edges = edges_of(columns, regions_of(buffers, columns, addresses), settling(columns, instructions))
    order = issue_order(operation_columns(operations, chip, len(program.cores)), columns.kind, edges, chip)
    placed = place(operations, columns, edges, order, chip, program.from_hlo)
    return _code(placed, [operations[kind].transfer for kind in columns.kind[order].tolist()])


def _code(placed: Placed, transfers: Sequence[Transfer | None]) -> Code:
    """`transfers`: of each instruction in the order of issue."""
    import numpy as np

    waiting = placed.wait >= 0
    wait_start = np.zeros(len(waiting) + 1, np.int64)
    np.cumsum(waiting, out=wait_start[1:])
    return Code(
        **step_columns(placed),
        origin=placed.origin,
        transfer=placed.transfer,
        meeting=placed.meeting,
        wait_start=wait_start,
        waits=placed.wait[waiting],
        transfers=tuple(transfer for transfer in transfers if transfer is not None),
    )
