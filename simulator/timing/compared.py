"""Which operations of a program were never compared with hardware, and hold an engine for long."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from neff_bench.parsers.formats.opcodes import OPCODES
from neff_bench.simulator.compiler.lowering import lowering
from neff_bench.simulator.costs.comparisons import compared_with
from neff_bench.simulator.costs.table import ANY, DMA, TABLES, Row
from neff_bench.simulator.costs.transfers import Transfer, packet_ns
from neff_bench.simulator.operations import OPERATIONS
from neff_bench.simulator.program import ENGINES, Program
from neff_bench.simulator.timing.schedule import CoreSchedule, Schedule

if TYPE_CHECKING:
    import numpy as np

_NAMED_FROM = 0.1
"""Share of the total time for which an engine is held by an operation that a row names."""

_PLACES = (*ENGINES, DMA)
_LOADS, _WRITE = OPCODES["LDWEIGHTS"], OPCODES["WRITE"]


def uncompared(program: Program, schedule: Schedule) -> tuple[str, ...]:
    """The rows of the cost table that were never compared on the chip's generation and hold their engine, or the DMA engines, for more
    than a tenth of the total time, on the core where that is longest."""
    found: dict[str, None] = {}
    generation = schedule.chip.generation
    for number in range(len(schedule.cores)):
        times = held_ns(program, schedule, number, _open(generation))
        for row, ns in sorted(times.items(), key=lambda item: -item[1]):
            if ns > _NAMED_FROM * schedule.total_ns and not compared_with(generation, row):
                found[row.named] = None
    return tuple(found)


def held_ns(
    program: Program, schedule: Schedule, number: int, only: Iterable[tuple[int, str]] | None = None
) -> dict[Row, float]:
    """By row of the cost table: how long it holds its engine on core `number`; of a DMA, the DMA engines. LDWEIGHTS loads behind
    a product and counts for nothing. `only`: opcodes and engines that are looked at, if they take a tenth of the time; else all."""
    import numpy as np

    core = schedule.cores[number]
    code, instructions = core.code, program.cores[number]
    times = _held(core, schedule)
    if only is not None:
        where = np.where(code.transfer >= 0, _PLACES.index(DMA), code.engine)
        kinds = code.opcode.astype(np.int64) * len(_PLACES) + where
        long = np.bincount(kinds, weights=times, minlength=256 * len(_PLACES)) > _NAMED_FROM * schedule.total_ns
        known = np.ones(len(long), bool)
        known[[opcode * len(_PLACES) + _PLACES.index(place) for opcode, place in only]] = False
        times = np.where((long & ~known)[kinds], times, 0.0)
    by_origin = np.bincount(code.origin, weights=times, minlength=len(instructions))
    lower_once = lowering(program, schedule.chip)
    found: dict[Row, float] = {}
    for origin in np.flatnonzero(by_origin).tolist():
        row = lower_once(instructions[origin]).row
        found[row] = found.get(row, 0.0) + float(by_origin[origin])
    return found


def _held(core: CoreSchedule, schedule: Schedule) -> np.ndarray:
    import numpy as np

    code, chip = core.code, schedule.chip
    times = np.where(code.opcode == _LOADS, 0.0, np.maximum(code.interval_ns, code.pe_ns))

    def moving_ns(transfer: Transfer) -> float:
        return transfer.latency_ns + transfer.packets * packet_ns(transfer, chip) / chip.dma_engines

    moves = code.transfer >= 0
    if moves.any():
        moving = np.array([moving_ns(transfer) for transfer in code.transfers])
        times[moves] = moving[code.transfer[moves]]
    return times


def _open(generation: int) -> set[tuple[int, str]]:
    """Opcodes with a row that was never compared, and where they run."""
    found: set[tuple[int, str]] = set()
    for row in TABLES.get(generation, ()):
        if row.operation in OPERATIONS and not compared_with(generation, row):
            places = ENGINES if row.engine == ANY else (row.engine,)
            opcodes = (
                {*OPERATIONS[row.operation].opcodes, _WRITE} if row.engine == DMA else OPERATIONS[row.operation].opcodes
            )
            found.update((opcode, place) for opcode in opcodes for place in places)
    return found
