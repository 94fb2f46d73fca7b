"""Says what a DMA costs: a trigger on the engine that issues it, and packets on the DMA engines."""

from __future__ import annotations

from collections.abc import Iterator

from neff_bench.chips import Chip
from neff_bench.parsers.formats.opcodes import OPCODES
from neff_bench.simulator.costs.steps import ALL, NOTHING, READS, Lowered, Step
from neff_bench.simulator.costs.table import CONVERTS, DMA, HARDWARE, SOFTWARE, STATIC, Row, row_for
from neff_bench.simulator.costs.transfers import Transfer, start_ns, transfer_of, trigger_engine
from neff_bench.simulator.program import Instruction, Program

_WRITE = OPCODES["WRITE"]
"""What starts a DMA whose descriptors were made at compile time (inf2 traces)."""

IN_TURN = "in_turn"
"""Attribute of a store that keeps its place among those of its engine, as loads do (simulator/compiler/passes/store_order.py)."""


def by_dma(
    instruction: Instruction, program: Program, chip: Chip, opcodes: tuple[int, ...], meets: bool = False
) -> Lowered:
    """Return a trigger and its transfer, behind what computes a run-time address. `meets`: both cores enter it together."""
    engine = trigger_engine(instruction, program)
    transfer = transfer_of(instruction, program, engine)
    row = trigger_row(instruction, transfer, chip)
    issue, visible = getattr(chip, row.interval), getattr(chip, row.latency)
    loads = not meets and (not transfer.hbm_write or IN_TURN in instruction.attributes)
    address = tuple(_address_steps(instruction, chip)) if transfer.software else ()
    before = sum(step.interval_ns for step in address)
    trigger = Step(_WRITE if transfer.static else opcodes[0], ALL, issue, visible)
    busy, first_packet = before + issue, before + start_ns(transfer, chip)
    return Lowered(engine, (*address, trigger), transfer, loads, meets, "", busy, first_packet, row)


def trigger_row(instruction: Instruction, transfer: Transfer, chip: Chip) -> Row:
    """Return the row of a DMA: by who makes its descriptors, and whether the dtype changes on the way."""
    kind = SOFTWARE if transfer.software else STATIC if transfer.static else HARDWARE
    mode = kind + CONVERTS if transfer.converts else kind
    return row_for(chip.generation, instruction.op, DMA, mode=mode)


def _address_steps(instruction: Instruction, chip: Chip) -> Iterator[Step]:
    """Yield what GpSimd does for an address that an index in SBUF decides: it loads the index, multiplies it by the step, adds the offset,
    multiplies by the bytes of an element, and moves the highest address that is allowed into a register. The table names the trace that shows it."""
    for access in (*instruction.writes.values(), *instruction.reads.values()):
        for part in access.dynamic:
            if part.index.elements == 1:
                yield _register_step("register_load", "TENSOR_LOAD", READS, chip)
                for _ in range(3):
                    yield _register_step("register_alu", "REGISTER_ALU", NOTHING, chip)
                yield _register_step("register_move", "REGISTER_MOVE", NOTHING, chip)


def _register_step(operation: str, opcode: str, waits: int, chip: Chip) -> Step:
    ns = row_for(chip.generation, operation, "gpsimd").ns or 0.0
    return Step(OPCODES[opcode], waits, ns, ns)
