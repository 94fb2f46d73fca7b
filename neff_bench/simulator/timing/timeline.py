"""Writes the schedule as rows of a trace: every instruction with its place in the engine's stream, every DMA packet and every
semaphore update, in whole picoseconds. NTFF files and the profile JSON are made of these rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from neff_bench.simulator.compiler.code.assembler import Code
from neff_bench.simulator.costs.transfers import SEMAPHORE_PACKET_BYTES, SEMAPHORE_PACKET_NS, Transfers
from neff_bench.simulator.timing.runtime import Around, around, fetched
from neff_bench.simulator.timing.schedule import CoreSchedule, Runs, Schedule

if TYPE_CHECKING:
    import numpy as np

FETCH_QUEUE = 14
"""Queue number of instruction fetch in real profiles (Q14)."""


@dataclass(frozen=True)
class Instructions:
    """One core's instructions, sorted by engine and place in its stream. Arrays of equal length.

    index: position in the core's `Code`, -1 for the runtime's own. pc: position in the engine's stream.
    start_ps, end_ps: from the start of the execution. wait_ns: time the engine stood before it.
    """

    engine: np.ndarray
    opcode: np.ndarray
    index: np.ndarray
    pc: np.ndarray
    start_ps: np.ndarray
    end_ps: np.ndarray
    wait_ns: np.ndarray


@dataclass(frozen=True)
class DmaRows:
    """One core's DMA packets by start. transfer: index into `Code.transfers`, -1 for instruction fetch."""

    transfer: np.ndarray
    engine: np.ndarray
    queue: np.ndarray
    bytes: np.ndarray
    start_ps: np.ndarray
    end_ps: np.ndarray


@dataclass(frozen=True)
class Semaphores:
    """Updates by time. semaphore: number; value: after the update; engine: who, 5 for a DMA."""

    semaphore: np.ndarray
    value: np.ndarray
    engine: np.ndarray
    time_ps: np.ndarray


@dataclass(frozen=True)
class CoreTimeline:
    """Holds what one core's trace holds; rows are made when they are asked for. `number`: of the core. `warm_ps`: periods [start, end) at full
    PE speed. Times in ps from the start of the execution."""

    schedule: Schedule
    number: int
    warm_ps: tuple[tuple[int, int], ...]
    end_ps: int

    @cached_property
    def _runtime(self) -> Around:
        return around(self.schedule, self.number)

    @property
    def _core(self) -> CoreSchedule:
        return self.schedule.cores[self.number]

    @cached_property
    def instructions(self) -> Instructions:
        """The instructions, by engine and place in its stream."""
        return _instructions(self._core, self._runtime)

    @cached_property
    def semaphores(self) -> Semaphores:
        """The updates of semaphores, by time."""
        return _semaphores(self._core, self._runtime)

    @property
    def semaphore_updates(self) -> int:
        """How many `semaphores` has."""
        plain, dma = _signals(self._core.code)
        return len(plain) + UPDATES_OF_A_DMA * len(dma) + self._runtime.clears.updates

    @cached_property
    def dma(self) -> DmaRows:
        """All packets by start."""
        return _rows(self.schedule, self.number, slice(0, len(self._core.code.transfers)), True, in_turn=True)

    def packets(self) -> Iterator[DmaRows]:
        """Yield all packets in no order, so many at a time that they stay in the processor's cache."""
        import numpy as np

        runs, count = self._core.runs, len(self._core.code.transfers)
        before = np.append(0, np.cumsum(runs.count.reshape(count, runs.width).sum(1) + runs.width))
        cuts = np.searchsorted(before, np.arange(0, int(before[-1]), _BATCH)).tolist()
        for start, stop in pairwise([*cuts, count]) if cuts else [(0, 0)]:
            yield _rows(self.schedule, self.number, slice(start, stop), start == 0)

    def dma_queues(self) -> int:
        """Return how many queues of DMA engines have packets. Each DMA has its semaphore's packet on every engine."""
        queues = {kind.queue for kind, _ in self._core.code.transfers.used}
        used = {(queue, engine) for queue in queues for engine in range(self._core.runs.width)}
        fetches = fetched(self.schedule.overheads, self.number)
        return len(used | {(FETCH_QUEUE, engine) for engine in fetches.engine.tolist()})


_BATCH = 1 << 14
"""Packets."""

UPDATES_OF_A_DMA = 16
"""How often a DMA updates its semaphore."""


@dataclass(frozen=True)
class Timeline:
    """`total_ps`: the execution, longest core."""

    cores: tuple[CoreTimeline, ...]
    total_ps: int


def timeline_of(schedule: Schedule) -> Timeline:
    """Return the rows of a trace from a schedule: instructions, DMA packets and semaphores of each core."""
    cores = tuple(_core(schedule, c, core) for c, core in enumerate(schedule.cores))
    return Timeline(cores, max(core.end_ps for core in cores))


def _core(schedule: Schedule, number: int, core: CoreSchedule) -> CoreTimeline:
    end_ps = round((core.kernel_end_ns + schedule.overheads.postamble_ns) * 1000)
    warm_ps = tuple((round(a * 1000), min(round(b * 1000), end_ps)) for a, b in core.warm)
    return CoreTimeline(schedule, number, warm_ps, end_ps)


def _instructions(core: CoreSchedule, runtime: Around) -> Instructions:
    """Return the instructions of each engine: the runtime's before the kernel, the kernel's, the runtime's behind it."""
    import numpy as np

    before = slice(0, runtime.before)
    behind = slice(runtime.before, None)
    own = np.lexsort((core.start_ns, core.code.engine))
    engine = np.concatenate([runtime.engine[before], core.code.engine[own], runtime.engine[behind]])
    place = np.argsort(engine, kind="stable")
    first = np.searchsorted(engine[place], np.arange(5))

    def column(of_runtime: np.ndarray, of_kernel: np.ndarray) -> np.ndarray:
        joined: np.ndarray = np.concatenate([of_runtime[before], of_kernel[own], of_runtime[behind]])
        return joined[place]

    nowhere = np.full(len(runtime.engine), -1)
    start = column(runtime.start_ns, core.start_ns)
    duration = column(runtime.duration_ns, core.end_ns - core.start_ns)
    start_ps = np.rint(start * 1000).astype(np.int64)
    return Instructions(
        engine[place].astype(np.uint8),
        column(runtime.opcode, core.code.opcode).astype(np.uint8),
        column(nowhere, np.arange(len(core.code))).astype(np.int32),
        (np.arange(len(place)) - first[engine[place]]).astype(np.int32),
        start_ps,
        start_ps + np.rint(duration * 1000).astype(np.int64),
        column(np.zeros(len(nowhere)), core.wait_ns),
    )


def _rows(schedule: Schedule, number: int, part: slice, fetches_too: bool, in_turn: bool = False) -> DmaRows:
    """Return the packets of each run of some transfers, and the semaphore packet of each DMA engine, which follows its last data packet of the
    transfer; before them the fetches. in_turn: by start."""
    import numpy as np

    core = schedule.cores[number]
    width, transfers = core.runs.width, core.code.transfers[part]
    own = slice(part.start * width, part.stop * width)
    runs = Runs(width, core.runs.count[own], core.runs.start_ns[own], core.runs.spacing_ns[own])
    fetches = fetched(schedule.overheads, number)
    fetch = slice(None if fetches_too else 0)
    run = np.repeat(np.arange(len(runs.count)), runs.count)
    spacing = runs.spacing_ns[run]
    begin = runs.start_ns[run] + (np.arange(len(run)) - (np.cumsum(runs.count) - runs.count)[run]) * spacing
    transfer_of = np.repeat(np.arange(part.start, part.stop, dtype=np.int32), width)
    engine_of = np.tile(np.arange(width, dtype=np.int32), len(transfers))
    none = np.full(len(fetches.engine[fetch]), -1, np.int32)
    queue = np.append(transfers.column(lambda one: one.queue, "int32"), np.int32(FETCH_QUEUE))
    bumps = runs.start_ns + runs.count * runs.spacing_ns + schedule.chip.dma_semaphore_gap_ns
    start_ns = np.concatenate([fetches.start_ns[fetch], begin, bumps])
    duration_ns = np.concatenate([
        fetches.duration_ns[fetch], begin + spacing - begin, np.full(len(bumps), SEMAPHORE_PACKET_NS)
    ])  # fmt: skip
    size = _packet_bytes(transfers, runs)
    transfer = np.concatenate([none, transfer_of[run], transfer_of])
    start_ps = np.rint(start_ns * 1000).astype(np.int64)
    # The last queue is that of the fetches.
    of_queue = np.where(transfer < 0, len(transfers), transfer - part.start)
    columns = (
        transfer,
        np.concatenate([fetches.engine[fetch], engine_of[run], engine_of]),
        queue[of_queue],
        np.concatenate([fetches.bytes[fetch], size, np.full(len(bumps), SEMAPHORE_PACKET_BYTES)]),
        start_ps,
        start_ps + np.rint(duration_ns * 1000).astype(np.int64),
    )
    place = np.argsort(start_ns, kind="stable") if in_turn else slice(None)
    return DmaRows(*(column[place] for column in columns))


def _packet_bytes(transfers: Transfers, runs: Runs) -> np.ndarray:
    """Return the bytes of each packet, run after run. The last packet of a transfer carries what is left."""
    import numpy as np

    packets = runs.count.reshape(len(transfers), runs.width).sum(1)
    size = np.repeat(transfers.column(lambda one: one.packet_bytes), packets)
    left = transfers.column(lambda one: one.bytes - (one.packets - 1) * one.packet_bytes)
    some = packets > 0
    size[np.cumsum(packets)[some] - 1] = left[some]
    return size


def _semaphores(core: CoreSchedule, runtime: Around) -> Semaphores:
    """Return the kernel's semaphore updates: one for each instruction that something waits for, 16 for each DMA that something waits for. And the
    runtime's."""
    import numpy as np

    code = core.code
    plain, dma = _signals(code)
    dma = np.repeat(dma, UPDATES_OF_A_DMA)
    index = np.concatenate([plain, dma])
    # Semaphores 3..7 belong to the engines, 8.. to the DMAs, as in real profiles.
    semaphore = np.concatenate([code.engine[plain] + 3, 8 + code.transfer[dma] % 248]).astype(np.int32)
    engine = np.concatenate([code.engine[plain], np.full(len(dma), 5)]).astype(np.uint8)
    time = np.rint(core.done_ns[index] * 1000).astype(np.int64)
    place = np.argsort(time, kind="stable")
    semaphore, engine, time = semaphore[place], engine[place], time[place]
    # Running number within each semaphore.
    order = np.argsort(semaphore, kind="stable")
    starts = np.searchsorted(semaphore[order], semaphore[order], side="left")
    value = np.empty(len(order), dtype=np.int64)
    value[order] = np.arange(len(order)) - starts + 1
    theirs = runtime.updates()
    all_times = np.concatenate([time, np.rint(theirs.time_ns * 1000).astype(np.int64)])
    place = np.argsort(all_times, kind="stable")
    return Semaphores(
        np.concatenate([semaphore, theirs.semaphore])[place],
        np.concatenate([value, theirs.value])[place],
        np.concatenate([engine, theirs.engine])[place],
        all_times[place],
    )


def _signals(code: Code) -> tuple[np.ndarray, np.ndarray]:
    """Return the instructions that something waits for: those that are no DMA, and DMAs."""
    import numpy as np

    waited = np.zeros(len(code), dtype=bool)
    waited[code.waits] = True
    return np.flatnonzero(waited & (code.transfer < 0)), np.flatnonzero(waited & (code.transfer >= 0))
