"""The schedule as rows of a trace: every instruction with its place in the engine's stream, every DMA packet and every
semaphore update, in whole picoseconds. NTFF files and the profile JSON are made of these rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from neff_bench.chips.overheads import Control
from neff_bench.parsers.formats.opcodes import OPCODES
from neff_bench.simulator.costs.transfers import SEMAPHORE_PACKET_BYTES, SEMAPHORE_PACKET_NS
from neff_bench.simulator.timing.schedule import CoreSchedule, Schedule

if TYPE_CHECKING:
    import numpy as np

_CLEARED = ((3, 53), (54, 104), (105, 155), (156, 206), (207, 255))
"""By engine: first and last of the semaphores that its EVENT_SEMAPHORE_RANGE_CLEAR sets to zero (inf2 and trn2 traces)."""
_MEETING, _MEETING_VALUES = 2, 9
"""The semaphore at which the engines meet around a kernel, and its values: 1 to 8, then 0 (inf2 and trn2 traces)."""

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
    return CoreTimeline(
        _instructions(schedule, number, core),
        _dma(schedule, number, core),
        _semaphores(schedule, number, core),
        tuple((round(a * 1000), min(round(b * 1000), end_ps)) for a, b in core.warm),
        end_ps,
    )


def _instructions(schedule: Schedule, number: int, core: CoreSchedule) -> Instructions:
    import numpy as np

    parts: list[tuple[np.ndarray, ...]] = []
    for engine in range(5):
        before = schedule.overheads.preamble[number][engine]
        own = np.flatnonzero(core.code.engine == engine)
        own = own[np.argsort(core.start_ns[own], kind="stable")]
        behind = _behind(schedule, number, engine, core)
        rows = len(before) + len(own) + len(behind)
        parts.append((
            np.full(rows, engine, dtype=np.uint8),
            np.concatenate([_opcodes(before), core.code.opcode[own], _opcodes(behind)]).astype(np.uint8),
            np.concatenate([np.full(len(before), -1), own, np.full(len(behind), -1)]).astype(np.int32),
            np.arange(rows, dtype=np.int32),
            np.concatenate([_field(before, "start_ns"), core.start_ns[own], _field(behind, "start_ns")]),
            np.concatenate([_field(before, "duration_ns"), (core.end_ns - core.start_ns)[own], _field(behind, "duration_ns")]),
            np.concatenate([np.zeros(len(before)), core.wait_ns[own], np.zeros(len(behind))]),
        ))  # fmt: skip
    engine_, opcode, index, pc, start, duration, wait = (np.concatenate(column) for column in zip(*parts, strict=True))
    start_ps = np.rint(start * 1000).astype(np.int64)
    return Instructions(
        engine_, opcode, index, pc, start_ps, start_ps + np.rint(duration * 1000).astype(np.int64), wait
    )


def _behind(schedule: Schedule, number: int, engine: int, core: CoreSchedule) -> tuple[Control, ...]:
    """The runtime's instructions after the engine's own work. An engine enters the postamble when the kernel has ended on the
    core."""
    own = core.end_ns[core.code.engine == engine]
    end = core.kernel_end_ns
    leaving = _leaving(schedule, number, engine, float(own.max()) if len(own) else None, end)
    after = schedule.overheads.postamble[number][engine]
    return (*leaving, *(replace(control, start_ns=end + control.start_ns) for control in after))


def _leaving(
    schedule: Schedule, core: int, engine: int, own_end_ns: float | None, kernel_end_ns: float
) -> Iterator[Control]:
    """What the engine does from the end of its own work (None: it has none) until the postamble."""
    overheads = schedule.overheads
    if not overheads.leaving:
        return
    since = overheads.kernel_start_ns(core, engine) if own_end_ns is None else own_end_ns
    until = kernel_end_ns + overheads.postamble[core][engine][0].start_ns
    controls = overheads.leaving[core][engine]
    for control in controls:
        start = since + control.start_ns
        lasts = max(until - start, 0.0) if control is controls[-1] else control.duration_ns
        yield Control(control.opcode, start, lasts)


def _field(controls: tuple[Control, ...], name: str) -> np.ndarray:
    import numpy as np

    return np.array([getattr(control, name) for control in controls], dtype=float)


def _opcodes(controls: tuple[Control, ...]) -> np.ndarray:
    import numpy as np

    return np.array([OPCODES[control.opcode] for control in controls], dtype=float)


def _dma(schedule: Schedule, number: int, core: CoreSchedule) -> DmaRows:
    import numpy as np

    packets, transfers = core.packets, core.code.transfers
    fetches = schedule.overheads.fetches[number]
    width = schedule.chip.dma_engines
    queue_of = np.array([t.queue for t in transfers], dtype=np.int32)
    # The semaphore packet of each DMA engine follows its last data packet of the transfer.
    count = len(transfers)
    last = packets.semaphore_ns
    transfer = np.concatenate([
        np.full(len(fetches), -1), packets.transfer, np.repeat(np.arange(count), width)
    ]).astype(np.int32)  # fmt: skip
    engine = np.concatenate([
        np.array([f.engine for f in fetches], dtype=np.int32), packets.engine, np.tile(np.arange(width), count)
    ]).astype(np.int32)  # fmt: skip
    size = np.concatenate([
        np.array([f.bytes for f in fetches], dtype=np.int64), packets.bytes, np.full(len(last), SEMAPHORE_PACKET_BYTES)
    ]).astype(np.int64)  # fmt: skip
    start = np.concatenate([np.array([f.start_ns for f in fetches], dtype=float), packets.start_ns, last])
    duration = np.concatenate([
        np.array([f.duration_ns for f in fetches], dtype=float),
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


def _semaphores(schedule: Schedule, number: int, core: CoreSchedule) -> Semaphores:
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
    ours = np.array(list(_runtime_updates(schedule, number, core)), dtype=float).reshape(-1, 4)
    all_times = np.concatenate([time, np.rint(ours[:, 3] * 1000).astype(np.int64)])
    place = np.argsort(all_times, kind="stable")
    return Semaphores(
        np.concatenate([semaphore, ours[:, 0].astype(np.int32)])[place],
        np.concatenate([value, ours[:, 1].astype(np.int64)])[place],
        np.concatenate([engine, ours[:, 2].astype(np.uint8)])[place],
        all_times[place],
    )


def _runtime_updates(schedule: Schedule, number: int, core: CoreSchedule) -> Iterator[tuple[int, int, int, float]]:
    """(semaphore, value, engine, time in ns). Each EVENT_SEMAPHORE around the kernel raises semaphore 2, at whose eighth value all
    engines have met; it begins anew then. Each engine clears its share of the others at the end."""
    met = []
    for engine, (first, last) in enumerate(_CLEARED):
        for control in (*schedule.overheads.preamble[number][engine], *_behind(schedule, number, engine, core)):
            if control.opcode == "EVENT_SEMAPHORE":
                met.append((control.start_ns + control.duration_ns, engine))
            elif control.opcode == "EVENT_SEMAPHORE_RANGE_CLEAR":
                step = control.duration_ns / (last + 1 - first)
                for semaphore in range(first, last + 1):
                    yield semaphore, 0, engine, control.start_ns + step * (semaphore + 1 - first)
    for count, (time, engine) in enumerate(sorted(met), start=1):
        yield _MEETING, count % _MEETING_VALUES, engine, time
