"""The schedule as rows of a trace: every instruction with its place in the engine's stream, every DMA packet and every
semaphore update, in whole picoseconds. NTFF files and the profile JSON are made of these rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from neff_bench.simulator.costs.transfers import SEMAPHORE_PACKET_BYTES, SEMAPHORE_PACKET_NS
from neff_bench.simulator.timing.runtime import Around, around, fetched
from neff_bench.simulator.timing.schedule import CoreSchedule, Schedule

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
    """What one core's trace holds. `warm_ps`: periods [start, end) at full PE speed. Times in ps from the start of the
    execution."""

    instructions: Instructions
    dma: DmaRows
    semaphores: Semaphores
    warm_ps: tuple[tuple[int, int], ...]
    end_ps: int


@dataclass(frozen=True)
class Timeline:
    """`total_ps`: the execution, longest core."""

    cores: tuple[CoreTimeline, ...]
    total_ps: int


def timeline_of(schedule: Schedule) -> Timeline:
    """The rows of a trace from a schedule: instructions, DMA packets and semaphores of each core."""
    cores = tuple(_core(schedule, c, core) for c, core in enumerate(schedule.cores))
    return Timeline(cores, max(core.end_ps for core in cores))


def _core(schedule: Schedule, number: int, core: CoreSchedule) -> CoreTimeline:
    end_ps = round((core.kernel_end_ns + schedule.overheads.postamble_ns) * 1000)
    runtime = around(schedule, number)
    return CoreTimeline(
        _instructions(core, runtime),
        _dma(schedule, number, core),
        _semaphores(core, runtime),
        tuple((round(a * 1000), min(round(b * 1000), end_ps)) for a, b in core.warm),
        end_ps,
    )


def _instructions(core: CoreSchedule, runtime: Around) -> Instructions:
    """On each engine: the runtime's before the kernel, the kernel's, the runtime's behind it."""
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


def _dma(schedule: Schedule, number: int, core: CoreSchedule) -> DmaRows:
    import numpy as np

    packets, transfers = core.packets, core.code.transfers
    fetches = fetched(schedule.overheads, number)
    width = schedule.chip.dma_engines
    queue_of = np.array([t.queue for t in transfers], dtype=np.int32)
    # The semaphore packet of each DMA engine follows its last data packet of the transfer.
    count = len(transfers)
    last = packets.semaphore_ns
    transfer = np.concatenate([
        np.full(len(fetches.engine), -1), packets.transfer, np.repeat(np.arange(count), width)
    ]).astype(np.int32)  # fmt: skip
    engine = np.concatenate([
        fetches.engine, packets.engine, np.tile(np.arange(width), count)
    ]).astype(np.int32)  # fmt: skip
    size = np.concatenate([
        fetches.bytes, packets.bytes, np.full(len(last), SEMAPHORE_PACKET_BYTES)
    ]).astype(np.int64)  # fmt: skip
    start = np.concatenate([fetches.start_ns, packets.start_ns, last])
    duration = np.concatenate([
        fetches.duration_ns,
        packets.end_ns - packets.start_ns,
        np.full(len(last), SEMAPHORE_PACKET_NS),
    ])  # fmt: skip
    queue = np.full(len(transfer), FETCH_QUEUE, dtype=np.int32)
    real = transfer >= 0
    queue[real] = queue_of[transfer[real]]
    place = np.argsort(start, kind="stable")
    start_ps = np.rint(start * 1000).astype(np.int64)[place]
    end_ps = start_ps + np.rint(duration * 1000).astype(np.int64)[place]
    return DmaRows(transfer[place], engine[place], queue[place], size[place], start_ps, end_ps)


def _semaphores(core: CoreSchedule, runtime: Around) -> Semaphores:
    """The kernel's: one update for each instruction that something waits for, 16 for each DMA that something waits for. And the
    runtime's."""
    import numpy as np

    code = core.code
    waited = np.zeros(len(code), dtype=bool)
    waited[code.waits] = True
    plain = np.flatnonzero(waited & (code.transfer < 0))
    dma = np.repeat(np.flatnonzero(waited & (code.transfer >= 0)), 16)
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
