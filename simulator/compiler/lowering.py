"""What the operations of a program become on a chip: machine instructions that have no place in the program yet."""

from __future__ import annotations

from collections.abc import Callable

from neff_bench.chips import Chip
from neff_bench.simulator.costs.steps import Lowered
from neff_bench.simulator.errors import CompileError
from neff_bench.simulator.operations import OPERATIONS
from neff_bench.simulator.program import Instruction, Program


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
