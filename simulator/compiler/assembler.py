"""From a program to machine instructions: one columnar list for each physical core.

The instructions become columns (columns.py); what costs the same is lowered once (lowering.py). Then come the lives and addresses
of tensors, the regions that views lie in, who waits for whom, the order of issue, and the machine instructions with their waits
(placing.py). The fixed instructions around a kernel are in `neff_bench.chips`.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from neff_bench.chips import Chip
from neff_bench.simulator import native
from neff_bench.simulator.chips import chip_for
from neff_bench.simulator.compiler.allocation import allocate
from neff_bench.simulator.compiler.columns import Buffers, Columns, Table, item_bytes, table_of
from neff_bench.simulator.compiler.dependencies import edges_of, settling
from neff_bench.simulator.compiler.lives import lives_of
from neff_bench.simulator.compiler.lowering import Operations, lower_different, lowering, operation_columns
from neff_bench.simulator.compiler.order import issue_order
from neff_bench.simulator.compiler.placing import STREAMS, Fixed, fixed_columns, place, step_columns
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


_DTYPES = {
    "int32": ("engine", "opcode", "origin", "transfer", "meeting", "waits"),
    "float64": ("interval_ns", "latency_ns", "pe_ns"),
    "bool": ("transpose",),
}


def dtype_of(column: str) -> str:
    """The dtype of a column of `Code`: int64 where it counts."""
    return next((dtype for dtype, names in _DTYPES.items() if column in names), "int64")


def assemble(program: Program, chip: Chip | None = None) -> tuple[Code, ...]:
    """Machine code of each core. `chip`: constants to use instead of the target's own. Raises SimulatorError."""
    chip = chip or chip_for(program.target)
    # Nothing here is cyclic, and looking for cycles among a million new tuples costs a third of the time.
    collecting = gc.isenabled()
    gc.disable()
    try:
        table, lower_once = table_of(program), lowering(program, chip)
        given = _given(table.buffers, chip)
        return tuple(_core(program, core, chip, table, lower_once, given) for core in range(len(program.cores)))
    finally:
        if collecting:
            gc.enable()


def _core(
    program: Program, core: int, chip: Chip, table: Table, lower_once: Callable[[Instruction], Lowered], given: _Given
) -> Code:
    import numpy as np

    buffers, columns = table.buffers, table.cores[core]
    first = [program.cores[core][index] for index in columns.first_of_kind.tolist()]
    lowered = lower_different(first, lower_once, program, chip)
    operations, numbered = operation_columns(lowered, settling(first), chip, len(program.cores))
    fixed = fixed_columns(chip, program.from_hlo, columns.names, numbered)
    if columns.block is None:
        placed = _plain(buffers, columns, operations, fixed, chip)
    else:
        placed = _compiled(given, columns, operations, fixed)
    step, origin, transfer, meeting, wait = placed
    waiting = wait >= 0
    wait_start = np.zeros(len(wait) + 1, np.int64)
    np.cumsum(waiting, out=wait_start[1:])
    moved = origin[transfer >= 0]  # a DMA is one step
    return Code(
        **step_columns(list(numbered.steps), step),
        origin=origin,
        transfer=transfer,
        meeting=meeting,
        wait_start=wait_start,
        waits=wait[waiting],
        transfers=tuple(moves for kind in columns.kind[moved].tolist() if (moves := lowered[kind].transfer)),
    )


def _plain(buffers: Buffers, columns: Columns, operations: Operations, fixed: Fixed, chip: Chip) -> np.ndarray:
    """See `place`; one pass after the other, for where nothing is compiled."""
    import numpy as np

    lives = lives_of(columns, len(buffers.memory), np.zeros(len(operations.engine), np.int64))
    address = np.where(buffers.address >= 0, buffers.address, allocate(buffers, lives, chip))
    edges = edges_of(buffers, columns, address, operations.settles)
    return place(columns, edges, issue_order(operations, columns.kind, edges, chip), operations, fixed)


_Given = tuple[int, "np.ndarray", "np.ndarray", "np.ndarray"]


def _given(buffers: Buffers, chip: Chip) -> _Given:
    """What every core is assembled with: how many buffers there are, their columns, sizes of memories, and waits."""
    import numpy as np

    sizes = np.array([chip.sbuf_partition_bytes, chip.psum_partition_bytes, chip.psum_bank_bytes], np.int64)
    waits = np.array([chip.dma_wait_ns, chip.semaphore_ns], np.float64)
    return len(buffers.memory), np.array(buffers), sizes, waits


def _compiled(given: _Given, columns: Columns, operations: Operations, fixed: Fixed) -> np.ndarray:
    """`_plain` in C: simulator/native/assemble.c."""
    import numpy as np

    steps = int((operations.step_start[1:] - operations.step_start[:-1])[columns.kind].sum())
    # A step waits for no more than one instruction of each stream; Scalar may load a table; queues end with a wait.
    room = STREAMS * steps + len(columns.kind) + STREAMS
    code = np.empty((5, room), np.int32)
    of_core = (*given, item_bytes(columns))
    count = native.call("assemble_core", columns.block, of_core, operations, fixed, room, tuple(native.rows(code)))
    return code[:, :count]
