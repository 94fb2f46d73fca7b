"""From a program to machine instructions: one columnar list for each physical core.

The instructions become columns (columns.py); what costs the same is lowered once (lowering.py). Then come the lives and addresses
of tensors, the regions that views lie in, who waits for whom, the order of issue, and the machine instructions with their waits
(placing.py). The fixed instructions around a kernel are in `neff_bench.chips`.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from neff_bench.chips import Chip
from neff_bench.simulator import native
from neff_bench.simulator.chips import chip_for
from neff_bench.simulator.compiler.allocation import allocate
from neff_bench.simulator.compiler.columns import Columns, Table, item_bytes, table_of
from neff_bench.simulator.compiler.dependencies import edges_of, settling
from neff_bench.simulator.compiler.lives import lives_of
from neff_bench.simulator.compiler.lowering import Operations, lower_kinds, operation_columns
from neff_bench.simulator.compiler.order import issue_order
from neff_bench.simulator.compiler.placing import STREAMS, Fixed, Placed, Steps, fixed_columns, place, step_table
from neff_bench.simulator.costs.steps import Lowered
from neff_bench.simulator.costs.transfers import Transfer
from neff_bench.simulator.program import Program

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
        table = table_of(program)
        kinds: list[_Kinds] = []
        for lowered in lower_kinds(program, table, chip):
            as_before = kinds and kinds[-1].lowered == lowered
            kinds.append(kinds[-1] if as_before else _kinds(program, table, chip, lowered))
        place_core = _plain if native.library() is None else _compiled
        placed = place_core(table, kinds, chip)
        return tuple(_code(*of_core) for of_core in zip(table.cores, kinds, placed, strict=True))
    finally:
        if collecting:
            gc.enable()


class _Kinds(NamedTuple):
    """What the kinds of instruction become on a core, and the steps that are the same in every program."""

    lowered: Sequence[Lowered]
    operations: Operations
    fixed: Fixed
    steps: Steps


def _kinds(program: Program, table: Table, chip: Chip, lowered: Sequence[Lowered]) -> _Kinds:
    operations, numbered = operation_columns(lowered, settling(table.kinds), chip, len(program.cores))
    fixed = fixed_columns(
        chip, program.from_hlo, program.from_hlo or program.keeps_weights, table.cores[0].names, numbered
    )
    return _Kinds(lowered, operations, fixed, step_table(numbered))


def _code(columns: Columns, kinds: _Kinds, placed: Placed) -> Code:
    step, origin, transfer, meeting, waits, wait_start = placed
    moved = columns.kind[origin[transfer >= 0]]  # a DMA is one step
    return Code(
        **kinds.steps.of(step),
        origin=origin,
        transfer=transfer,
        meeting=meeting,
        wait_start=wait_start,
        waits=waits,
        transfers=tuple(moves for kind in moved.tolist() if (moves := kinds.lowered[kind].transfer)),
    )


def _plain(table: Table, kinds: Sequence[_Kinds], chip: Chip) -> Iterator[Placed]:
    """For each core, see `place`; one pass after the other, for where nothing is compiled."""
    import numpy as np

    buffers = table.buffers
    for columns, (_, operations, fixed, _) in zip(table.cores, kinds, strict=True):
        lives = lives_of(columns, len(buffers.memory), np.zeros(len(operations.engine), np.int64))
        address = np.where(buffers.address >= 0, buffers.address, allocate(buffers, lives, chip))
        edges = edges_of(buffers, columns, address, operations.settles)
        yield place(columns, edges, issue_order(operations, columns.kind, edges, chip), operations, fixed)


def _compiled(table: Table, kinds: Sequence[_Kinds], chip: Chip) -> Iterator[Placed]:
    """`_plain` in C: simulator/native/assemble.c."""
    import numpy as np

    buffers = np.array(table.buffers)
    sizes = np.array([chip.sbuf_partition_bytes, chip.psum_partition_bytes, chip.psum_bank_bytes], np.int64)
    waits_ns = np.array([chip.dma_wait_ns, chip.semaphore_ns], np.float64)
    item = item_bytes(table.cores[0])
    given = native.record((buffers.shape[1], buffers, sizes, waits_ns, item))
    before = None
    for columns, of in zip(table.cores, kinds, strict=True):
        if of is not before:
            before, records = of, (native.record(of.operations), native.record(of.fixed))
            # A step waits for no more than one instruction of each stream, and Scalar may load a table.
            step_start = of.operations.step_start
            room_of_kind = STREAMS * (step_start[1:] - step_start[:-1]) + 1
        room = int(room_of_kind[columns.kind].sum()) + STREAMS  # queues end with a wait
        code, wait_start = np.empty((5, room), np.int32), np.empty(room + 1, np.int64)
        found = (*native.rows(code), wait_start)
        count = native.call("assemble_core", columns.block, given, *records, room, found)
        step, origin, transfer, meeting, waits = code[:, :count]
        wait_start = wait_start[: count + 1]
        yield Placed(step, origin, transfer, meeting, waits[: wait_start[-1]], wait_start)
