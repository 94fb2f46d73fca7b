"""The schedule as rows of a trace: every instruction with its place in the engine's stream, every DMA packet and every
semaphore update, in whole picoseconds. NTFF files and the profile JSON are made of these rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from neff_bench.simulator.costs.transfers import SEMAPHORE_PACKET_BYTES, SEMAPHORE_PACKET_NS, Transfer
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
    """The fetches, the packets of each run, and the semaphore packet of each DMA engine, which follows its last data packet of the
    transfer."""
    import numpy as np

    runs, transfers = core.runs, core.code.transfers
    fetches = fetched(schedule.overheads, number)
    run = np.repeat(np.arange(len(runs.count)), runs.count)
    spacing = runs.spacing_ns[run]
    begin = runs.start_ns[run] + (np.arange(len(run)) - (np.cumsum(runs.count) - runs.count)[run]) * spacing
    transfer_of, engine_of = (
        np.repeat(np.arange(len(transfers)), runs.width),
        np.tile(np.arange(runs.width), len(transfers)),
    )
    transfer = np.concatenate([np.full(len(fetches.engine), -1), transfer_of[run], transfer_of]).astype(np.int32)
    bumps = runs.start_ns + runs.count * runs.spacing_ns + schedule.chip.dma_semaphore_gap_ns
    start = np.concatenate([fetches.start_ns, begin, bumps])
    duration = np.concatenate([
        fetches.duration_ns, begin + spacing - begin, np.full(len(transfer_of), SEMAPHORE_PACKET_NS)
    ])  # fmt: skip
    place = np.argsort(start, kind="stable")
    start_ps = np.rint(start * 1000).astype(np.int64)[place]
    return DmaRows(
        transfer[place],
        np.concatenate([fetches.engine, engine_of[run], engine_of]).astype(np.int32)[place],
        # The last one is that of the fetches, whose transfer is -1.
        np.array([*(t.queue for t in transfers), FETCH_QUEUE], dtype=np.int32)[transfer[place]],
        np.concatenate([
            fetches.bytes, _packet_bytes(transfers, runs), np.full(len(transfer_of), SEMAPHORE_PACKET_BYTES)
        ])[place],
        start_ps,
        start_ps + np.rint(duration * 1000).astype(np.int64)[place],
    )  # fmt: skip


def _packet_bytes(transfers: Sequence[Transfer], runs: Runs) -> np.ndarray:
    """Of each packet, run after run. The last packet of a transfer carries what is left."""
    import numpy as np

    packets = runs.count.reshape(len(transfers), runs.width).sum(1)
    size = np.repeat(np.array([t.packet_bytes for t in transfers], dtype=np.int64), packets)
    left = np.array([t.bytes - (t.packets - 1) * t.packet_bytes for t in transfers], dtype=np.int64)
    some = packets > 0
    size[np.cumsum(packets)[some] - 1] = left[some]
    return size


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
