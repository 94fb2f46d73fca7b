"""Says what the operations of a program become on a chip: machine instructions that have no place in the program yet."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from neff_bench.chips import Chip
from neff_bench.simulator.compiler.program.columns import table_of
from neff_bench.simulator.costs.steps import Lowered, Step
from neff_bench.simulator.costs.transfers import Transfer, packet_ns
from neff_bench.simulator.errors import CompileError
from neff_bench.simulator.operations import OPERATIONS
from neff_bench.simulator.program import Access, Instruction, Program, first_partition

if TYPE_CHECKING:
    import numpy as np


class Operation(NamedTuple):
    """Holds what a kind of instruction becomes on a core; times in ns.

    engine, loads, meets, busy_ns, result_ns: as in `Lowered`. moves: any DMA. static: one whose descriptors were made at compile time. function: that Scalar looks up, or -1. first_step,
    end_step: its steps in `Operations.steps`. moving_ns: what a DMA takes on all DMA engines of the core, or on its share of HBM; -1
    for what is no DMA.
    """

    engine: int
    loads: bool
    moves: bool
    static: bool
    meets: bool
    function: int
    first_step: int
    end_step: int
    busy_ns: float
    result_ns: float
    moving_ns: float


@dataclass(frozen=True)
class Operations:
    """Holds what each kind of instruction becomes on a core. steps: of all kinds, the number of each step and what it waits for."""

    kinds: tuple[Operation, ...]
    steps: tuple[tuple[int, int], ...]

    @cached_property
    def columns(self) -> dict[str, np.ndarray]:
        """Return the fields of the kinds: times in float64, all else in int64."""
        import numpy as np

        fields = np.array(self.kinds, np.float64).reshape(-1, len(Operation._fields)).T.copy()
        return {
            name: column if name.endswith("_ns") else column.astype(np.int64)
            for name, column in zip(Operation._fields, fields, strict=True)
        }


class Numbered(NamedTuple):
    """Numbers of different things, in the order in which they came: steps with their engines, and functions of Scalar."""

    steps: dict[tuple[int, Step], int]
    functions: dict[str, int]


def operations_of(lowered: Sequence[Lowered], chip: Chip, sharers: int, numbered: Numbered) -> Operations:
    """Lower the instructions of a core to operations. `sharers`: cores that share HBM. Adds to `numbered`."""
    steps, functions = numbered
    kinds: list[Operation] = []
    pairs: list[tuple[int, int]] = []
    for engine, of_kind, transfer, loads, meets, function, busy_ns, result_ns, _ in lowered:
        looked_up = functions.setdefault(function, len(functions)) if function else -1
        moves, static = transfer is not None, transfer is not None and transfer.static
        moving_ns = -1.0 if transfer is None else _moving_ns(transfer, chip, sharers)
        first = len(pairs)
        pairs += [(steps.setdefault((engine, step), len(steps)), step.waits) for step in of_kind]
        kinds.append(
            Operation(engine, loads, moves, static, meets, looked_up, first, len(pairs), busy_ns, result_ns, moving_ns)
        )
    return Operations(tuple(kinds), tuple(pairs))


def _moving_ns(transfer: Transfer, chip: Chip, sharers: int) -> float:
    """Return the time on all DMA engines of the core, or on its share of HBM."""
    engines = transfer.packets * packet_ns(transfer, chip) / chip.dma_engines
    return max(engines, chip.hbm_ns(transfer.hbm_read, transfer.hbm_write, sharers))


def lowered_kinds(program: Program, chip: Chip) -> tuple[Lowered, ...]:
    """Return what each kind of instruction in the program's table becomes. The program keeps it: it is asked when it is assembled and when its
    profile is summed up."""
    kept = vars(program).get("lowered")
    if kept is None or kept[0] is not chip:
        kept = chip, tuple(lower(first, program, chip) for first in table_of(program).kinds)
        vars(program)["lowered"] = kept
    found: tuple[Lowered, ...] = kept[1]
    return found


def lowering(program: Program, chip: Chip) -> Callable[[Instruction], Lowered]:
    """Lower, once for all operations of the same kind and shapes."""
    buffers = program.buffers
    places = [(buffer.memory, buffer.kind in ("input", "output")) for buffer in buffers]

    def operand(name: str, access: Access) -> tuple[object, ...]:
        first = first_partition(access, buffers[access.buffer])
        return name, access.pattern, access.dtype, bool(access.dynamic), first, places[access.buffer]

    known: dict[tuple[object, ...], Lowered] = {}

    def lowered(instruction: Instruction) -> Lowered:
        attributes = instruction.attributes
        key = (
            instruction.op,
            instruction.engine,
            repr(attributes) if attributes else "",
            *itertools.starmap(operand, instruction.reads.items()),
            "to",
            *itertools.starmap(operand, instruction.writes.items()),
        )
        found = known.get(key)
        if found is None:
            found = known[key] = lower(instruction, program, chip)
        return found

    return lowered


def lower(instruction: Instruction, program: Program, chip: Chip) -> Lowered:
    """Return the machine instructions of one operation. Raises CompileError for one that is not declared."""
    declared = OPERATIONS.get(instruction.op)
    if declared is None:
        raise CompileError(f"operation {instruction.op!r} is not modelled", program.sources[instruction.source])
    return declared.lower(instruction, program, chip)
