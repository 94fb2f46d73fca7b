"""What a DMA costs: a trigger on the engine that issues it, and packets on the DMA engines."""

from __future__ import annotations

from neff_bench.chips import Chip
from neff_bench.parsers.formats.opcodes import OPCODES
from neff_bench.simulator.costs.steps import ALL, Lowered, Step
from neff_bench.simulator.costs.transfers import start_ns, transfer_of, trigger_engine
from neff_bench.simulator.program import Instruction, Program

_WRITE = OPCODES["WRITE"]
"""What starts a DMA whose descriptors were made at compile time (inf2 traces)."""


def by_dma(
    instruction: Instruction, program: Program, chip: Chip, opcodes: tuple[int, ...], meets: bool = False
) -> Lowered:
    """A trigger and its transfer. `meets`: both cores enter it together."""
    engine = trigger_engine(instruction, program)
    transfer = transfer_of(instruction, program, engine)
    issue = visible = chip.dma_issue_ns
    if transfer.software:
        issue, visible = chip.software_dma_issue_ns, chip.software_dma_instruction_ns
    elif transfer.static:
        issue = visible = chip.static_dma_issue_ns
    loads = not meets and not transfer.hbm_write
    step = Step(_WRITE if transfer.static else opcodes[0], ALL, issue, visible)
    return Lowered(engine, (step,), transfer, loads, meets, "", issue, start_ns(transfer, chip))
