"""Takes machine instructions to their times: the columns that the inner loop takes (simulator/native/loop.py)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

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
from neff_bench.simulator.native.loop import (
    ENGINES_OF_A_CORE,
    LDWEIGHTS,
    MATMUL,
    QUEUES,
    Loop,
    Moves,
    Rates,
    Times,
    run_loop,
)

if TYPE_CHECKING:
    import numpy as np

_LDWEIGHTS, _MATMUL = OPCODES["LDWEIGHTS"], OPCODES["MATMUL"]
_MATMUL_ISSUE_NS = 2.0
"""LDWEIGHTS follows the start of the MATMUL before it by so much (docs/model.md, Evidence)."""


class Scheduled(NamedTuple):
    """`times`: as the loop's `Times`. `status`: DONE or DEADLOCK. `warm`: (core, start, end) of the periods at full PE speed, in ns."""

    status: int
    times: Any
    warm: list[tuple[int, float, float]]


def scheduled(chip: Chip, work: Any, transfers: Sequence[Transfers], sharers: int, window_start: float) -> Scheduled:
    """Schedule every instruction. `work`: the loop's `Work`, but for `kind`, which has opcodes. `transfers`: of each core. `sharers`:
    cores that move data and share HBM. `window_start`: of the first throttle window, in ns."""
    import numpy as np

    kind = LDWEIGHTS * (work.kind == _LDWEIGHTS) + MATMUL * (work.kind == _MATMUL)
    moves = _moves(chip, transfers, sharers)
    instructions, engines, moved = len(work.engine), len(work.engine_start), len(moves.packets)
    cores, width = engines // ENGINES_OF_A_CORE, chip.dma_engines
    times = _unknown(instructions, moved, width)
    room = instructions + engines  # a period at full speed begins behind a window in which the PE worked
    loop = Loop(
        instructions, engines, moved, work._replace(kind=kind.astype(np.int8)), moves, _rates(chip, sharers, window_start), times,
        **_columns(engines, place="int64", free="float64", ready="float64", cause="int64", missing="int64", may_go="int64"),
        **_columns(cores, array_free="float64", window_start="float64", window_busy="float64", warm_since="float64"),
        **_columns(cores, rotation="int64", moving_count="int64"),
        **_columns(cores * QUEUES, hbm_free="float64"),
        **_columns(cores * width * QUEUES, dma_free="float64"),
        **_columns(cores * moved, moving="int64"),
        **_columns(moved, trigger="int64", later="int64"),
        **_columns(2, packets="float64"),
        **_columns(1, warm_count="int64"),
        **_columns(room, warm_core="int64", warm_start="float64", warm_end="float64"),
    )  # fmt: skip
    status = native.run(run_loop, loop)
    warm = (column[: loop.warm_count[0]].tolist() for column in (loop.warm_core, loop.warm_start, loop.warm_end))
    return Scheduled(status, times, list(zip(*warm, strict=True)))


def _columns(length: int, **dtypes: str) -> dict[str, np.ndarray]:
    """Return the columns of zeros."""
    import numpy as np

    return {name: np.zeros(length, dtype) for name, dtype in dtypes.items()}


def _moves(chip: Chip, transfers: Sequence[Transfers], sharers: int) -> Any:
    """Return the columns of the transfers, core by core."""
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
    """Return how much of `dma_read_stall_ns` and `dma_read_spread` a transfer has: reads of HBM all of it, under `--disable-dge` a part, those that
    the kernel itself makes static none, those by element all of it. The time of gathered rows has the stalls in it."""
    if not transfer.hbm_read or transfer.gathers:
        return 0.0
    if transfer.dge_disabled:
        return chip.disabled_dge_read_stall
    return 0.0 if transfer.static and not is_by_element(transfer, chip) else 1.0


def _rates(chip: Chip, sharers: int, window_start: float) -> Any:
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


def _unknown(n: int, transfers: int, width: int) -> Any:
    """Return arrays for `n` instructions, none of them done."""
    import numpy as np

    runs = transfers * width
    return Times(
        np.zeros(n), np.zeros(n), np.full(n, -1.0), np.zeros(n), np.full(n, -1, dtype=np.int32),
        np.zeros(runs, dtype=np.int64), np.zeros(runs), np.zeros(runs), np.zeros(transfers, dtype=np.int8),
    )  # fmt: skip
