"""What the operations of a program become on a chip: machine instructions that have no place in the program yet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from neff_bench.chips import Chip
from neff_bench.simulator.costs.steps import Lowered
from neff_bench.simulator.costs.transfers import Transfer, packet_ns
from neff_bench.simulator.errors import CompileError
from neff_bench.simulator.operations import OPERATIONS
from neff_bench.simulator.program import Instruction, Program

if TYPE_CHECKING:
    import numpy as np


class Operations(NamedTuple):
    """The different operations of a core. One element for each, in int64; times in ns.

    engine, loads, meets, busy_ns, result_ns: as in `Lowered`. moving_ns: what a DMA takes on all DMA engines of the core, or on its
    share of HBM; -1 for what is no DMA.
    """

    engine: np.ndarray
    loads: np.ndarray
    meets: np.ndarray
    busy_ns: np.ndarray
    result_ns: np.ndarray
    moving_ns: np.ndarray


def operation_columns(operations: Sequence[Lowered], chip: Chip, sharers: int) -> Operations:
    """`sharers`: cores that share HBM."""
    import numpy as np

    moving = [-1.0 if o.transfer is None else _moving_ns(o.transfer, chip, sharers) for o in operations]
    return Operations(
        np.array([o.engine for o in operations], np.int64),
        np.array([o.loads for o in operations], np.int64),
        np.array([o.meets for o in operations], np.int64),
        np.array([o.busy_ns for o in operations], np.float64),
        np.array([o.result_ns for o in operations], np.float64),
        np.array(moving, np.float64),
    )


def _moving_ns(transfer: Transfer, chip: Chip, sharers: int) -> float:
    """Time on all DMA engines of the core, or on its share of HBM."""
    engines = transfer.packets * packet_ns(transfer, chip) / chip.dma_engines
    return max(engines, (transfer.hbm_read + transfer.hbm_write) * sharers / chip.hbm_bandwidth)


def lower_different(
    instructions: Sequence[Instruction], first_of_kind: Sequence[int], lower_once: Callable[[Instruction], Lowered],
    program: Program, chip: Chip,
) -> list[Lowered]:  # fmt: skip
    """What each different operation of a core becomes. `lower_once`: see `lowering`; the cores of a program share it.

    A descriptor that is made at compile time belongs to the ports of its own partitions, so no other core's can stand for it.
    """
    found = []
    for first in first_of_kind:
        instruction = instructions[first]
        of_its_own = instruction.attributes.get("dge_mode") == "none"
        found.append(lower(instruction, program, chip) if of_its_own else lower_once(instruction))
    return found


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
