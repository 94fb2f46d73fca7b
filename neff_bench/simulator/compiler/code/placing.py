"""Places operations, in the order of issue, as machine instructions with their waits.

A change of activation function becomes an ACT_TABLE_LOAD. An instruction waits for one other; each further wait becomes an
EVENT_SEMAPHORE of its own, as in real profiles.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from neff_bench.chips import Chip
from neff_bench.parsers.formats.opcodes import OPCODES
from neff_bench.simulator import native
from neff_bench.simulator.compiler.code.lowering import Numbered, Operations
from neff_bench.simulator.compiler.program.columns import READ, Columns
from neff_bench.simulator.compiler.program.dependencies import Edges
from neff_bench.simulator.costs.activation_tables import activation_table
from neff_bench.simulator.costs.steps import ALL, SCALAR, WEIGHT_OPERANDS, Step
from neff_bench.simulator.native.place import STREAMS, Placing, place_all

if TYPE_CHECKING:
    import numpy as np

EVENT_SEMAPHORE_NS = (52.0, 40.0, 45.0, 54.0, 30.0)
"""EVENT_SEMAPHORE that need not wait, for each engine (docs/model.md, Evidence)."""

_EVENT_SEMAPHORE = tuple(Step(OPCODES["EVENT_SEMAPHORE"], ALL, ns, ns) for ns in EVENT_SEMAPHORE_NS)
_COMPILED_END = Step(OPCODES["NOP"], ALL, 16.0, 16.0)
"""The wait for the last store of an HLO graph (docs/model.md, Evidence)."""

_STATIC_END = Step(OPCODES["NOP"], ALL, 70.0, 19.0)
"""The wait for a store whose descriptors were made at compile time: GpSimd has one for each that nothing else waits for, 70 ns apart and 19 ns
long (42 traces on trn2, validation/correlation/coursework.py: 64 stores have 64, 222 stores of which most were waited for have 5 to 55)."""

_ENGINES = len(EVENT_SEMAPHORE_NS)


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


def fixed_steps(chip: Chip, from_hlo: bool, keeps_weights: bool, names: Sequence[str], numbered: Numbered) -> Fixed:
    """Return the steps of an instruction whose number is fixed. `names`: of the operands. Adds steps to `numbered`."""
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
    """Return the machine instructions of a core, in the order of issue: the number of the step, the instruction of the program, how many
    transfers and meetings came before or -1 where it is none, and the machine instruction that it waits for or -1; in (n, 5) of
    int32."""
    import numpy as np

    def numbers(values: Sequence[int]) -> np.ndarray:
        return np.array(values, np.int64)

    kind, count = columns.kind, len(columns.kind)
    stationary = np.full(count, -1)
    if fixed.keeps_weights:
        instruction = np.repeat(np.arange(count), np.diff(columns.use_start))
        weights = numbers(fixed.is_stationary)[columns.name] * (columns.role == READ) > 0
        stationary[instruction[weights]] = columns.view[weights]
    of_kind = operations.columns
    step, waits_for = np.array(operations.steps, np.int64).reshape(-1, 2).T.copy()
    engine, moves, static, meets, function, first_step, end_step = (
        of_kind[name] for name in ("engine", "moves", "static", "meets", "function", "first_step", "end_step")
    )
    # The first function in the order of issue that a table may lack which is loaded already.
    table = numbers(fixed.table)
    lacked = np.append((table.reshape(-1, fixed.tables)[:, 1:] >= 0).any(axis=1), False)
    looked_up = function[kind[order]]
    first_function = looked_up[lacked[looked_up]][:1]
    # Each step waits once for each stream at most; Scalar may load a table; a DMA may be waited for at the end.
    waiting = np.minimum(np.maximum(edges.start[1:] - edges.start[:-1], 1), STREAMS)
    room = int(((end_step - first_step)[kind] * waiting).sum()) + 2 * count
    placed = np.empty((room, 5), np.int32)
    given = [numbers(steps) for steps in (fixed.event, fixed.final, fixed.each)]
    single = [numbers([value]) for value in (0, 0, 0, 0, -1, -1)]
    made = native.run(
        place_all,
        Placing(
            count, fixed.from_hlo, fixed.keeps_weights, fixed.load, fixed.tables,
            first_function[0] if len(first_function) else -1, order, engine, moves, static, meets, function, first_step,
            end_step, step, waits_for, kind, stationary, *edges, *given, table, numbers(fixed.of_weights),
            numbers(fixed.is_stationary), placed.reshape(-1), np.empty(room, np.int64), np.empty(count, np.int64),
            np.full(_ENGINES * STREAMS, -1), np.empty(STREAMS, np.int64), np.empty(STREAMS, np.int64), *single,
        ),
    )  # fmt: skip
    return placed[:made]
