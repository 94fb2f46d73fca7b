"""Operations, in the order of issue, as machine instructions with their waits.

A change of activation function becomes an ACT_TABLE_LOAD. An instruction waits for one other; each further wait becomes an
EVENT_SEMAPHORE of its own, as in real profiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from neff_bench.chips import Chip
from neff_bench.parsers.formats.opcodes import OPCODES
from neff_bench.simulator import native
from neff_bench.simulator.compiler.columns import READ, Columns, transposed
from neff_bench.simulator.compiler.dependencies import KINDS, Edges
from neff_bench.simulator.costs.activation_tables import activation_table
from neff_bench.simulator.costs.steps import ALL, NOTHING, SCALAR, TENSOR, WEIGHT_OPERANDS, WEIGHTS, Lowered, Step

if TYPE_CHECKING:
    import numpy as np

EVENT_SEMAPHORE_NS = (52.0, 40.0, 45.0, 54.0, 30.0)
"""EVENT_SEMAPHORE that need not wait, for each engine: NTFF of github allenkchau/trainium-kernel-fusion @d709ddf1."""

_EVENT_SEMAPHORE = tuple(Step(OPCODES["EVENT_SEMAPHORE"], ALL, ns, ns) for ns in EVENT_SEMAPHORE_NS)
_COMPILED_END = Step(OPCODES["NOP"], ALL, 16.0, 16.0)
"""The wait for the last store of an HLO graph: 16 ns in the inf2 profiles of github AnchovyPark/npu_profiling_code @2a956420."""

_ENGINES = len(EVENT_SEMAPHORE_NS)
_QUEUES = 8
"""What completes in order is a stream: an engine, or 8 + its DMA queue."""
_RAW = KINDS.index("raw")


class Placed(NamedTuple):
    """Machine instructions, in the order of issue. Arrays of int32 with one element for each, and the different steps.

    step: index into `steps`, which are pairs of an engine and a step. origin: the instruction of the program. transfer, meeting: how
    many came before, or -1 for none. wait: the machine instruction that it waits for, or -1.
    """

    step: np.ndarray
    origin: np.ndarray
    transfer: np.ndarray
    meeting: np.ndarray
    wait: np.ndarray
    steps: tuple[tuple[int, Step], ...]


class _Operations(NamedTuple):
    """The different operations: one element for each, in int64, but for `step` and `waits`: those of their steps, cut up by `step_start`.

    moves, meets: 1 for a DMA, and for what both cores enter together. function: that Scalar looks up in a table, or -1.
    """

    engine: np.ndarray
    moves: np.ndarray
    meets: np.ndarray
    function: np.ndarray
    step_start: np.ndarray
    step: np.ndarray
    waits: np.ndarray


class _Program(NamedTuple):
    """order: of issue. kind, stationary: by instruction; stationary is the view of a matmul's weights, or -1. Then the edges.
    of_weights, is_stationary: 1 for the names of operands that LDWEIGHTS reads, and for the weights of a matmul."""

    order: np.ndarray
    kind: np.ndarray
    stationary: np.ndarray
    wait_start: np.ndarray
    before: np.ndarray
    conflict: np.ndarray
    operand: np.ndarray
    of_weights: np.ndarray
    is_stationary: np.ndarray


class _Fixed(NamedTuple):
    """event, final: the step that waits for one thing more, and for the last DMA of a queue, by engine. table: by function and loaded
    table, the table that must be loaded, or -1. load_step: what loads it. tables: how many there are; 0 is none."""

    event: np.ndarray
    final: np.ndarray
    table: np.ndarray
    load_step: np.ndarray
    tables: np.ndarray


def place(
    operations: Sequence[Lowered], columns: Columns, edges: Edges, order: np.ndarray, chip: Chip, from_hlo: bool
) -> Placed:
    """`operations`: the different ones of the core. `from_hlo`: the program was lowered from an HLO graph."""
    steps: dict[tuple[int, Step], int] = {}
    functions: dict[str, int] = {}
    different = _different(operations, steps, functions)
    fixed = _fixed(chip, from_hlo, steps, list(functions))
    program = _program(columns, edges, order, from_hlo)
    run = _plain if native.library() is None else _compiled
    return Placed(*run(different, program, fixed, from_hlo), tuple(steps))


def _different(
    operations: Sequence[Lowered], steps: dict[tuple[int, Step], int], functions: dict[str, int]
) -> _Operations:
    """Numbers the steps and the functions of the operations."""
    import numpy as np

    rows, pairs, step_start = [], [], [0]
    for o in operations:
        function = functions.setdefault(o.function, len(functions)) if o.function else -1
        rows.append((o.engine, o.transfer is not None, o.meets, function))
        pairs += [(steps.setdefault((o.engine, step), len(steps)), step.waits) for step in o.steps]
        step_start.append(len(pairs))
    return _Operations._make([*transposed(rows, 4), np.array(step_start, np.int64), *transposed(pairs, 2)])


def _fixed(chip: Chip, from_hlo: bool, steps: dict[tuple[int, Step], int], functions: Sequence[str]) -> _Fixed:
    import numpy as np

    load_ns = chip.activation_table_load_ns
    load = (SCALAR, Step(OPCODES["ACT_TABLE_LOAD"], ALL, load_ns, load_ns))
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
    return _Fixed(
        np.array(event, np.int64), np.array(final, np.int64), np.array(rows, np.int64).reshape(-1),
        np.array([steps.setdefault(load, len(steps))], np.int64), np.array([len(tables)], np.int64),
    )  # fmt: skip


def _program(columns: Columns, edges: Edges, order: np.ndarray, from_hlo: bool) -> _Program:
    import numpy as np

    is_stationary = np.array([name == "stationary" for name in columns.names], np.int64)
    stationary = np.full(len(columns.kind), -1, np.int64)
    if from_hlo:
        instruction = np.repeat(np.arange(len(columns.kind)), np.diff(columns.use_start))
        weights = (is_stationary[columns.name] > 0) & (columns.role == READ)
        stationary[instruction[weights]] = columns.view[weights]
    of_weights = np.array([name in WEIGHT_OPERANDS for name in columns.names], np.int64)
    return _Program(order, columns.kind, stationary, *edges, of_weights, is_stationary)


_Columns = tuple["np.ndarray", "np.ndarray", "np.ndarray", "np.ndarray", "np.ndarray"]
"""The columns of `Placed`."""


def _compiled(operations: _Operations, program: _Program, fixed: _Fixed, from_hlo: bool) -> _Columns:
    """`_plain` in C."""
    import numpy as np

    steps = int(np.diff(operations.step_start)[program.kind].sum())
    # A step waits for no more than one instruction of each stream; Scalar may load a table; queues end with a wait.
    room = steps + min(steps * 2 * _ENGINES, 2 * len(program.before)) + len(program.kind) + _ENGINES
    code = tuple(np.empty(room, np.int32) for _ in range(5))
    count = native.call("place_all", len(program.kind), room, int(from_hlo), operations, program, fixed, code)
    step, origin, transfer, meeting, wait = (column[:count].copy() for column in code)
    return step, origin, transfer, meeting, wait


def _plain(operations: _Operations, program: _Program, fixed: _Fixed, from_hlo: bool) -> _Columns:
    import numpy as np

    rows = _Placer(operations, program, fixed, from_hlo).run()
    step, origin, transfer, meeting, wait = np.array(rows, np.int32).reshape(-1, 5).T.copy()
    return step, origin, transfer, meeting, wait


class _Placer:
    """Builds the rows of `Placed` one after the other, from columns as plain lists."""

    def __init__(self, operations: _Operations, program: _Program, fixed: _Fixed, from_hlo: bool) -> None:
        self.engine, self.moves, self.meets, self.function, self.step_start, self.step, self.waits = (
            column.tolist() for column in operations
        )
        self.order, self.kind, self.stationary, self.wait_start, before, conflict, operand, of_weights, stationary = (
            column.tolist() for column in program
        )
        self.edges = list(zip(before, conflict, operand, strict=True))
        self.of_weights = of_weights
        self.is_stationary = stationary
        self.event, self.final, self.tables, (self.load_step,), (self.table_count,) = (
            column.tolist() for column in fixed
        )
        self.from_hlo = from_hlo
        self.rows: list[tuple[int, int, int, int, int]] = []
        self.stream: list[int] = []
        """What completes in order, for each machine instruction."""
        self.last = [-1] * len(self.kind)
        """Machine index of the last machine instruction of each program instruction."""
        self.seen: list[dict[int, int]] = [{} for _ in range(_ENGINES)]
        """By engine: the last instruction of each stream that it has waited for."""
        self.table = self.transfers = self.meetings = 0
        self.weights = -1, -1
        """Of an HLO graph: the view that the last LDWEIGHTS loaded, and for which program instruction."""

    def run(self) -> list[tuple[int, int, int, int, int]]:
        for index in self.order:
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
        if self.from_hlo and engine == TENSOR:
            steps = self._compiled_matmul(index, steps, edges)
        for step, which in steps:
            waits = self._waits(edges, which, engine, moves) if edges and which != NOTHING else []
            for before in waits[:-1]:
                self._append(engine, self.event[engine], index, before)
            self._append(engine, step, index, waits[-1] if waits else -1, number, meeting)
        self.last[index] = len(self.rows) - 1

    def _compiled_matmul(
        self, index: int, steps: list[tuple[int, int]], edges: Sequence[tuple[int, int, int]]
    ) -> list[tuple[int, int]]:
        """What AWS's XLA compiler makes of LDWEIGHTS and MATMUL: the first waits for all operands, and weights that the PE holds
        are not loaded again. Source: the inf2 and trn2 programs named in `neff_bench.simulator.hlo.core`."""
        held, since = self.weights
        unchanged = all(before < since for before, _, operand in edges if self.is_stationary[operand])
        if held == self.stationary[index] and unchanged and len(steps) == 2:
            return [(steps[-1][0], ALL)]
        self.weights = self.stationary[index], index
        return [(step, NOTHING if n else ALL) for n, (step, _) in enumerate(steps)]

    def _load_table(self, index: int, function: int) -> None:
        table = self.tables[function * self.table_count + self.table]
        if table >= 0:
            self._append(SCALAR, self.load_step, index, -1)
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


def step_columns(placed: Placed) -> dict[str, np.ndarray]:
    """The columns of `Code` that a step and its engine decide: the engine, and the values of the step by their names."""
    import numpy as np

    engines, steps = zip(*placed.steps, strict=True)
    narrow = np.array([engines, [step.opcode for step in steps]], np.int32)[:, placed.step]
    whole = np.array([[getattr(step, name) for step in steps] for name in _INTEGERS], np.int64)[:, placed.step]
    times = np.array([[getattr(step, name) for step in steps] for name in _TIMES], np.float64)[:, placed.step]
    return {
        "engine": narrow[0],
        "opcode": narrow[1],
        "transpose": np.array([step.transpose for step in steps], np.bool_)[placed.step],
        **dict(zip(_INTEGERS, whole, strict=True)),
        **dict(zip(_TIMES, times, strict=True)),
    }
