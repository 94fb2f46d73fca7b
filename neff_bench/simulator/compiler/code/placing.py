"""Operations, in the order of issue, as machine instructions with their waits.

A change of activation function becomes an ACT_TABLE_LOAD. An instruction waits for one other; each further wait becomes an
EVENT_SEMAPHORE of its own, as in real profiles.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from neff_bench.chips import Chip
from neff_bench.parsers.formats.opcodes import OPCODES
from neff_bench.simulator.compiler.code.lowering import Numbered, Operations
from neff_bench.simulator.compiler.program.columns import READ, Columns
from neff_bench.simulator.compiler.program.dependencies import KINDS, Edges
from neff_bench.simulator.costs.activation_tables import activation_table
from neff_bench.simulator.costs.steps import ALL, NOTHING, READS, REST, SCALAR, TENSOR, WEIGHT_OPERANDS, WEIGHTS, Step

if TYPE_CHECKING:
    import numpy as np

EVENT_SEMAPHORE_NS = (52.0, 40.0, 45.0, 54.0, 30.0)
"""EVENT_SEMAPHORE that need not wait, for each engine: NTFF of github allenkchau/trainium-kernel-fusion @d709ddf1."""

_EVENT_SEMAPHORE = tuple(Step(OPCODES["EVENT_SEMAPHORE"], ALL, ns, ns) for ns in EVENT_SEMAPHORE_NS)
_COMPILED_END = Step(OPCODES["NOP"], ALL, 16.0, 16.0)
"""The wait for the last store of an HLO graph: 16 ns in the inf2 profiles of github AnchovyPark/npu_profiling_code @2a956420."""

_STATIC_END = Step(OPCODES["NOP"], ALL, 70.0, 19.0)
"""The wait for a store whose descriptors were made at compile time: GpSimd has one for each that nothing else waits for, 70 ns apart and 19 ns
long (42 traces on trn2, validation/correlation/coursework.py: 64 stores have 64, 222 stores of which most were waited for have 5 to 55)."""

_ENGINES = len(EVENT_SEMAPHORE_NS)
STREAMS = 2 * _ENGINES
_QUEUES = 8
"""What completes in order is a stream: an engine, or 8 + its DMA queue."""
_RAW, _WAW = KINDS.index("raw"), KINDS.index("waw")


class Fixed(NamedTuple):
    """from_hlo: a program that was lowered from an HLO graph. keeps_weights: weights that the PE holds are not loaded again.
    load: the step that loads a table of functions. tables: how many there are, with none as 0. event, final, each: the step that waits for
    one thing more, for the last DMA of a queue, and for one static DMA, by engine. table: by function and loaded table, the table that must be loaded, or
    -1. of_weights, is_stationary: the names of operands that LDWEIGHTS reads, and those of the weights of a matmul."""

    from_hlo: bool
    keeps_weights: bool
    load: int
    tables: int
    event: list[int]
    final: list[int]
    each: list[int]
    table: list[int]
    of_weights: list[bool]
    is_stationary: list[bool]

    def numbers(self) -> list[int]:
        """All of them, for the compiled pass: simulator/native/assemble.c."""
        return [*self[:4], *self.event, *self.final, *self.each, *self.of_weights, *self.is_stationary, *self.table]


def fixed_steps(chip: Chip, from_hlo: bool, keeps_weights: bool, names: Sequence[str], numbered: Numbered) -> Fixed:
    """`names`: of the operands. Adds steps to `numbered`."""
    steps, functions = numbered
    load_ns = chip.activation_table_load_ns
    load = steps.setdefault((SCALAR, Step(OPCODES["ACT_TABLE_LOAD"], ALL, load_ns, load_ns)), len(steps))
    event = [steps.setdefault((engine, step), len(steps)) for engine, step in enumerate(_EVENT_SEMAPHORE)]
    final = [steps.setdefault((engine, _COMPILED_END), len(steps)) for engine in range(_ENGINES)] if from_hlo else event
    each = [steps.setdefault((engine, _STATIC_END), len(steps)) for engine in range(_ENGINES)]
    tables: list[str | None] = [None]
    rows: list[list[int]] = [[] for _ in functions]
    for loaded in tables:  # it grows by what is found
        for function, row in zip(functions, rows, strict=True):
            table = activation_table(function, loaded)
            if table is not None and table not in tables:
                tables.append(table)
            row.append(-1 if table is None else tables.index(table))
    of_weights, is_stationary = [name in WEIGHT_OPERANDS for name in names], [name == "stationary" for name in names]
    every = list(itertools.chain.from_iterable(rows))
    return Fixed(from_hlo, keeps_weights, load, len(tables), event, final, each, every, of_weights, is_stationary)


def place(columns: Columns, edges: Edges, order: np.ndarray, operations: Operations, fixed: Fixed) -> np.ndarray:
    """The machine instructions of a core, in the order of issue: the number of the step, the instruction of the program, how many
    transfers and meetings came before or -1 where it is none, and the machine instruction that it waits for or -1; in (n, 5) of
    int32. simulator/native/place.c is the same in C."""
    import numpy as np

    stationary = np.full(len(columns.kind), -1, np.int64)
    if fixed.keeps_weights:
        instruction = np.repeat(np.arange(len(columns.kind)), np.diff(columns.use_start))
        weights = np.array(fixed.is_stationary, bool)[columns.name] & (columns.role == READ)
        stationary[instruction[weights]] = columns.view[weights]
    rows = _Placer(operations, fixed, edges, columns.kind, stationary).run(order.tolist())
    return np.array(rows, np.int32).reshape(-1, 5)


class _Placer:
    """Builds the machine instructions one after the other, from columns as plain lists."""

    def __init__(
        self, operations: Operations, fixed: Fixed, edges: Edges, kind: np.ndarray, stationary: np.ndarray
    ) -> None:
        self.operations = operations
        self.fixed = fixed
        self.kind, self.stationary = kind.tolist(), stationary.tolist()
        self.wait_start = edges.start.tolist()
        self.edges = list(zip(*(column.tolist() for column in edges[1:]), strict=True))
        self.rows: list[tuple[int, int, int, int, int]] = []
        self.stream: list[int] = []
        """What completes in order, for each machine instruction."""
        self.last = [-1] * len(self.kind)
        """Machine index of the last machine instruction of each program instruction."""
        self.seen: list[dict[int, int]] = [{} for _ in range(_ENGINES)]
        """By engine: the last instruction of each stream that it has waited for."""
        self.table = self.transfers = self.meetings = 0
        self.first_function = -1
        """The first one in the order of issue that not every table has."""
        self.weights = -1, -1
        """Where weights are kept: the view that the last LDWEIGHTS loaded, and for which program instruction."""

    def run(self, order: Sequence[int]) -> list[tuple[int, int, int, int, int]]:
        functions = (self.operations.kinds[self.kind[index]].function for index in order)
        self.first_function = next((function for function in functions if self._needs_its_table(function)), -1)
        for index in order:
            self._place(index)
        self._final_waits()
        return self.rows

    def _place(self, index: int) -> None:
        operation = self.operations.kinds[self.kind[index]]
        engine, moves = operation.engine, operation.moves
        edges = self.edges[self.wait_start[index] : self.wait_start[index + 1]]
        steps: Sequence[tuple[int, int]] = self.operations.steps[operation.first_step : operation.end_step]
        number = meeting = -1
        if moves:
            number, self.transfers = self.transfers, self.transfers + 1
        if operation.meets:
            meeting, self.meetings = self.meetings, self.meetings + 1
        if operation.function >= 0:
            self._load_table(index, operation.function)
        if self.fixed.keeps_weights and engine == TENSOR:
            steps = self._kept_weights(index, steps, edges)
        for place, (step, which) in enumerate(steps, 1):
            waits = self._waits(edges, which, engine, moves) if edges and which != NOTHING else []
            for before in waits[:-1]:
                self._append(engine, self.fixed.event[engine], index, before)
            of_last = (number, meeting) if place == len(steps) else (-1, -1)
            self._append(engine, step, index, waits[-1] if waits else -1, *of_last)
        self.last[index] = len(self.rows) - 1

    def _kept_weights(
        self, index: int, steps: Sequence[tuple[int, int]], edges: Sequence[tuple[int, int, int]]
    ) -> Sequence[tuple[int, int]]:
        """What AWS's compilers make of LDWEIGHTS and MATMUL: weights that the PE holds are not loaded again, and of an HLO graph the
        first waits for all operands. Source: the inf2 and trn2 programs named in `neff_bench.simulator.hlo.core`; eight products of
        bfloat16 of the old dialect in github allenkchau/trainium-kernel-fusion @d709ddf1, baseline_bf16_s1024."""
        held, since = self.weights
        unchanged = all(before < since for before, _, operand in edges if self.fixed.is_stationary[operand])
        if held == self.stationary[index] >= 0 and unchanged and len(steps) == 2:
            return [(steps[-1][0], ALL)]
        self.weights = self.stationary[index], index
        if not self.fixed.from_hlo:
            return steps
        return [(step, NOTHING if n else ALL) for n, (step, _) in enumerate(steps)]

    def _needs_its_table(self, function: int) -> bool:
        """Whether a table that is loaded already may lack the function."""
        first = function * self.fixed.tables
        return function >= 0 and any(table >= 0 for table in self.fixed.table[first + 1 : first + self.fixed.tables])

    def _load_table(self, index: int, function: int) -> None:
        """What needs any table begins with the one that is needed first (trn2 traces of github KevGomes1403/nki-moe-megakernel @f1fe87a)."""
        if not self.table and self.first_function >= 0:
            function = self.first_function
        table = self.fixed.table[function * self.fixed.tables + self.table]
        if table >= 0:
            self._append(SCALAR, self.fixed.load, index, -1)
            self.table = table

    def _append(self, engine: int, step: int, origin: int, wait: int, transfer: int = -1, meeting: int = -1) -> None:
        self.rows.append((step, origin, transfer, meeting, wait))
        self.stream.append(engine if transfer < 0 else _QUEUES + engine)

    def _waits(self, edges: Sequence[tuple[int, int, int]], which: int, engine: int, moves: bool) -> list[int]:
        """The last instruction to wait for in each stream, in order.

        Streams complete in order, and so does an engine. An engine therefore waits neither for its own earlier reads and writes
        nor for what it has waited for before. PE accumulates in PSUM without waiting for itself. Nor does a DMA wait for what its own
        queue wrote: in a trace (github chenhzhu/asst4-trainium2 @fecd8c8, final_float16_smaller.ntff) loads of strided rows of one
        tile follow each other at 82 ns, though the rectangles around such rows overlap (rectangles.py)."""
        latest: dict[int, int] = {}
        seen, last, streams = self.seen[engine], self.last, self.stream
        for before, kind, operand in edges:
            if which == READS and kind != _RAW:
                continue
            if which in (WEIGHTS, REST) and self.fixed.of_weights[operand] != (which == WEIGHTS):
                continue
            machine = last[before]
            stream = streams[machine]
            if stream == engine and not moves and (kind != _RAW or engine == TENSOR):
                continue
            if stream == _QUEUES + engine and moves and kind == _WAW:
                continue
            if machine > latest.get(stream, -1) and machine > seen.get(stream, -1):
                latest[stream] = machine
        seen.update(latest)
        return sorted(latest.values())

    def _final_waits(self) -> None:
        """A kernel ends when its last DMA on each queue has landed: the issuing engine waits for it, and for each static DMA of its own
        that has not been waited for."""
        moving = [i for i, row in enumerate(self.rows) if row[2] >= 0]
        last = {self.stream[i]: i for i in moving}
        waited = {self.stream[wait]: wait for wait in sorted({row[4] for row in self.rows} - {-1})}
        for machine in moving:
            stream, origin = self.stream[machine], self.rows[machine][1]
            static = self.operations.kinds[self.kind[origin]].static
            if machine > waited.get(stream, -1) and (static or machine == last[stream]):
                engine = stream - _QUEUES
                step = self.fixed.each[engine] if static else self.fixed.final[engine]
                self._append(engine, step, origin, machine)
