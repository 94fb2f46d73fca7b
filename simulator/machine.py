"""From a program to machine instructions: one columnar list for each physical core.

Operations are lowered (`simulator.lowering`), put in order (`simulator.order`) and given their waits. A change of activation
function becomes an ACT_TABLE_LOAD, and every wait for a second semaphore an EVENT_SEMAPHORE of its own, as in real
profiles. The fixed instructions around a kernel are in `simulator.overheads`.
"""

from __future__ import annotations

import gc
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from simulator.allocation import allocate
from simulator.chips import Chip, chip_for
from simulator.costs import activation_table
from simulator.dependencies import Edge, find_edges
from simulator.lowering import ALL, SCALAR, TENSOR, WEIGHT_OPERANDS, WEIGHTS, Lowered, Step, lowering
from simulator.opcodes import OPCODES
from simulator.order import issue_order
from simulator.program import Program
from simulator.transfers import Transfer

if TYPE_CHECKING:
    import numpy as np

EVENT_SEMAPHORE_NS = (52.0, 40.0, 45.0, 54.0, 30.0)
"""EVENT_SEMAPHORE that need not wait, for each engine: NTFF of github allenkchau/trainium-kernel-fusion @d709ddf1."""

_EVENT_SEMAPHORE = tuple(Step(OPCODES["EVENT_SEMAPHORE"], ALL, ns, ns) for ns in EVENT_SEMAPHORE_NS)


@dataclass(frozen=True)
class Code:
    """Machine instructions of one core, in the order of issue. Every array has one element per instruction, except
    `waits` (indices of instructions, all before the waiting one), cut up by `wait_start` of length n + 1.

    engine: index of `ENGINES`, which runs them in this order. opcode: byte. origin: index into `Program.cores[core]`.
    interval_ns: time until the engine can start its next instruction; latency_ns: start to result.
    pe_ns: what LDWEIGHTS and MATMUL hold the PE at full clock; the schedule throttles it and adds their latency. transfer: index into `transfers`, or -1.
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


_INTEGERS = {"engine", "opcode", "origin", "transfer", "meeting", "wait_start", "waits"}
_COLUMNS = tuple(f.name for f in fields(Code) if f.name not in ("transfers", "waits", "wait_start"))
_TRANSFER = _COLUMNS.index("transfer")
_COUNTS = {"flops", "sbuf_read", "sbuf_write", "psum_read", "psum_write", "psum_read_sbuf_write"}


def _dtype(column: str) -> str:
    if column == "transpose":
        return "bool"
    return "int64" if column in _COUNTS else "int32" if column in _INTEGERS else "float64"


def assemble(program: Program, chip: Chip | None = None) -> tuple[Code, ...]:
    """Machine code of each core. `chip`: constants to use instead of the target's own. Raises SimulatorError."""
    chip = chip or chip_for(program.target)
    # Nothing here is cyclic, and looking for cycles among a million new tuples costs a third of the time.
    collecting = gc.isenabled()
    gc.disable()
    try:
        return tuple(_Assembler(program, core, chip).run() for core in range(len(program.cores)))
    finally:
        if collecting:
            gc.enable()


class _Assembler:
    """Builds one core's columns as plain lists, appended to side by side."""

    def __init__(self, program: Program, core: int, chip: Chip) -> None:
        self.program = program
        self.chip = chip
        self.instructions = program.cores[core]
        self.rows: list[tuple] = []
        """One tuple for each machine instruction, in the order of `_COLUMNS`."""
        self.wait_start = [0]
        self.waits: list[int] = []
        self.transfers: list[Transfer] = []
        self.last = [-1] * len(self.instructions)
        """Machine index of the last machine instruction of each program instruction."""
        self.stream: list[int] = []
        """What completes in order, for each machine instruction: its engine, or 8 + the DMA queue."""
        self.seen: dict[tuple[int, int], int] = {}
        """The last instruction of a stream that an engine has waited for."""
        self.table: str | None = None
        self.meetings = 0

    def run(self) -> Code:
        import numpy as np

        lower = lowering(self.program, self.chip)
        operations = [lower(instruction) for instruction in self.instructions]
        addresses = allocate(self.program.buffers, self.instructions, self.chip)
        edges = find_edges(self.program, self.instructions, addresses)
        for index in issue_order(operations, edges, self.chip, len(self.program.cores)):
            self._place(index, operations[index], edges[index])
            self.last[index] = len(self.stream) - 1
        self._final_waits()
        columns_ = zip(*self.rows, strict=True) if self.rows else [()] * len(_COLUMNS)
        arrays: Any = {
            name: np.array(values, dtype=_dtype(name)) for name, values in zip(_COLUMNS, columns_, strict=True)
        }
        return Code(
            **arrays,
            wait_start=np.array(self.wait_start, dtype=np.int64),
            waits=np.array(self.waits, dtype=np.int32),
            transfers=tuple(self.transfers),
        )

    def _place(self, index: int, operation: Lowered, edges: set[Edge]) -> None:
        engine, steps, transfer, _, meets, function, _, _ = operation
        number = meeting = -1
        if transfer is not None:
            number = len(self.transfers)
            self.transfers.append(transfer)
        if meets:
            meeting = self.meetings
            self.meetings += 1
        if function:
            self._load_table(index, function)
        for step in steps:
            waits = self._unseen(self._waits(edges, step.waits, engine, transfer is not None), engine) if edges else []
            if len(waits) > 1:
                for before in waits[:-1]:
                    self._wait(engine, index, before)
            self._append(engine, step, index, waits[-1:], number, meeting)

    def _load_table(self, index: int, function: str) -> None:
        table = activation_table(function, self.table)
        if table is not None:
            load = self.chip.activation_table_load_ns
            self._append(SCALAR, Step(OPCODES["ACT_TABLE_LOAD"], ALL, load, load), index, [])
            self.table = table

    def _wait(self, engine: int, origin: int, before: int) -> None:
        self._append(engine, _EVENT_SEMAPHORE[engine], origin, [before])

    def _append(
        self, engine: int, step: Step, origin: int, waits: list[int], transfer: int = -1, meeting: int = -1
    ) -> None:
        opcode, _, interval, latency, pe, *counts = step
        self.rows.append((engine, opcode, origin, interval, latency, pe, transfer, meeting, *counts))
        self.waits += waits
        self.wait_start.append(len(self.waits))
        self.stream.append(engine if transfer < 0 else 8 + engine)

    def _waits(self, edges: set[Edge], which: int, engine: int, dma: bool) -> list[int]:
        """The last instruction to wait for in each stream, in order. An engine never waits for its own earlier reads
        and writes; PE accumulates in PSUM without waiting for itself."""
        latest: dict[int, int] = {}
        for before, kind, operand in edges:
            if which and (operand in WEIGHT_OPERANDS) != (which == WEIGHTS):
                continue
            machine = self.last[before]
            stream = self.stream[machine]
            if stream == engine and not dma and (kind != "raw" or engine == TENSOR):
                continue
            if machine > latest.get(stream, -1):
                latest[stream] = machine
        return sorted(latest.values())

    def _unseen(self, waits: list[int], engine: int) -> list[int]:
        """Without what the engine has waited for before: streams complete in order, and so does the engine."""
        left = []
        for before in waits:
            key = (engine, self.stream[before])
            if before > self.seen.get(key, -1):
                self.seen[key] = before
                left.append(before)
        return left

    def _final_waits(self) -> None:
        """A kernel ends when its last DMA on each queue has landed: the issuing engine waits for it."""
        last = {self.stream[i]: i for i, row in enumerate(self.rows) if row[_TRANSFER] >= 0}
        for machine in sorted(set(last.values()) - set(self.waits)):
            engine, _, origin, *_ = self.rows[machine]
            self._wait(engine, origin, machine)
