"""Operations, in the order of issue, as machine instructions with their waits.

A change of activation function becomes an ACT_TABLE_LOAD. An instruction waits for one other; each further wait becomes an
EVENT_SEMAPHORE of its own, as in real profiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from neff_bench.chips import Chip
from neff_bench.parsers.formats.opcodes import OPCODES
from neff_bench.simulator.compiler.columns import READ, Columns, transposed
from neff_bench.simulator.compiler.dependencies import KINDS, Edges
from neff_bench.simulator.compiler.lowering import Numbered, Operations
from neff_bench.simulator.costs.activation_tables import activation_table
from neff_bench.simulator.costs.steps import ALL, NOTHING, SCALAR, TENSOR, WEIGHT_OPERANDS, WEIGHTS, Step

if TYPE_CHECKING:
    import numpy as np

EVENT_SEMAPHORE_NS = (52.0, 40.0, 45.0, 54.0, 30.0)
"""EVENT_SEMAPHORE that need not wait, for each engine: NTFF of github allenkchau/trainium-kernel-fusion @d709ddf1."""

_EVENT_SEMAPHORE = tuple(Step(OPCODES["EVENT_SEMAPHORE"], ALL, ns, ns) for ns in EVENT_SEMAPHORE_NS)
_COMPILED_END = Step(OPCODES["NOP"], ALL, 16.0, 16.0)
"""The wait for the last store of an HLO graph: 16 ns in the inf2 profiles of github AnchovyPark/npu_profiling_code @2a956420."""

_ENGINES = len(EVENT_SEMAPHORE_NS)
STREAMS = 2 * _ENGINES
_QUEUES = 8
"""What completes in order is a stream: an engine, or 8 + its DMA queue."""
_RAW = KINDS.index("raw")


class Fixed(NamedTuple):
    """from_hlo: 1 for a program that was lowered from an HLO graph. keeps_weights: 1 where weights that the PE holds are not loaded again.
    load: the step that loads a table of functions. tables: how many there are, with none as 0. event, final: the step that waits for one thing more, and for the last DMA of a queue, by engine. table: by
    function and loaded table, the table that must be loaded, or -1. of_weights, is_stationary: 1 for the names of operands that
    LDWEIGHTS reads, and for the weights of a matmul. Arrays of int64."""

    from_hlo: int
    keeps_weights: int
    load: int
    tables: int
    event: np.ndarray
    final: np.ndarray
    table: np.ndarray
    of_weights: np.ndarray
    is_stationary: np.ndarray


def fixed_columns(chip: Chip, from_hlo: bool, keeps_weights: bool, names: Sequence[str], numbered: Numbered) -> Fixed:
    """`names`: of the operands. Adds steps to `numbered`."""
    import numpy as np

    steps, functions = numbered
    load_ns = chip.activation_table_load_ns
    load = steps.setdefault((SCALAR, Step(OPCODES["ACT_TABLE_LOAD"], ALL, load_ns, load_ns)), len(steps))
    event = [steps.setdefault((engine, step), len(steps)) for engine, step in enumerate(_EVENT_SEMAPHORE)]
    final = [steps.setdefault((engine, _COMPILED_END), len(steps)) for engine in range(_ENGINES)] if from_hlo else event
    tables: list[str | None] = [None]
    rows: list[list[int]] = [[] for _ in functions]
    for loaded in tables:  # it grows by what is found
        for function, row in zip(functions, rows, strict=True):
            table = activation_table(function, loaded)
            if table is not None and table not in tables:
                tables.append(table)
            row.append(-1 if table is None else tables.index(table))
    of_weights, is_stationary = transposed([(name in WEIGHT_OPERANDS, name == "stationary") for name in names], 2)
    waits = (np.array(event, np.int64), np.array(final, np.int64), np.array(rows, np.int64).reshape(-1))
    return Fixed(int(from_hlo), int(keeps_weights), load, len(tables), *waits, of_weights, is_stationary)


class Placed(NamedTuple):
    """The machine instructions of a core, in the order of issue. Arrays of int32; one element for each, but for `waits`.

    step: its number. origin: the instruction of the program. transfer, meeting: how many came before, or -1 for none. waits: the
    machine instructions that they wait for, cut up by `wait_start` (in int64).
    """

    step: np.ndarray
    origin: np.ndarray
    transfer: np.ndarray
    meeting: np.ndarray
    waits: np.ndarray
    wait_start: np.ndarray


def place(columns: Columns, edges: Edges, order: np.ndarray, operations: Operations, fixed: Fixed) -> Placed:
    """The machine instructions of a core. simulator/native/place.c is the same in C."""
    import numpy as np

    stationary = np.full(len(columns.kind), -1, np.int64)
    if fixed.keeps_weights:
        instruction = np.repeat(np.arange(len(columns.kind)), np.diff(columns.use_start))
        weights = (fixed.is_stationary[columns.name] > 0) & (columns.role == READ)
        stationary[instruction[weights]] = columns.view[weights]
    rows = _Placer(operations, fixed, edges, columns.kind, stationary).run(order.tolist())
    step, origin, transfer, meeting, wait = np.array(rows, np.int32).reshape(-1, 5).T.copy()
    waiting = wait >= 0
    return Placed(step, origin, transfer, meeting, wait[waiting], np.cumsum([0, *waiting]))


class _Placer:
    """Builds the machine instructions one after the other, from columns as plain lists."""

    def __init__(
        self, operations: Operations, fixed: Fixed, edges: Edges, kind: np.ndarray, stationary: np.ndarray
    ) -> None:
        o = operations
        columns = (o.engine, o.moves, o.meets, o.function, o.step_start, o.step, o.waits)
        self.engine, self.moves, self.meets, self.function, self.step_start, self.step, self.waits = (
            column.tolist() for column in columns
        )
        self.fixed = fixed
        self.kind, self.stationary = kind.tolist(), stationary.tolist()
        self.wait_start = edges.start.tolist()
        self.edges = list(zip(*(column.tolist() for column in edges[1:]), strict=True))
        self.of_weights, self.is_stationary = fixed.of_weights.tolist(), fixed.is_stationary.tolist()
        self.event, self.final, self.tables = fixed.event.tolist(), fixed.final.tolist(), fixed.table.tolist()
        self.rows: list[tuple[int, int, int, int, int]] = []
        self.stream: list[int] = []
        """What completes in order, for each machine instruction."""
        self.last = [-1] * len(self.kind)
        """Machine index of the last machine instruction of each program instruction."""
        self.seen: list[dict[int, int]] = [{} for _ in range(_ENGINES)]
        """By engine: the last instruction of each stream that it has waited for."""
        self.table = self.transfers = self.meetings = 0
        self.weights = -1, -1
        """Where weights are kept: the view that the last LDWEIGHTS loaded, and for which program instruction."""

    def run(self, order: Sequence[int]) -> list[tuple[int, int, int, int, int]]:
        for index in order:
            self._place(index)
        self._final_waits()
        return self.rows

    def _place(self, index: int) -> None:
        kind = self.kind[index]
        engine, moves = self.engine[kind], self.moves[kind]
        edges = self.edges[self.wait_start[index] : self.wait_start[index + 1]]
        first, end = self.step_start[kind], self.step_start[kind + 1]
        steps = list(zip(self.step[first:end], self.waits[first:end], strict=True))
        number = meeting = -1
        if moves:
            number, self.transfers = self.transfers, self.transfers + 1
        if self.meets[kind]:
            meeting, self.meetings = self.meetings, self.meetings + 1
        if self.function[kind] >= 0:
            self._load_table(index, self.function[kind])
        if self.fixed.keeps_weights and engine == TENSOR:
            steps = self._kept_weights(index, steps, edges)
        for step, which in steps:
            waits = self._waits(edges, which, engine, moves) if edges and which != NOTHING else []
            for before in waits[:-1]:
                self._append(engine, self.event[engine], index, before)
            self._append(engine, step, index, waits[-1] if waits else -1, number, meeting)
        self.last[index] = len(self.rows) - 1

    def _kept_weights(
        self, index: int, steps: list[tuple[int, int]], edges: Sequence[tuple[int, int, int]]
    ) -> list[tuple[int, int]]:
        """What AWS's compilers make of LDWEIGHTS and MATMUL: weights that the PE holds are not loaded again, and of an HLO graph the
        first waits for all operands. Source: the inf2 and trn2 programs named in `neff_bench.simulator.hlo.core`; eight products of
        bfloat16 of the old dialect in github allenkchau/trainium-kernel-fusion @d709ddf1, baseline_bf16_s1024."""
        held, since = self.weights
        unchanged = all(before < since for before, _, operand in edges if self.is_stationary[operand])
        if held == self.stationary[index] >= 0 and unchanged and len(steps) == 2:
            return [(steps[-1][0], ALL)]
        self.weights = self.stationary[index], index
        if not self.fixed.from_hlo:
            return steps
        return [(step, NOTHING if n else ALL) for n, (step, _) in enumerate(steps)]

    def _load_table(self, index: int, function: int) -> None:
        table = self.tables[function * self.fixed.tables + self.table]
        if table >= 0:
            self._append(SCALAR, self.fixed.load, index, -1)
            self.table = table

    def _append(self, engine: int, step: int, origin: int, wait: int, transfer: int = -1, meeting: int = -1) -> None:
        self.rows.append((step, origin, transfer, meeting, wait))
        self.stream.append(engine if transfer < 0 else _QUEUES + engine)

    def _waits(self, edges: Sequence[tuple[int, int, int]], which: int, engine: int, moves: int) -> list[int]:
        """The last instruction to wait for in each stream, in order.

        Streams complete in order, and so does an engine. An engine therefore waits neither for its own earlier reads and writes
        nor for what it has waited for before. PE accumulates in PSUM without waiting for itself."""
        latest: dict[int, int] = {}
        seen, last, streams = self.seen[engine], self.last, self.stream
        for before, kind, operand in edges:
            if which and self.of_weights[operand] != (which == WEIGHTS):
                continue
            machine = last[before]
            stream = streams[machine]
            if stream == engine and not moves and (kind != _RAW or engine == TENSOR):
                continue
            if machine > latest.get(stream, -1) and machine > seen.get(stream, -1):
                latest[stream] = machine
        seen.update(latest)
        return sorted(latest.values())

    def _final_waits(self) -> None:
        """A kernel ends when its last DMA on each queue has landed: the issuing engine waits for it."""
        last = {self.stream[i]: i for i, (_, _, transfer, _, _) in enumerate(self.rows) if transfer >= 0}
        for machine in sorted(set(last.values()) - {row[4] for row in self.rows}):
            engine = self.stream[machine] - _QUEUES
            self._append(engine, self.final[engine], self.rows[machine][1], machine)


_INTEGERS = ("flops", "sbuf_read", "sbuf_write", "psum_read", "psum_write", "psum_read_sbuf_write")
_TIMES = ("interval_ns", "latency_ns", "pe_ns")


class Steps(NamedTuple):
    """Different steps with their engines, which decide these columns of `Code`. One element, or column, for each."""

    narrow: np.ndarray
    whole: np.ndarray
    times: np.ndarray
    transpose: np.ndarray

    def of(self, number: np.ndarray) -> dict[str, np.ndarray]:
        """The columns by their names. `number`: the step of each machine instruction."""
        return {
            **dict(zip(("engine", "opcode"), self.narrow.take(number, axis=1), strict=True)),
            "transpose": self.transpose[number],
            **dict(zip(_INTEGERS, self.whole.take(number, axis=1), strict=True)),
            **dict(zip(_TIMES, self.times.take(number, axis=1), strict=True)),
        }


def step_table(numbered: Numbered) -> Steps:
    """The steps in the order of their numbers."""
    import numpy as np

    engines, steps = zip(*numbered.steps, strict=True)
    columns = dict(zip(Step._fields, zip(*steps, strict=True), strict=True))
    return Steps(
        np.array([engines, columns["opcode"]], np.int32),
        np.array([columns[name] for name in _INTEGERS], np.int64),
        np.array([columns[name] for name in _TIMES], np.float64),
        np.array(columns["transpose"], np.bool_),
    )
