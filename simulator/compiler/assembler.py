"""From a program to machine instructions: one columnar list for each physical core.

Operations are lowered (lowering.py), put in order (order.py) and given their waits. A change of activation function becomes
an ACT_TABLE_LOAD. An instruction waits for one semaphore; each further wait becomes an EVENT_SEMAPHORE of its own, as in real
profiles. The fixed instructions around a kernel are in `neff_bench.chips`.
"""

from __future__ import annotations

import gc
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from neff_bench.chips import Chip
from neff_bench.parsers.formats.opcodes import OPCODES
from neff_bench.simulator.chips import chip_for
from neff_bench.simulator.compiler.allocation import allocate
from neff_bench.simulator.compiler.dependencies import Edge, find_edges
from neff_bench.simulator.compiler.lowering import lowering
from neff_bench.simulator.compiler.order import issue_order
from neff_bench.simulator.costs.activation_tables import activation_table
from neff_bench.simulator.costs.steps import ALL, NOTHING, SCALAR, TENSOR, WEIGHT_OPERANDS, WEIGHTS, Lowered, Step
from neff_bench.simulator.costs.transfers import Transfer
from neff_bench.simulator.program import Access, Program

if TYPE_CHECKING:
    import numpy as np

EVENT_SEMAPHORE_NS = (52.0, 40.0, 45.0, 54.0, 30.0)
"""EVENT_SEMAPHORE that need not wait, for each engine: NTFF of github allenkchau/trainium-kernel-fusion @d709ddf1."""

_EVENT_SEMAPHORE = tuple(Step(OPCODES["EVENT_SEMAPHORE"], ALL, ns, ns) for ns in EVENT_SEMAPHORE_NS)
_COMPILED_END = Step(OPCODES["NOP"], ALL, 16.0, 16.0)
"""The wait for the last store of an HLO graph: 16 ns in the inf2 profiles of github AnchovyPark/npu_profiling_code @2a956420."""


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


_DTYPES = {"engine": "int32", "opcode": "int32", "interval_ns": "float64", "latency_ns": "float64", "pe_ns": "float64",
           "transpose": "bool"}  # fmt: skip
"""Dtypes of the columns that a step and its engine decide. Columns that are not named here are counts, in int64."""
_STEP_COLUMNS = tuple(name for name in Step._fields if name != "waits")


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
    """Builds one core's columns as plain lists of equal length."""

    def __init__(self, program: Program, core: int, chip: Chip) -> None:
        self.program = program
        self.chip = chip
        self.instructions = program.cores[core]
        self.kinds: dict[tuple[int, Step], int] = {}
        """Each different (engine, step) and its number."""
        self.kinds_of: dict[int, tuple[tuple[int, int], ...]] = {}
        """By `id` of a `Lowered`: the kind of each of its steps, and what it waits for."""
        self.kind: list[int] = []
        self.origin: list[int] = []
        self.transfer: list[int] = []
        self.meeting: list[int] = []
        self.stream: list[int] = []
        """What completes in order, for each machine instruction: its engine, or 8 + the DMA queue."""
        self.wait_start = [0]
        self.waits: list[int] = []
        self.transfers: list[Transfer] = []
        self.last = [-1] * len(self.instructions)
        """Machine index of the last machine instruction of each program instruction."""
        self.seen: list[dict[int, int]] = [{} for _ in range(5)]
        """By engine: the last instruction of each stream that it has waited for."""
        self.table: str | None = None
        self.meetings = 0
        self.weights: tuple[Access | None, int] = None, -1
        """Of an HLO graph: what the last LDWEIGHTS loaded, and for which program instruction."""

    def run(self) -> Code:
        lower = lowering(self.program, self.chip)
        operations = [lower(instruction) for instruction in self.instructions]
        addresses = allocate(self.program.buffers, self.instructions, self.chip)
        edges = find_edges(self.program, self.instructions, addresses)
        for index in issue_order(operations, edges, self.chip, len(self.program.cores)):
            self._place(index, operations[index], edges[index])
        self._final_waits()
        return self._code()

    def _code(self) -> Code:
        import numpy as np

        kind = np.array(self.kind, dtype=np.int32)
        different = [(engine, *(getattr(step, name) for name in _STEP_COLUMNS)) for engine, step in self.kinds]
        values = zip(*different, strict=True) if different else [()] * (1 + len(_STEP_COLUMNS))
        columns: Any = {
            name: np.array(column, dtype=_DTYPES.get(name, "int64"))[kind]
            for name, column in zip(("engine", *_STEP_COLUMNS), values, strict=True)
        }
        return Code(
            **columns,
            origin=np.array(self.origin, dtype=np.int32),
            transfer=np.array(self.transfer, dtype=np.int32),
            meeting=np.array(self.meeting, dtype=np.int32),
            wait_start=np.array(self.wait_start, dtype=np.int64),
            waits=np.array(self.waits, dtype=np.int32),
            transfers=tuple(self.transfers),
        )

    def _place(self, index: int, operation: Lowered, edges: set[Edge]) -> None:
        engine, transfer = operation.engine, operation.transfer
        kinds = self.kinds_of.get(id(operation))
        if kinds is None:
            kinds = tuple((self._kind(engine, step), step.waits) for step in operation.steps)
            self.kinds_of[id(operation)] = kinds
        number = meeting = -1
        if transfer is not None:
            number = len(self.transfers)
            self.transfers.append(transfer)
        if operation.meets:
            meeting = self.meetings
            self.meetings += 1
        if operation.function:
            self._load_table(index, operation.function)
        if self.program.from_hlo and engine == TENSOR:
            kinds = self._compiled_matmul(index, kinds, edges)
        for kind, which in kinds:
            waits = self._waits(edges, which, engine, transfer is not None) if edges and which != NOTHING else []
            for before in waits[:-1]:
                self._append(engine, self._kind(engine, _EVENT_SEMAPHORE[engine]), index, [before])
            self._append(engine, kind, index, waits[-1:], number, meeting)
        self.last[index] = len(self.kind) - 1

    def _compiled_matmul(
        self, index: int, kinds: tuple[tuple[int, int], ...], edges: set[Edge]
    ) -> tuple[tuple[int, int], ...]:
        """What AWS's XLA compiler makes of LDWEIGHTS and MATMUL: the first waits for all operands, and weights that the PE holds
        are not loaded again. Source: the inf2 and trn2 programs named in `neff_bench.simulator.hlo.core`."""
        stationary = self.instructions[index].reads["stationary"]
        held, since = self.weights
        unchanged = all(before < since for before, _, operand in edges if operand == "stationary")
        if held == stationary and unchanged and len(kinds) == 2:
            return ((kinds[-1][0], ALL),)
        self.weights = stationary, index
        return tuple((kind, NOTHING if n else ALL) for n, (kind, _) in enumerate(kinds))

    def _kind(self, engine: int, step: Step) -> int:
        return self.kinds.setdefault((engine, step), len(self.kinds))

    def _load_table(self, index: int, function: str) -> None:
        table = activation_table(function, self.table)
        if table is not None:
            load = self.chip.activation_table_load_ns
            self._append(SCALAR, self._kind(SCALAR, Step(OPCODES["ACT_TABLE_LOAD"], ALL, load, load)), index, [])
            self.table = table

    def _append(
        self, engine: int, kind: int, origin: int, waits: list[int], transfer: int = -1, meeting: int = -1
    ) -> None:
        self.kind.append(kind)
        self.origin.append(origin)
        self.transfer.append(transfer)
        self.meeting.append(meeting)
        self.stream.append(engine if transfer < 0 else 8 + engine)
        if waits:
            self.waits += waits
        self.wait_start.append(len(self.waits))

    def _waits(self, edges: set[Edge], which: int, engine: int, dma: bool) -> list[int]:
        """The last instruction to wait for in each stream, in order.

        Streams complete in order, and so does an engine. An engine therefore waits neither for its own earlier reads and writes
        nor for what it has waited for before. PE accumulates in PSUM without waiting for itself."""
        latest: dict[int, int] = {}
        seen, last, streams = self.seen[engine], self.last, self.stream
        for before, kind, operand in edges:
            if which and (operand in WEIGHT_OPERANDS) != (which == WEIGHTS):
                continue
            machine = last[before]
            stream = streams[machine]
            if stream == engine and not dma and (kind != "raw" or engine == TENSOR):
                continue
            if machine > latest.get(stream, -1) and machine > seen.get(stream, -1):
                latest[stream] = machine
        seen.update(latest)
        return sorted(latest.values()) if len(latest) > 1 else list(latest.values())

    def _final_waits(self) -> None:
        """A kernel ends when its last DMA on each queue has landed: the issuing engine waits for it."""
        last = {self.stream[i]: i for i, transfer in enumerate(self.transfer) if transfer >= 0}
        for machine in sorted(set(last.values()) - set(self.waits)):
            engine = self.stream[machine] - 8
            wait = _COMPILED_END if self.program.from_hlo else _EVENT_SEMAPHORE[engine]
            self._append(engine, self._kind(engine, wait), self.origin[machine], [machine])
