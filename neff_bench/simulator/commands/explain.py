"""Says where the time of a program goes: the critical path, waits, what bounds the kernel, and which lines are hot."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from neff_bench.chips.engines import TITLES
from neff_bench.parsers.event_columns import field_of
from neff_bench.parsers.event_rows import Timeline
from neff_bench.parsers.formats.opcodes import OPCODES
from neff_bench.simulator.program import Program
from neff_bench.simulator.timing.compared import uncompared
from neff_bench.simulator.timing.schedule import Schedule
from neff_bench.simulator.timing.stated_error import not_comparable
from neff_bench.viewer.critical_path import BOUNDS, PathStep, path_totals


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


def explain(program: Program, schedule: Schedule, timeline: Timeline, path: Sequence[PathStep]) -> Explanation:
    """Return where the time of a schedule goes: bound, critical path, waits and source lines. `timeline`: of the schedule. `path`: its critical path."""
    by_line: defaultdict[str, float] = defaultdict(float)
    numbers = field_of(timeline.instructions, "id", -1)
    for step in path:
        core, index = _locate(schedule, int(numbers[step.index]))
        for line in _lines_of(program, int(schedule.cores[core].code.origin[index]), core):
            by_line[line] += step.end_ns - step.begin_ns
    busy = _busy_by_line(program, schedule)
    lines = sorted(
        ((line, by_line[line] / 1e3, busy.get(line, 0.0) / 1e3) for line in {*by_line, *busy}),
        key=lambda r: (-r[1], -r[2], r[0]),
    )
    totals = path_totals(path)
    keys = {title: key for key, title in BOUNDS.items()}
    waits = sorted(_waits(schedule).items(), key=lambda item: -item[1])
    return Explanation(
        total_us=schedule.total_ns / 1e3,
        fixed_us=schedule.fixed_ns / 1e3,
        bound_by=next(iter(totals), BOUNDS["latency"]),
        path_us={keys[what]: ns / 1e3 for what, ns in totals.items()},
        waits_us={key: ns / 1e3 for key, ns in waits},
        lines=lines,
        uncompared=uncompared(program, schedule),
        unlike=not_comparable(program, schedule),
        from_hlo=program.from_hlo,
    )


def _locate(schedule: Schedule, number: int) -> tuple[int, int]:
    """Return core and index of an instruction, from its number in the numbering of all cores."""
    core = max(c for c, first in enumerate(schedule.first) if first <= number)
    return core, number - schedule.first[core]


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
