"""What the operations of a program become on a chip: machine instructions that have no place in the program yet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from neff_bench.chips import Chip
from neff_bench.simulator.compiler.columns import Table, transposed
from neff_bench.simulator.costs.steps import Lowered, Step
from neff_bench.simulator.costs.transfers import Transfer, packet_ns
from neff_bench.simulator.errors import CompileError
from neff_bench.simulator.operations import OPERATIONS
from neff_bench.simulator.program import Instruction, Program

if TYPE_CHECKING:
    import numpy as np


class Operations(NamedTuple):
    """What each kind of instruction becomes on a core. One element for each, in int64 and float64; times in ns.

    engine, loads, meets, busy_ns, result_ns: as in `Lowered`. moves: 1 for any DMA. settles: 1 for what writes what it reads. function:
    that Scalar looks up, or -1. moving_ns: what a DMA takes on all DMA engines of the core, or on its share of HBM; -1 for what is no
    DMA. step, waits: of their steps, cut up by `step_start`: its number, and what it waits for.
    """

    engine: np.ndarray
    loads: np.ndarray
    moves: np.ndarray
    meets: np.ndarray
    settles: np.ndarray
    function: np.ndarray
    busy_ns: np.ndarray
    result_ns: np.ndarray
    moving_ns: np.ndarray
    step_start: np.ndarray
    step: np.ndarray
    waits: np.ndarray


class Numbered(NamedTuple):
    """Numbers of different things, in the order in which they came: steps with their engines, and functions of Scalar."""

    steps: dict[tuple[int, Step], int]
    functions: dict[str, int]


def operation_columns(
    operations: Sequence[Lowered], settles: Sequence[bool], chip: Chip, sharers: int
) -> tuple[Operations, Numbered]:
    """`settles`: see `Operations`. `sharers`: cores that share HBM."""
    import numpy as np

    numbered = Numbered({}, {})
    steps, functions = numbered
    whole, times, pairs, step_start = [], [], [], [0]
    for o, settled in zip(operations, settles, strict=True):
        engine, _, transfer, loads, meets, function, busy_ns, result_ns, _ = o
        looked_up = functions.setdefault(function, len(functions)) if function else -1
        whole.append((engine, loads, transfer is not None, meets, settled, looked_up))
        times.append((busy_ns, result_ns, -1.0 if transfer is None else _moving_ns(transfer, chip, sharers)))
        pairs += [(steps.setdefault((engine, step), len(steps)), step.waits) for step in o.steps]
        step_start.append(len(pairs))
    ns = np.array(times, np.float64).reshape(-1, 3).T.copy()
    columns = [*transposed(whole, 6), *ns, np.array(step_start, np.int64), *transposed(pairs, 2)]
    return Operations._make(columns), numbered


def _moving_ns(transfer: Transfer, chip: Chip, sharers: int) -> float:
    """Time on all DMA engines of the core, or on its share of HBM."""
    engines = transfer.packets * packet_ns(transfer, chip) / chip.dma_engines
    return max(engines, (transfer.hbm_read + transfer.hbm_write) * sharers / chip.hbm_bandwidth)


def lower_kinds(program: Program, table: Table, chip: Chip) -> list[list[Lowered]]:
    """For each core, what each kind of instruction becomes there.

    A descriptor that is made at compile time belongs to the ports of its own partitions, so those of another core cannot stand for it.
    """
    lowered = [lower(first, program, chip) for first in table.kinds]
    own = [kind for kind, first in enumerate(table.kinds) if first.attributes.get("dge_mode") == "none"]
    by_core = []
    for instructions, columns in zip(program.cores, table.cores, strict=True):
        here = lowered.copy()
        for kind in own:
            places = (columns.kind == kind).nonzero()[0]
            if len(places):
                here[kind] = lower(instructions[places[0]], program, chip)
        by_core.append(here)
    return by_core


def lowering(program: Program, chip: Chip) -> Callable[[Instruction], Lowered]:
    """`lower`, once for all operations of the same kind and shapes."""
    buffers = program.buffers
    places = [(buffer.memory, buffer.kind in ("input", "output")) for buffer in buffers]
    known: dict[tuple[object, ...], Lowered] = {}

    def lowered(instruction: Instruction) -> Lowered:
        attributes = instruction.attributes
        key = (
            instruction.op,
            instruction.engine,
            repr(attributes) if attributes else "",
            *[
                (name, access.pattern, access.dtype, places[access.buffer])
                for name, access in instruction.reads.items()
            ],
            "to",
            *[
                (name, access.pattern, access.dtype, places[access.buffer])
                for name, access in instruction.writes.items()
            ],
        )
        found = known.get(key)
        if found is None:
            found = known[key] = lower(instruction, program, chip)
        return found

    return lowered


def lower(instruction: Instruction, program: Program, chip: Chip) -> Lowered:
    """The machine instructions of one operation. Raises CompileError for one that is not declared."""
    declared = OPERATIONS.get(instruction.op)
    if declared is None:
        raise CompileError(f"operation {instruction.op!r} is not modelled", program.sources[instruction.source])
    return declared.lower(instruction, program, chip)
