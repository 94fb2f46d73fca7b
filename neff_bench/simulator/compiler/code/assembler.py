"""From a program to machine instructions: one columnar list for each physical core.

The instructions become columns (columns.py); what costs the same is lowered once (lowering.py). Then come the lives and addresses
of tensors, the regions that views lie in, who waits for whom, the order of issue, and the machine instructions with their waits
(placing.py). The fixed instructions around a kernel are in `neff_bench.chips`.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import mul
from typing import TYPE_CHECKING, Any, NamedTuple

from neff_bench.chips import Chip
from neff_bench.simulator import native
from neff_bench.simulator.chips import chip_for
from neff_bench.simulator.compiler.code.allocation import allocate, open_sbuf_bytes
from neff_bench.simulator.compiler.code.lowering import Numbered, Operations, lowered_kinds, operations_of
from neff_bench.simulator.compiler.code.order import issue_order
from neff_bench.simulator.compiler.code.placing import STREAMS, Fixed, fixed_steps, place
from neff_bench.simulator.compiler.code.same_place import hold_back
from neff_bench.simulator.compiler.program.columns import Table, item_bytes, operand_names, table_of
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
    """The dtype of a column of `Code`: int64 where it counts."""
    return next((dtype for dtype, names in _DTYPES.items() if column in names), "int64")


_OF_STEP = ("engine", *(name for name in Step._fields if name != "waits"))
"""Columns that the steps decide."""

_Step = tuple[Any, ...]
"""An engine, and the fields of one of its steps."""

_STEP = "3q3d7q"
"""Its form in simulator/native/code.c."""

_PLACED = 5
"""What `place` gives of each machine instruction."""


def assemble(program: Program, chip: Chip | None = None) -> tuple[Code, ...]:
    """Machine code of each core. `chip`: constants to use instead of the target's own. Raises SimulatorError."""
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
        made = _plain if native.library() is None else _compiled
        steps = [(engine, *step) for engine, step in numbered.steps]
        return tuple(map(_with_turns, made(table, _Kinds(lowered, operations), fixed, steps, chip)))
    finally:
        if collecting:
            gc.enable()


class _Kinds(NamedTuple):
    """What each kind of instruction becomes."""

    lowered: Sequence[Lowered]
    operations: Operations


def _plain(table: Table, kinds: _Kinds, fixed: Fixed, steps: Sequence[_Step], chip: Chip) -> Iterator[Code]:
    """One pass after the other, for where nothing is compiled."""
    import numpy as np

    buffers, settles = table.buffers, settling(table.kinds)
    lowered, operations = kinds
    for columns in table.cores:
        lives = lives_of(columns, len(buffers.memory), np.zeros(len(table.kinds), np.int64))
        address = np.where(buffers.address >= 0, buffers.address, allocate(buffers, lives, chip))
        edges = edges_of(buffers, columns, address, settles)
        placed = place(columns, edges, issue_order(operations, columns.kind, edges, chip), operations, fixed)
        code = _code(placed, columns.kind, lowered, steps)
        hold_back(code.opcode, code.origin, code.interval_ns, columns, chip)
        yield code


def _code(placed: np.ndarray, kind: np.ndarray, lowered: Sequence[Lowered], steps: Sequence[_Step]) -> Code:
    """`placed`: as `place` gives it. `steps`: by number."""
    import numpy as np

    step, origin, transfer, meeting, wait = placed.T.copy()
    of_steps = dict(zip(("engine", *Step._fields), zip(*steps, strict=True), strict=True))
    moved = kind[origin[transfer >= 0]]  # a DMA is one step
    return Code(
        **{name: np.array(of_steps[name], dtype_of(name))[step] for name in _OF_STEP},
        origin=origin,
        transfer=transfer,
        meeting=meeting,
        wait_start=np.cumsum([0, *(wait >= 0)]),
        waits=wait[wait >= 0],
        transfers=_transfers(lowered, moved),
    )


def _transfers(lowered: Sequence[Lowered], moved: np.ndarray) -> Transfers:
    """`moved`: the kinds of the DMAs, in their order."""
    import numpy as np

    moves = [one.transfer is not None for one in lowered]
    number = np.cumsum(moves) - 1
    return Transfers([one.transfer for one in lowered if one.transfer], number[moved[np.array(moves, bool)[moved]]])


def _compiled(table: Table, kinds: _Kinds, fixed: Fixed, steps: Sequence[_Step], chip: Chip) -> Iterator[Code]:
    """`_plain` in C: simulator/native/assemble.c and code.c."""
    import numpy as np

    given = (
        len(table.buffers.memory), *table.buffers, item_bytes(), settling(table.kinds),
        open_sbuf_bytes(chip), chip.psum_partition_bytes, chip.psum_bank_bytes, np.array(fixed.numbers(), np.int64),
    )  # fmt: skip
    words: list[Any] = []
    placed = []
    lowered, operations = kinds
    packed = operations.packed()
    # A step waits for no more than one instruction of each stream, and Scalar may load a table; queues end with a wait.
    rooms = [STREAMS * (kind.end_step - kind.first_step) + 1 for kind in operations.kinds]
    for block, number in zip(table.blocks, table.number, strict=True):
        room = sum(map(mul, number, rooms)) + STREAMS
        placed.append(np.empty((room, _PLACED), np.int32))
        words += [block, *packed, room, placed[-1]]
    cores = len(table.blocks)
    counts = np.empty((cores, 3), np.int64)
    native.call("assemble", given, cores, tuple(words), float(chip.dma_wait_ns), float(chip.semaphore_ns), counts)
    words, made = [], []
    for (count, waits, moves), block, of_core in zip(counts.tolist(), table.blocks, placed, strict=True):
        columns = (
            np.empty((5, count), np.int32), np.empty((3, count), np.float64), np.empty((6, count), np.int64),
            np.empty(count, np.bool_), np.empty(count + 1, np.int64), np.empty(waits, np.int32), np.empty(moves, np.int32),
        )  # fmt: skip
        words += [count, block, of_core, *columns]
        made.append(columns)
    native.call("code_of", native.structs(_STEP, steps), cores, tuple(words))
    for (narrow, times, whole, transpose, wait_start, waiting, moved), columns_of in zip(
        made, table.cores, strict=True
    ):
        engine, opcode, origin, transfer, meeting = narrow
        interval, latency, pe = times
        hold_back(opcode, origin, interval, columns_of, chip)
        flops, sbuf_read, sbuf_write, psum_read, psum_write, psum_read_sbuf_write = whole
        yield Code(
            engine, opcode, origin, interval, latency, pe, transfer, meeting, flops, transpose, sbuf_read, sbuf_write,
            psum_read, psum_write, psum_read_sbuf_write, wait_start, waiting, _transfers(lowered, moved),
        )  # fmt: skip


_SEMAPHORES = 16
"""Of a queue."""


def _with_turns(code: Code) -> Code:
    """The instructions of one core, where a DMA whose descriptors --disable-dge made also waits for the sixteenth before it of its
    engine: a queue has sixteen semaphores, which its DMAs take in turn (docs/model.md, "Queues")."""
    import numpy as np

    disabled = code.transfers.column(lambda one: one.dge_disabled, "bool")
    if np.count_nonzero(disabled) <= _SEMAPHORES:
        return code
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
