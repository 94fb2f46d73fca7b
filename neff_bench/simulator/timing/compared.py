"""Says which operations of a program were never compared with hardware, and hold an engine for long."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from neff_bench.parsers.formats.opcodes import OPCODES
from neff_bench.simulator.compiler.code.lowering import lowered_kinds
from neff_bench.simulator.compiler.program.columns import table_of
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
    """Return the names of the rows of the cost table that were never compared on the chip's generation and hold their engine, or the DMA engines, for more
    than a tenth of the total time, on the core where that is longest."""
    named: dict[str, None] = {}
    generation = schedule.chip.generation
    for number, core in enumerate(schedule.cores):
        held = _held(core, schedule)
        looked_at = _looked_at(core, schedule, held, _open(generation))
        times = _by_row(program, schedule, number, looked_at) if looked_at.any() else {}
        long = [
            (row, ns)
            for row, ns in sorted(times.items(), key=lambda item: -item[1])
            if ns > _NAMED_FROM * schedule.total_ns and not compared_with(generation, row)
        ]
        named.update((row.named, None) for row, _ in long)
    return tuple(named)


def held_ns(program: Program, schedule: Schedule, number: int) -> dict[Row, float]:
    """Return for each row of the cost table how long it holds its engine on core `number`; of a DMA, the DMA engines. LDWEIGHTS loads behind
    a product and counts for nothing."""
    return _by_row(program, schedule, number, _held(schedule.cores[number], schedule))


def _looked_at(core: CoreSchedule, schedule: Schedule, times: np.ndarray, only: list[int]) -> np.ndarray:
    """Return the times of opcodes and places in `only`, numbered as `_open` does, that take a tenth of the total; zero for others."""
    import numpy as np

    code = core.code
    where = np.where(code.transfer >= 0, _PLACES.index(DMA), code.engine)
    kinds = code.opcode.astype(np.int64) * len(_PLACES) + where
    long = np.bincount(kinds, weights=times, minlength=256 * len(_PLACES)) > _NAMED_FROM * schedule.total_ns
    known = np.ones(len(long), bool)
    known[only] = False
    return np.where((long & ~known)[kinds], times, 0.0)


def _by_row(program: Program, schedule: Schedule, number: int, times: np.ndarray) -> dict[Row, float]:
    import numpy as np

    kind = table_of(program).cores[number].kind
    by_origin = np.bincount(schedule.cores[number].code.origin, weights=times, minlength=len(kind))
    numbers: dict[Row, int] = {}
    row_of_kind = [numbers.setdefault(one.row, len(numbers)) for one in lowered_kinds(program, schedule.chip)]
    held = np.flatnonzero(by_origin)
    row = np.array(row_of_kind, np.int64)[kind[held]]
    ns = np.bincount(row, weights=by_origin[held], minlength=len(numbers)).tolist()
    rows, in_turn = list(numbers), np.sort(np.unique(row, return_index=True)[1])
    return {rows[number]: ns[number] for number in row[in_turn].tolist()}


def _held(core: CoreSchedule, schedule: Schedule) -> np.ndarray:
    import numpy as np

    code, chip = core.code, schedule.chip
    times = np.where(code.opcode == _LOADS, 0.0, np.maximum(code.interval_ns, code.pe_ns))

    def moving_ns(transfer: Transfer) -> float:
        return transfer.latency_ns + transfer.packets * packet_ns(transfer, chip) / chip.dma_engines

    moves = code.transfer >= 0
    if moves.any():
        times[moves] = code.transfers.column(moving_ns, "float64")[code.transfer[moves]]
    return times


@cache
def _open(generation: int) -> list[int]:
    """Return the opcodes with a row that was never compared, and where they run: a number for each opcode and place."""
    found: set[int] = set()
    for row in TABLES.get(generation, ()):
        if row.operation in OPERATIONS and not compared_with(generation, row):
            places = ENGINES if row.engine == ANY else (row.engine,)
            opcodes = (
                {*OPERATIONS[row.operation].opcodes, _WRITE} if row.engine == DMA else OPERATIONS[row.operation].opcodes
            )
            found.update(opcode * len(_PLACES) + _PLACES.index(place) for opcode in opcodes for place in places)
    return sorted(found)
