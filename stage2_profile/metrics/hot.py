"""Says where the time goes inside a kernel: the slowest lines, each with the functions that it calls, and instructions of each engine."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from neff_bench.chips.engines import ENGINES as ENGINE_ORDER
from neff_bench.chips.engines import SHOWN, TITLES
from neff_bench.errors import WrongCall

if TYPE_CHECKING:
    from neff_bench.parsers.event_rows import InstructionRow

ENGINES = (*(TITLES[ENGINE_ORDER.index(engine)] for engine in SHOWN), "DMA")
NS_PER_US = 1000.0
CONTROL = "(around the kernel)"
FETCH = "(instruction fetch)"
WITH_LINE = "/./"
WAIT = "EVENT_SEMAPHORE"


@dataclass(frozen=True)
class Event:
    """One instruction, or one DMA packet. `duration_us`: its time at work, without `wait_us`. `where`: its innermost source line, else its HLO operation or tensor, else `(opcode)`.
    `CONTROL`: what the compiler and runtime add around a kernel. `FETCH`: packets that bring instructions to the engines. `callers`: the lines that called the innermost one, outermost first. `located`: a source line or an HLO operation made it."""

    engine: str
    where: str
    opcode: str
    operands: str
    core: str
    start_us: float
    duration_us: float
    wait_us: float
    callers: tuple[str, ...] = ()
    located: bool = False


@dataclass(frozen=True)
class Line:
    """The events of one engine that one line holds, itself or by the functions that it calls. `innermost`: the line that most of the time was spent on.
    `percent`: of the summed time of the engine."""

    engine: str
    where: str
    innermost: str
    opcodes: str
    count: int
    time_us: float
    percent: float
    wait_us: float


Entry = TypeVar("Entry", Event, Line)


def read_events(path: Path, neff: Path | None = None) -> list[Event]:
    """Return the events of a whole-profile JSON, of a Parquet profile, or of a trace with the names and lines of its NEFF. Raises `ParseError`."""
    from neff_bench.parsers.event_rows import core_name
    from neff_bench.parsers.event_tables import read_timeline
    from neff_bench.parsers.formats.opcodes import SETUP

    timeline = read_timeline(path, neff)
    waits = _waits(timeline.instructions, timeline.simulated)
    engines = {name.lower(): name for name in ENGINES}
    events = [
        Event(
            engine=engines[row.subgroup.lower()],
            where=row.nki_source_location or row.hlo_name or (CONTROL if row.opcode in SETUP else f"({row.opcode})"),
            opcode=row.opcode,
            operands=row.operands.strip() or row.bir_instruction_name,
            core=core_name(row.subgraph).removeprefix("core "),
            start_us=row.timestamp / NS_PER_US,
            # An EVENT_SEMAPHORE does nothing but wait: the active times of a row leave it out, too.
            duration_us=0.0 if row.opcode == WAIT else row.duration / NS_PER_US,
            wait_us=(wait_ns + (row.duration if row.opcode == WAIT else 0)) / NS_PER_US,
            callers=row.nki_call_stack,
            located=bool(row.nki_source_location or row.hlo_name),
        )
        for row, wait_ns in zip(timeline.instructions, waits, strict=True)
        if row.subgroup.lower() in engines
    ]
    events += [
        Event(
            engine="DMA",
            where=row.nki_source_location
            or (row.variable if row.variable != "unknown" else "")
            or row.queue_name
            or (FETCH if row.queue_type == "instruction" else f"({row.queue_type})"),
            opcode=row.queue_type,
            operands=f"{row.variable} {row.transfer_size} bytes".removeprefix("unknown "),
            core=core_name(row.subgraph).removeprefix("core "),
            start_us=row.timestamp / NS_PER_US,
            duration_us=row.duration / NS_PER_US,
            wait_us=0.0,
            callers=row.nki_call_stack,
            located=bool(row.nki_source_location),
        )
        for row in timeline.dma
    ]
    return events


def _waits(rows: Sequence[InstructionRow], simulated: bool) -> list[float]:
    """Return how long each instruction waited, in ns, as far as that is time of the kernel: not before the execution, and where a
    device's profiler counts waits, not before the engine was free."""
    free: dict[tuple[str, str], float] = {}
    begin = min((row.timestamp for row in rows), default=0)
    waits = [0.0] * len(rows)
    for at in sorted(range(len(rows)), key=lambda at: rows[at].timestamp):
        row = rows[at]
        engine = row.subgraph, row.subgroup
        before = begin if simulated else free.get(engine, begin)
        waits[at] = min(row.evt_wait_time, max(row.timestamp - before, 0))
        free[engine] = max(before, row.timestamp + row.duration)
    return waits


def parse_search(text: str | None) -> Callable[[Event], bool]:
    """Return `kernel.py:33` (plain text) or `/MATMUL.*bfloat16/` (regular expression) → which events. `/./` is what AWS's viewer
    has for everything with a source line. Raises `WrongCall`."""
    if not text:
        return lambda event: True
    if text == WITH_LINE:
        return lambda event: event.located
    if len(text) > 1 and text.startswith("/") and text.endswith("/"):
        try:
            pattern = re.compile(text[1:-1])
        except re.error as error:
            raise WrongCall(f"--search {text!r}: not a regular expression: {error}") from None
    else:
        # A line number ends where it ends: `kernel.py:3` is not `kernel.py:33`.
        pattern = re.compile(re.escape(text) + (r"(?!\d)" if text[-1].isdigit() else ""))
    return lambda event: any(
        pattern.search(part) for part in (event.where, *event.callers, event.opcode, event.operands)
    )


def hot_lines(events: Iterable[Event], chosen: Callable[[Event], bool], count: int) -> list[Line]:
    """Return the `count` slowest of each engine, slowest first, and after them its control instructions; percentages are of all
    events, chosen or not. An event counts on its innermost line and on each line that led there."""
    totals: dict[str, float] = defaultdict(float)
    groups: dict[tuple[str, str], list[Event]] = defaultdict(list)
    for event in events:
        totals[event.engine] += event.duration_us
        if chosen(event):
            for where in dict.fromkeys((event.where, *event.callers)):
                groups[event.engine, where].append(event)
    lines = [_line(engine, where, group, totals[engine]) for (engine, where), group in groups.items()]
    return _top(lines, lambda line: line.time_us, count, [line for line in lines if line.where == CONTROL])


def hot_instructions(events: Iterable[Event], chosen: Callable[[Event], bool], count: int) -> list[Event]:
    """Return the `count` longest events of each engine, longest first, without its control instructions."""
    return _top([event for event in events if chosen(event)], lambda event: event.duration_us, count)


def _line(engine: str, where: str, group: Sequence[Event], total_us: float) -> Line:
    time_us = sum(event.duration_us for event in group)
    innermost: dict[str, float] = defaultdict(float)
    for event in group:
        innermost[event.where] += event.duration_us
    return Line(
        engine=engine,
        where=where,
        innermost=max(innermost, key=innermost.__getitem__),
        opcodes="+".join(dict.fromkeys(event.opcode for event in group)),
        count=len(group),
        time_us=time_us,
        percent=100 * time_us / total_us if total_us else 0.0,
        wait_us=sum(event.wait_us for event in group),
    )


def _top(
    entries: Sequence[Entry], size: Callable[[Entry], float], count: int, last: Sequence[Entry] = ()
) -> list[Entry]:
    """Return the `count` largest of each engine that are not control, engines in the order of ENGINES, and `last` after its own."""
    chosen: list[Entry] = []
    for engine in ENGINES:
        mine = [entry for entry in entries if entry.engine == engine and entry.where != CONTROL]
        chosen += sorted(mine, key=size, reverse=True)[:count]
        chosen += [entry for entry in last if entry.engine == engine]
    return chosen
