"""Leads from a program to machine instructions: one columnar list for each physical core.

The instructions become columns (columns.py); what costs the same is lowered once (lowering.py). Then come the lives, addresses and regions of tensors,
who waits for whom, the order of issue, and the machine instructions with their waits (placing.py).
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from neff_bench.chips import Chip
from neff_bench.simulator.chips import chip_for
from neff_bench.simulator.compiler.code.allocation import allocate
from neff_bench.simulator.compiler.code.lowering import Numbered, Operations, lowered_kinds, operations_of
from neff_bench.simulator.compiler.code.order import issue_order
from neff_bench.simulator.compiler.code.placing import Fixed, fixed_steps, place
from neff_bench.simulator.compiler.program.columns import Table, operand_names, table_of
from neff_bench.simulator.compiler.program.dependencies import edges_of, settling
from neff_bench.simulator.compiler.program.lives import lives_of
from neff_bench.simulator.costs.steps import Lowered, Step
from neff_bench.simulator.costs.transfers import Transfers
from neff_bench.simulator.program import Program

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Code:
    """Machine instructions of one core, in the order of issue. Every array has one element per instruction, except
    `waits` (indices of instructions, all before the waiting one), cut up by `wait_start` of length n + 1.

    engine: index of `ENGINES`; each engine runs its instructions in this order. opcode: byte. origin: index into `Program.cores[core]`.
    interval_ns: time until the engine can start its next instruction, of a MATMUL at any clock; latency_ns: start to result.
    pe_ns: how long the columns of LDWEIGHTS and MATMUL hold the PE at full clock; the schedule adds throttling and latency.
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
    transfers: Transfers

    def __len__(self) -> int:
        return len(self.engine)


_DTYPES = {
    "int32": ("engine", "opcode", "origin", "transfer", "meeting", "waits"),
    "float64": ("interval_ns", "latency_ns", "pe_ns"),
    "bool": ("transpose",),
}


def dtype_of(column: str) -> str:
    """Return the dtype of a column of `Code`: int64 where it counts."""
    return next((dtype for dtype, names in _DTYPES.items() if column in names), "int64")


_OF_STEP = ("engine", *(name for name in Step._fields if name != "waits"))
"""Columns that the steps decide."""

_Step = tuple[Any, ...]
"""An engine, and the fields of one of its steps."""


def assemble(program: Program, chip: Chip | None = None) -> tuple[Code, ...]:
    """Return the machine code of each core. `chip`: constants to use instead of the target's own. Raises SimulatorError."""
    chip = chip or chip_for(program.target)
    # Nothing here is cyclic, and looking for cycles among a million new tuples costs a third of the time.
    collecting = gc.isenabled()
    gc.disable()
    try:
        table = table_of(program)
        numbered = Numbered({}, {})
        lowered = lowered_kinds(program, chip)
        operations = operations_of(lowered, chip, program.sharers, numbered)
        names = operand_names(table.kinds)
        fixed = fixed_steps(chip, program.from_hlo, program.from_hlo or program.keeps_weights, names, numbered)
        steps = [(engine, *step) for engine, step in numbered.steps]
        return tuple(map(_with_turns, _codes(table, _Kinds(lowered, operations), fixed, steps, chip)))
    finally:
        if collecting:
            gc.enable()


class _Kinds(NamedTuple):
    """Holds what each kind of instruction becomes."""

    lowered: Sequence[Lowered]
    operations: Operations


def _codes(table: Table, kinds: _Kinds, fixed: Fixed, steps: Sequence[_Step], chip: Chip) -> Iterator[Code]:
    """Yield the code of each core: one pass after the other."""
    import numpy as np

    buffers, settles = table.buffers, settling(table.kinds)
    lowered, operations = kinds
    for columns in table.cores:
        lives = lives_of(columns, len(buffers.memory), np.zeros(len(table.kinds), np.int64))
        address = np.where(buffers.address >= 0, buffers.address, allocate(buffers, lives, chip))
        edges = edges_of(buffers, columns, address, settles)
        placed = place(columns, edges, issue_order(operations, columns.kind, edges, chip), operations, fixed)
        yield _code(placed, columns.kind, lowered, steps)


def _code(placed: np.ndarray, kind: np.ndarray, lowered: Sequence[Lowered], steps: Sequence[_Step]) -> Code:
    """Return the machine code of a core. `placed`: as `place` gives it. `steps`: by number."""
    import numpy as np

    step, origin, transfer, meeting, wait = placed.T.copy()
    of_steps = dict(zip(("engine", *Step._fields), zip(*steps, strict=True), strict=True))
    moved = kind[origin[transfer >= 0]]  # a DMA is one step
    return Code(
        **{name: np.array(of_steps[name], dtype_of(name))[step] for name in _OF_STEP},
        origin=origin,
        transfer=transfer,
        meeting=meeting,
        wait_start=np.append(0, np.cumsum(wait >= 0)),
        waits=wait[wait >= 0],
        transfers=_transfers(lowered, moved),
    )


def _transfers(lowered: Sequence[Lowered], moved: np.ndarray) -> Transfers:
    """Return the DMAs of a program as columns. `moved`: the kinds of the DMAs, in their order."""
    import numpy as np

    moves = [one.transfer is not None for one in lowered]
    number = np.cumsum(moves) - 1
    return Transfers([one.transfer for one in lowered if one.transfer], number[moved[np.array(moves, bool)[moved]]])


_SEMAPHORES = 16
"""The semaphores of a queue."""


def _with_turns(code: Code) -> Code:
    """Return the instructions of one core, where a DMA whose descriptors --disable-dge made also waits for the sixteenth before it of its
    engine: a queue has sixteen semaphores, which its DMAs take in turn (docs/model.md, "Queues")."""
    import numpy as np

    if code.transfers.total("dge_disabled") <= _SEMAPHORES:
        return code
    disabled = code.transfers.column(lambda one: one.dge_disabled, "bool")
    # Instructions that start no DMA have the number -1, which finds the last element.
    ours = np.flatnonzero(np.append(disabled, False)[code.transfer])
    queues = [ours[code.engine[ours] == engine] for engine in np.unique(code.engine[ours]).tolist()]
    waiting = np.concatenate([queue[_SEMAPHORES:] for queue in queues]) if queues else ours
    if not len(waiting):
        return code
    before = np.concatenate([queue[:-_SEMAPHORES] for queue in queues])
    added = np.zeros(len(code.wait_start), code.wait_start.dtype)
    added[waiting + 1] = 1
    by_place = np.argsort(waiting)
    ends = code.wait_start[waiting[by_place] + 1]
    waits = np.insert(code.waits, ends, before[by_place].astype(code.waits.dtype))
    return replace(code, waits=waits, wait_start=code.wait_start + np.cumsum(added))
