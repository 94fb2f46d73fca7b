"""From machine instructions to their times: the columns that the inner loop takes, and the choice of the loop.

The compiled loop (simulator/native/loop.c) runs where it was built, else the plain one (loop.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from neff_bench.chips import Chip
from neff_bench.parsers.formats.opcodes import OPCODES
from neff_bench.simulator import native
from neff_bench.simulator.costs.transfers import (
    PORTS,
    SEMAPHORE_PACKET_NS,
    Transfer,
    Transfers,
    is_by_element,
    packet_ns,
    queue_of,
    start_ns,
)
from neff_bench.simulator.timing.loop import Periods, run_plain
from neff_bench.simulator.timing.records import Moves, Rates, Times, Work

if TYPE_CHECKING:
    import numpy as np

_LDWEIGHTS, _MATMUL = OPCODES["LDWEIGHTS"], OPCODES["MATMUL"]
_MATMUL_ISSUE_NS = 2.0
"""LDWEIGHTS follows the start of the MATMUL before it by 2 ns (trn2 traces, trainium-kernel-fusion @d709ddf1)."""


class Loop(NamedTuple):
    """`status`: DONE or DEADLOCK. `warm`: (core, start, end) of the periods at full PE speed, in ns."""

    status: int
    times: Times
    warm: Periods


def run_loop(chip: Chip, work: Work, transfers: Sequence[Transfers], sharers: int, window_start: float) -> Loop:
    """Schedules every instruction. `transfers`: of each core. `sharers`: cores that move data and share HBM. `window_start`: of the first throttle window, in ns.

    Raises MemoryError."""
    import numpy as np

    kind = (work.opcode == _LDWEIGHTS) + 2 * (work.opcode == _MATMUL).astype(np.int8)
    work = work._replace(opcode=kind)
    moves = _moves(chip, transfers, sharers)
    rates = _rates(chip, sharers, window_start)
    times = _unknown(len(work.engine), len(moves.packets), chip.dma_engines)
    run = run_plain if native.library() is None else _run_compiled
    status, warm = run(work, moves, rates, times)
    return Loop(status, times, warm)


def _run_compiled(work: Work, moves: Moves, rates: Rates, times: Times) -> tuple[int, Periods]:
    """`run_plain` in C."""
    import numpy as np

    instructions, engines = len(work.engine), len(work.engine_start)
    # A period at full speed begins behind a window in which the PE worked: there is no more of them than instructions.
    room = instructions + engines
    *constants, width = rates
    warm = count, core, start, end = np.zeros(1, np.int64), np.empty(room, np.int64), np.empty(room), np.empty(room)
    status = native.call(
        "run_loop",
        instructions,
        engines,
        len(moves.packets),
        width,
        work,
        moves,
        np.array(constants, np.float64),
        times,
        warm,
    )
    found = (column[: count[0]].tolist() for column in (core, start, end))
    return status, list(zip(*found, strict=True))


def _moves(chip: Chip, transfers: Sequence[Transfers], sharers: int) -> Moves:
    """The columns of the transfers, core by core."""
    import numpy as np

    def column(value: Callable[[Transfer], float], dtype: str = "float64") -> np.ndarray:
        return np.concatenate([of_core.column(value, dtype) for of_core in transfers])

    return Moves(
        packets=column(lambda x: x.packets, "int64"),
        spacing=column(lambda x: packet_ns(x, chip)),
        hbm=column(lambda x: chip.hbm_ns(x.hbm_read, x.hbm_write, sharers)),
        first=column(lambda x: start_ns(x, chip)),
        held_up=column(lambda x: _held_up(x, chip)),
        first_engine=column(lambda x: x.first_port * chip.dma_engines // PORTS, "int64"),
        engines=column(lambda x: max(x.ports * chip.dma_engines // PORTS, 1), "int64"),
        queue=column(queue_of, "int64"),
    )


def _held_up(transfer: Transfer, chip: Chip) -> float:
    """How much of `dma_read_stall_ns` and `dma_read_spread` a transfer has: reads of HBM all of it, under `--disable-dge` a part. Those that
    the kernel itself makes static have none: the weights that token generation of nki-library's `mlp` loads are not held up. Those by element
    are: with them four of twelve `rmsnorm_tkg` take 1 to 7 % less than on hardware, without 20 to 27. The time of gathered rows has the stalls in
    it."""
    if not transfer.hbm_read or transfer.gathers:
        return 0.0
    if transfer.dge_disabled:
        return chip.disabled_dge_read_stall
    return 0.0 if transfer.static and not is_by_element(transfer, chip) else 1.0


def _rates(chip: Chip, sharers: int, window_start: float) -> Rates:
    return Rates(
        dma_wait=float(chip.dma_done_ns(sharers)), semaphore=float(chip.semaphore_ns),
        pe_latency=float(chip.pe_latency_ns), pe_fill=chip.pe_fill_cycles / chip.pe_clock_ghz,
        window=float(chip.throttle_window_ns), slow=float(chip.throttle_factor),
        full_at=float(chip.throttle_utilization), pe_overhead=chip.pe_overhead_cycles / chip.pe_clock_ghz,
        matmul_issue=_MATMUL_ISSUE_NS, semaphore_packet=chip.dma_semaphore_gap_ns + SEMAPHORE_PACKET_NS,
        read_stall=float(chip.dma_read_stall_ns), read_spread=float(chip.dma_read_spread),
        stagger=float(chip.dma_stagger_ns), read_stagger=float(chip.dma_read_stagger_ns),
        first_window=float(window_start), width=chip.dma_engines,
    )  # fmt: skip


def _unknown(n: int, transfers: int, width: int) -> Times:
    """Arrays for `n` instructions, none of them done."""
    import numpy as np

    runs = transfers * width
    return Times(
        np.zeros(n), np.zeros(n), np.full(n, -1.0), np.zeros(n), np.full(n, -1, dtype=np.int32),
        np.zeros(runs, dtype=np.int64), np.zeros(runs), np.zeros(runs), np.zeros(transfers, dtype=np.int8),
    )  # fmt: skip
