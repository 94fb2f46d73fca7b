"""`--disable-dge`: the compiler makes the descriptors, and no engine generates any on the device."""

from __future__ import annotations

import msgspec

from neff_bench.simulator.program import Instruction, Program

_OF_ONE_DMA = frozenset({"dma_copy", "dma_transpose"})


def made_at_compile_time(program: Program) -> Program:
    """The program as `--disable-dge` compiles it. A DMA whose address is known at run time only keeps its own descriptors."""
    return msgspec.structs.replace(
        program, cores=tuple(tuple(_static(step) for step in core) for core in program.cores)
    )


def _static(step: Instruction) -> Instruction:
    accesses = (*step.reads.values(), *step.writes.values())
    if step.op not in _OF_ONE_DMA or any(access.dynamic for access in accesses):
        return step
    return msgspec.structs.replace(step, engine="sync", attributes={**step.attributes, "dge_mode": "none"})
