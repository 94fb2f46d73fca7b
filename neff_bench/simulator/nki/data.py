"""Says what a kernel's data decide while it is recorded: the value of a register, by running what was recorded so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from neff_bench.simulator.operations.registers import compare_branch
from neff_bench.simulator.program import Access, Buffer, Instruction, Program
from neff_bench.simulator.recording.recorder import Recorder, not_modelled
from neff_bench.simulator.recording.register import VirtualRegister
from neff_bench.simulator.recording.tensor import access

if TYPE_CHECKING:
    import numpy as np


def register_value(
    now: Recorder, buffers: Sequence[Buffer], arrays: Mapping[str, np.ndarray], register: VirtualRegister
) -> int:
    """Return what `register` holds after the instructions of this core, for the inputs `arrays`, by name.

    `buffers`: those of the recording so far. A branch on that value is recorded too: the program serves these data only.
    Raises NotModelledError when the other core has a part in it.
    """
    from neff_bench.simulator.execution.execute import execute

    cell = access(register.cell)
    steps = _behind(now.instructions, cell.buffer)
    if any("sync" in step.attributes for step in steps):
        raise not_modelled("a register whose value depends on the other core")
    peek = len(buffers)
    store = Instruction("register_store", "sync", {"dst": Access(peek, 0, ((1, 1),), "int32")}, {"src": cell}, {})
    inputs = tuple(at for at, buffer in enumerate(buffers) if buffer.kind == "input")
    program = Program(
        name="register",
        target=now.target,
        lnc=1,
        buffers=(*buffers, Buffer("register value", "hbm", (1,), "int32", "output")),
        inputs=inputs,
        outputs=(peek,),
        cores=((*steps, store),),
        sources=tuple(now.lines.texts),
    )
    value = int(execute(program, arrays)["register value"][0])
    compare_branch(register, value)
    return value


def _behind(instructions: Sequence[Instruction], buffer: int) -> list[Instruction]:
    """Return the instructions that have a part in what `buffer` holds, in order. All of them where an engine's accumulator,
    which no operand names, may have one."""
    needed = {buffer}
    found = []
    for step in reversed(instructions):
        if any(to.buffer in needed for to in step.writes.values()):
            if "reduce_cmd" in step.attributes:
                return list(instructions)
            found.append(step)
            for operand in (*step.reads.values(), *step.writes.values()):
                needed.add(operand.buffer)
                needed.update(part.index.buffer for part in operand.dynamic)
    return found[::-1]
