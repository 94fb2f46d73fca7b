"""Says when each machine instruction runs: an event-driven schedule of all cores of a logical core.

Engines take their instructions in the order of issue. An instruction starts when its engine is free and everything that it waits
for has signalled. A DMA trigger puts its packets on its core's DMA engines. A queue is first in, first out, and each DMA engine takes
packets of its queues in turn (docs/model.md, Evidence). Two cores that move data have half of the logical core's HBM bandwidth each. The PE runs at half speed behind
a throttle window that too few columns went through (`throttle_utilization`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from neff_bench.chips import Chip
from neff_bench.chips.overheads import Overheads
from neff_bench.simulator.chips import chip_for
from neff_bench.simulator.compiler.code.assembler import Code, assemble
from neff_bench.simulator.errors import SimulatorError
from neff_bench.simulator.native.loop import DEADLOCK, Work
from neff_bench.simulator.program import Program
from neff_bench.simulator.timing.scheduler import scheduled

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Runs:
    """DMA packets of one core as evenly spaced runs, transfer by transfer, DMA engine by DMA engine: arrays of length
    transfers x `width`. Times in ns."""

    width: int
    count: np.ndarray
    start_ns: np.ndarray
    spacing_ns: np.ndarray


@dataclass(frozen=True)
class CoreSchedule:
    """One core. Arrays of length `len(code)`; times in ns from the start of the execution.

    wait_ns: time the engine stood before the instruction. blocker: index of the instruction it waited for last
    (in the numbering of all cores, see `Schedule.first`), -1 if it started as soon as its engine was free.
    by_hbm, for each transfer: 1 where HBM set its pace. warm: periods [start, end) at full PE speed.
    """

    code: Code
    start_ns: np.ndarray
    end_ns: np.ndarray
    done_ns: np.ndarray
    wait_ns: np.ndarray
    blocker: np.ndarray
    runs: Runs
    by_hbm: np.ndarray
    warm: tuple[tuple[float, float], ...]
    kernel_end_ns: float

    def pace(self, transfer: int) -> str:
        """Return what set the pace of a transfer: `hbm` or `dma`."""
        return "hbm" if self.by_hbm[transfer] else "dma"


@dataclass(frozen=True)
class Schedule:
    """`first[c]`: number of core c's first instruction in the common numbering of `blocker`.

    total_ns: whole execution. fixed_ns: the part before the first and after the last kernel instruction.
    first_execution: it is the one after loading.
    """

    chip: Chip
    overheads: Overheads
    cores: tuple[CoreSchedule, ...]
    first: tuple[int, ...]
    total_ns: float
    fixed_ns: float
    first_execution: bool = False

    @cached_property
    def partners(self) -> np.ndarray:
        """For each instruction, in the common numbering, that of the other core which begins together with it; -1 for none."""
        return partners([core.code for core in self.cores], self.first)

    @property
    def moving_cores(self) -> int:
        """How many cores move data; 1 where none does."""
        return _moving(core.code for core in self.cores)


def schedule(
    program: Program,
    chip: Chip | None = None,
    codes: Sequence[Code] | None = None,
    first_execution: bool = False,
) -> Schedule:
    """Return the simulated times of a program. `chip`: constants other than the target's. `first_execution`: the one after loading, which
    waits for GpSimd's library. Raises SimulatorError when the cores wait for each other for ever."""
    chip = chip or chip_for(program.target)
    codes = tuple(codes) if codes is not None else assemble(program, chip)
    return schedule_code(codes, chip, overheads_of(codes, chip), first_execution=first_execution)


def overheads_of(codes: Sequence[Code], chip: Chip) -> Overheads:
    """Return what the runtime does around the code of all cores."""
    static = {kind.static for code in codes for kind, _ in code.transfers.used}
    return chip.overheads.around(static=static == {True})


def schedule_code(
    codes: Sequence[Code],
    chip: Chip,
    overheads: Overheads,
    throttle_phase_ns: float = 0.0,
    first_execution: bool = False,
) -> Schedule:
    """Schedule machine code. `throttle_phase_ns`: when a throttle window begins. They run on whatever the PE does, and on hardware their phase
    against the execution differs from run to run."""
    import numpy as np

    # All cores are scheduled in one loop, since they wait for each other: what each numbers from 0 is renumbered here.
    count = len(codes)
    first = np.concatenate([[0], np.cumsum([len(code) for code in codes])])
    transfer_first = np.concatenate([[0], np.cumsum([len(code.transfers) for code in codes])])
    engine = np.concatenate([code.engine + 5 * c for c, code in enumerate(codes)]).astype(np.int32)
    order = np.argsort(engine, kind="stable").astype(np.int32)
    order_start = np.searchsorted(engine[order], np.arange(5 * count + 1)).astype(np.int32)
    transfer = np.concatenate([
        np.where(code.transfer >= 0, code.transfer + transfer_first[c], -1) for c, code in enumerate(codes)
    ]).astype(np.int32)  # fmt: skip
    wait_base = np.concatenate([[0], np.cumsum([len(code.waits) for code in codes])])
    wait_start = np.concatenate(
        [code.wait_start[:-1] + wait_base[c] for c, code in enumerate(codes)] + [wait_base[-1:]]
    )
    waits = np.concatenate([code.waits + first[c] for c, code in enumerate(codes)]).astype(np.int32)
    work = Work(
        engine,
        order,
        order_start,
        np.concatenate([code.opcode for code in codes]),
        np.concatenate([code.interval_ns for code in codes]),
        np.concatenate([code.latency_ns for code in codes]),
        np.concatenate([code.pe_ns for code in codes]),
        transfer,
        partners(codes, first.tolist()),
        wait_start.astype(np.int64),
        waits,
        np.array([overheads.kernel_start_ns(c, e, first_execution) for c in range(count) for e in range(5)]),
    )
    sharers = _moving(codes)
    # The first window begins before the program, so that every instruction lies in one.
    window_start = throttle_phase_ns % chip.throttle_window_ns - chip.throttle_window_ns
    loop = scheduled(chip, work, [code.transfers for code in codes], sharers, window_start)
    if loop.status == DEADLOCK:
        raise SimulatorError("the cores wait for each other for ever: core_barrier or sendrecv calls do not pair up")
    cores, times = [], loop.times
    # The result is cut into cores again.
    for c, code in enumerate(codes):
        a, b = first[c], first[c + 1]
        width = chip.dma_engines
        own = slice(int(transfer_first[c]) * width, int(transfer_first[c + 1]) * width)
        end = times.start[a:b] + times.duration[a:b]
        cores.append(
            CoreSchedule(
                code=code,
                start_ns=times.start[a:b],
                end_ns=end,
                done_ns=times.done[a:b],
                wait_ns=times.wait[a:b],
                blocker=times.blocker[a:b],
                runs=Runs(width, times.run_count[own], times.run_start[own], times.run_spacing[own]),
                by_hbm=times.by_hbm[transfer_first[c] : transfer_first[c + 1]],
                warm=tuple((s, e) for core, s, e in loop.warm if core == c),
                kernel_end_ns=float(end.max()) if len(end) else overheads.preamble_ns,
            )
        )
    total = max(core.kernel_end_ns for core in cores) + overheads.postamble_ns
    fixed = overheads.preamble_ns + overheads.postamble_ns
    numbers = tuple(int(x) for x in first[:-1])
    return Schedule(chip, overheads, tuple(cores), numbers, total, fixed, first_execution)


def _moving(codes: Iterable[Code]) -> int:
    """Return how many cores move data; 1 where none does."""
    return sum(1 for code in codes if code.transfers) or 1


def partners(codes: Sequence[Code], first: Sequence[int]) -> np.ndarray:
    """Return for each instruction that both cores enter together the number of the other core's; else -1."""
    import numpy as np

    found = np.full(sum(map(len, codes)), -1, dtype=np.int32)
    if len(codes) == 2:
        places = [np.flatnonzero(code.meeting >= 0) for code in codes]
        if len(places[0]) != len(places[1]):
            raise SimulatorError(
                f"core_barrier and sendrecv calls do not pair up: {len(places[0])} on core 0, {len(places[1])} on core 1"
            )
        found[places[0] + first[0]] = places[1] + first[1]
        found[places[1] + first[1]] = places[0] + first[0]
    return found
