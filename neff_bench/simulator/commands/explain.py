"""Says where the time of a program goes: the critical path, waits, what bounds the kernel, and which lines are hot.

The critical path is followed back from the last instruction: to the one that sent the signal for which an instruction started, else to the one
before it on its engine. What comes before the first work and after the last is no part of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import dropwhile
from typing import TYPE_CHECKING, Any

from neff_bench.chips.engines import TITLES
from neff_bench.parsers.formats.opcodes import NAMES, OPCODES, SETUP
from neff_bench.simulator.costs.transfers import start_ns
from neff_bench.simulator.program import ENGINES, Program
from neff_bench.simulator.timing.compared import uncompared
from neff_bench.simulator.timing.schedule import CoreSchedule, Schedule
from neff_bench.simulator.timing.stated_error import not_comparable
from neff_bench.viewer.critical_path import BOUNDS, IDLE, pieces

if TYPE_CHECKING:
    import numpy as np

WAIT_NS = 0.5
"""A shorter wait is 0 in a timeline, whose times are whole nanoseconds. The path that a page follows through it is the one told here."""


@dataclass(frozen=True)
class Segment:
    """One piece of the critical path. what: a key of the bounds; core, index: the instruction. Times in ns."""

    what: str
    core: int
    index: int
    start_ns: float
    end_ns: float


@dataclass(frozen=True)
class Explanation:
    """Times in microseconds. path_us: the critical path by what it is spent on, fixed_us aside.

    waits_us: (core, engine, whom it waited for) -> time. lines: (source, on the critical path, on all engines), longest first; a line holds
    what the functions that it calls did. uncompared: operations that hold an engine for more than a tenth of the time, and were never
    compared with hardware. unlike: why no kernel that was compared with hardware is like this one, empty where one is.
    from_hlo: the lines are operations of an HLO graph.
    """

    total_us: float
    fixed_us: float
    bound_by: str
    path_us: dict[str, float]
    waits_us: dict[tuple[int, str, str], float]
    lines: list[tuple[str, float, float]]
    uncompared: tuple[str, ...]
    unlike: str
    from_hlo: bool


def explain(program: Program, schedule: Schedule) -> Explanation:
    """Return where the time of a schedule goes: bound, critical path, waits and source lines. Times in microseconds."""
    segments = critical_path(schedule)
    path: defaultdict[str, float] = defaultdict(float)
    by_line: defaultdict[str, float] = defaultdict(float)
    for segment in segments:
        path[segment.what] += segment.end_ns - segment.start_ns
        for line in _lines_of(program, int(schedule.cores[segment.core].code.origin[segment.index]), segment.core):
            by_line[line] += segment.end_ns - segment.start_ns
    busy = _busy_by_line(program, schedule)
    lines = sorted(
        ((line, by_line[line] / 1e3, busy.get(line, 0.0) / 1e3) for line in {*by_line, *busy}),
        key=lambda r: (-r[1], -r[2], r[0]),
    )
    bound = max(path, key=lambda what: path[what]) if path else "latency"
    return Explanation(
        total_us=schedule.total_ns / 1e3,
        fixed_us=schedule.fixed_ns / 1e3,
        bound_by=BOUNDS[bound],
        path_us={what: ns / 1e3 for what, ns in _longest_first(path)},
        waits_us={key: ns / 1e3 for key, ns in _longest_first(_waits(schedule))},
        lines=lines,
        uncompared=uncompared(program, schedule),
        unlike=not_comparable(program, schedule),
        from_hlo=program.from_hlo,
    )


def critical_path(schedule: Schedule) -> list[Segment]:
    """Return the path from the last work of the kernel back to its first; consecutive segments join without a gap."""
    core = max(range(len(schedule.cores)), key=lambda c: schedule.cores[c].kernel_end_ns)
    timed = schedule.cores[core]
    if not len(timed.code):
        return []
    before = [_previous_on_engine(timed) for timed in schedule.cores]
    index = int(timed.end_ns.argmax(0))
    until = float(timed.end_ns[index])
    segments: list[Segment] = []
    by_signal = True
    while index >= 0:
        timed = schedule.cores[core]
        segments += reversed(_split(schedule, core, index, until, by_signal))
        until = float(timed.start_ns[index])
        blocker = int(timed.blocker[index])
        by_signal = blocker >= 0 and (timed.wait_ns[index] > WAIT_NS or before[core][index] < 0)
        if by_signal:
            core, index = _locate(schedule, blocker)
            if schedule.cores[core].start_ns[index] >= until:
                # The other core of a meeting: both start together, its own past is the path.
                blocker = int(schedule.cores[core].blocker[index])
                by_signal = blocker >= 0
                if not by_signal:
                    index = int(before[core][index])
                else:
                    core, index = _locate(schedule, blocker)
        else:
            index = int(before[core][index])
    return _from_work(schedule, _from_work(schedule, segments)[::-1])[::-1]


def _from_work(schedule: Schedule, segments: Sequence[Segment]) -> list[Segment]:
    """Return the segments from the first on that works or moves something."""

    def waits(segment: Segment) -> bool:
        code = schedule.cores[segment.core].code
        return code.transfer[segment.index] < 0 and NAMES[int(code.opcode[segment.index])] in SETUP

    return [*dropwhile(waits, segments)]


def _split(schedule: Schedule, core: int, index: int, until: float, by_signal: bool) -> list[Segment]:
    """Return the time of one instruction until another begins by what it is spent on."""
    marks = _marks(schedule, core, index, by_signal)
    return [Segment(what, core, index, begin, end) for what, begin, end in pieces(marks, until)]


def _marks(schedule: Schedule, core: int, index: int, by_signal: bool) -> Sequence[tuple[str, float]]:
    """Return from when on one instruction is on the path for what. `by_signal`: what follows waited for its result, else only for its engine."""
    timed, chip = schedule.cores[core], schedule.chip
    code = timed.code
    start, end, done = (float(column[index]) for column in (timed.start_ns, timed.end_ns, timed.done_ns))
    transfer = int(code.transfer[index])
    if transfer >= 0 and not by_signal:
        return (("issue", start),)
    if transfer >= 0:
        first, moved = start + start_ns(code.transfers[transfer], chip), done - chip.dma_done_ns(schedule.moving_cores)
        return (("latency", start), (timed.pace(transfer), first), ("latency", moved))
    if NAMES[int(code.opcode[index])] in IDLE:
        return (("latency", start),)
    engine = ENGINES[int(code.engine[index])]
    return ((engine, start), ("latency", end)) if by_signal else ((engine, start),)


def _previous_on_engine(timed: CoreSchedule) -> np.ndarray:
    """Return for each instruction the one that its engine ran before, -1 for the first."""
    import numpy as np

    before = np.full(len(timed.code), -1, dtype=np.int64)
    for engine in range(len(ENGINES)):
        mine = np.flatnonzero(timed.code.engine == engine)
        mine = mine[np.argsort(timed.start_ns[mine], kind="stable")]
        before[mine[1:]] = mine[:-1]
    return before


def _locate(schedule: Schedule, number: int) -> tuple[int, int]:
    core = max(c for c, first in enumerate(schedule.first) if first <= number)
    return core, number - schedule.first[core]


def _longest_first(times: dict[Any, float]) -> list[tuple[Any, float]]:
    return sorted(times.items(), key=lambda item: -item[1])


def _waits(schedule: Schedule) -> dict[tuple[int, str, str], float]:
    waits: defaultdict[tuple[int, str, str], float] = defaultdict(float)
    for core, timed in enumerate(schedule.cores):
        code = timed.code
        for engine, wait, blocker in zip(
            code.engine.tolist(), timed.wait_ns.tolist(), timed.blocker.tolist(), strict=True
        ):
            if blocker >= 0 and wait > 0:
                waits[core, TITLES[engine], _who(schedule, core, blocker)] += wait
    return waits


def _who(schedule: Schedule, core: int, number: int) -> str:
    other, index = _locate(schedule, number)
    code = schedule.cores[other].code
    name = TITLES[int(code.engine[index])]
    if code.transfer[index] >= 0:
        name = f"DMA issued by {name}"
    return name if other == core else f"{name} of core {other}"


def _lines_of(program: Program, origin: int, core: int) -> Iterable[str]:
    """Return the line of an instruction, and each line that led there, once."""
    source = program.cores[core][origin].source
    return dict.fromkeys((program.sources[source], *program.call_stack(source)))


def _busy_by_line(program: Program, schedule: Schedule) -> dict[str, float]:
    """Return the engine time of each line: what its instructions hold their engines for."""
    busy: defaultdict[str, float] = defaultdict(float)
    for core, timed in enumerate(schedule.cores):
        code = timed.code
        duration = (timed.end_ns - timed.start_ns).tolist()
        for origin, opcode, ns in zip(code.origin.tolist(), code.opcode.tolist(), duration, strict=True):
            if opcode != OPCODES["EVENT_SEMAPHORE"]:
                for line in _lines_of(program, origin, core):
                    busy[line] += ns
    return busy
