"""What a DMA costs: a trigger on the engine that issues it, and packets on the DMA engines."""

from __future__ import annotations

from neff_bench.chips import Chip
from neff_bench.parsers.formats.opcodes import OPCODES
from neff_bench.simulator.costs.steps import ALL, Lowered, Step
from neff_bench.simulator.costs.table import CONVERTS, DMA, HARDWARE, SOFTWARE, STATIC, Row, row_for
from neff_bench.simulator.costs.transfers import Transfer, start_ns, transfer_of, trigger_engine
from neff_bench.simulator.program import Instruction, Program

_WRITE = OPCODES["WRITE"]
"""What starts a DMA whose descriptors were made at compile time (inf2 traces)."""


def by_dma(
    instruction: Instruction, program: Program, chip: Chip, opcodes: tuple[int, ...], meets: bool = False
) -> Lowered:
    """A trigger and its transfer. `meets`: both cores enter it together."""
    engine = trigger_engine(instruction, program)
    transfer = transfer_of(instruction, program, engine)
    row = trigger_row(instruction, transfer, chip)
    issue, visible = getattr(chip, row.interval), getattr(chip, row.latency)
    loads = not meets and not transfer.hbm_write
    step = Step(_WRITE if transfer.static else opcodes[0], ALL, issue, visible)
    return Lowered(engine, (step,), transfer, loads, meets, "", issue, start_ns(transfer, chip), row)


def trigger_row(instruction: Instruction, transfer: Transfer, chip: Chip) -> Row:
    """The row of a DMA: by who makes its descriptors, and whether the dtype changes on the way."""
    kind = SOFTWARE if transfer.software else STATIC if transfer.static else HARDWARE
    mode = kind + CONVERTS if transfer.converts else kind
    return row_for(chip.generation, instruction.op, DMA, mode=mode)
