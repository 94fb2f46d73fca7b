"""Implements `--disable-dge`: the compiler makes the descriptors, and no engine generates any on the device.

Sync starts the loads, GpSimd the stores (queues qSPIO0 and qPoolIO0 of 52 traces on trn2 and trn1, validation/correlation/coursework.py)."""

from __future__ import annotations

import msgspec

from neff_bench.simulator.costs.transfers import DGE_DISABLED
from neff_bench.simulator.program import Instruction, Program

_OF_ONE_DMA = frozenset({"dma_copy", "dma_transpose"})


def made_at_compile_time(program: Program) -> Program:
    """Return the program as `--disable-dge` compiles it. A DMA whose address is known at run time only keeps its own descriptors."""
    return msgspec.structs.replace(
        program, cores=tuple(tuple(_static(step, program) for step in core) for core in program.cores)
    )


def _static(step: Instruction, program: Program) -> Instruction:
    accesses = (*step.reads.values(), *step.writes.values())
    if step.op not in _OF_ONE_DMA or any(access.dynamic for access in accesses):
        return step
    stores = any(program.buffers[access.buffer].memory == "hbm" for access in step.writes.values())
    engine = "gpsimd" if stores else "sync"
    return msgspec.structs.replace(step, engine=engine, attributes={**step.attributes, "dge_mode": DGE_DISABLED})
