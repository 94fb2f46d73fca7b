"""Writes hot source lines and instructions as an answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from neff_bench.stage2_profile.metrics.hot import CONTROL, Event, Line
from neff_bench.stage2_profile.metrics.rows import Row, rounded
from neff_bench.terminal.answer import Answer, Column, Grid

FIELDS = "case kind engine where innermost opcode count core start_us time_us percent_of_engine wait_us operands source model".split()
OPERANDS_MAX = 60
_SIGNALS = re.compile(r"\$?[SE]\[\d+\]( \(\w+\))?[^\s\[]*")
SOURCE_LINE = re.compile(r":\d+$")
LINE_COLUMNS = (
    Column("engine"),
    Column("source line", wraps=True),
    Column("innermost", wraps=True),
    Column("instructions", wraps=True),
    Column("count", right=True),
    Column("us", right=True),
    Column("% of engine", right=True),
    Column("waits us", right=True),
)
EVENT_COLUMNS = (
    Column("engine"),
    Column("core"),
    Column("start us", right=True),
    Column("us", right=True),
    Column("waits us", right=True),
    Column("instruction"),
    Column("source line", wraps=True),
    Column("operands", wraps=True),
)


@dataclass(frozen=True)
class Hot:
    """The hot spots of one row; `problem` says why there are none."""

    row: Row
    lines: Sequence[Line] = ()
    events: Sequence[Event] = ()
    problem: str | None = None


def answer(hots: Sequence[Hot], search: str | None) -> Answer:
    """Return the hot lines and instructions of all rows."""
    records = [record for hot in hots for record in _records(hot)]
    grids = [grid for hot in hots for grid in _grids(hot, search)]
    return Answer(records, FIELDS, grids)


def _grids(hot: Hot, search: str | None) -> list[Grid]:
    if hot.problem is not None:
        return [Grid((), [], [f"failed: {hot.row.case}: {hot.problem}"])]
    if not hot.lines:
        return [Grid((), [], [f"{hot.row.case}: nothing matches {search!r}"])]
    lines = [
        [
            line.engine,
            short(line.where),
            short(line.innermost) if line.innermost != line.where else "",
            line.opcodes if line.where != CONTROL else "",
            str(line.count),
            f"{line.time_us:.3f}",
            f"{line.percent:.1f}",
            f"{line.wait_us:.3f}",
        ]
        for line in hot.lines
    ]
    events = [
        [
            event.engine,
            event.core,
            f"{event.start_us:.3f}",
            f"{event.duration_us:.3f}",
            f"{event.wait_us:.3f}",
            event.opcode,
            " > ".join(short(where) for where in (*event.callers, event.where)),
            cut(event.operands),
        ]
        for event in hot.events
    ]
    # Each note stands only where the tables have what it explains.
    notes = []
    if any(line.innermost != line.where for line in hot.lines):
        notes.append(
            "A line counts what the functions that it calls do. Beside it stands the line in them that takes the most of its time."
        )
    notes += [
        "us: time at work; % of engine: its share of all time at work of this engine; waits us: time before it, in which the engine had nothing to do. "
        "These are sums over cores and over instructions, of DMA over packets; two that work at the same time count twice, so a sum can be larger than the total time.",
    ]
    if any(line.where != CONTROL and not SOURCE_LINE.search(line.where) for line in hot.lines):
        notes.append(
            "In place of a source line that is not known stands what is: an operation of the HLO, the tensor or the queue of a DMA, or (OPCODE)."
        )
    if hot.row.source != "simulated" and not any(SOURCE_LINE.search(line.where) for line in hot.lines):
        notes.append(
            "The profile names no source lines. They come from the NEFF, beside its NTFF; AWS's compiler writes them into the NEFF with "
            "NEURON_FRAMEWORK_DEBUG=1 and NKI_DEBUG_INFO=1, which generate-neffs --debug-info sets."
        )
    if any(line.where == CONTROL for line in hot.lines):
        notes.append(f"{CONTROL}: what the compiler and the runtime add; no line of the kernel makes it.")
    if hot.row.source == "simulated":
        notes.append("What the kernel waits for, and what to change: neff-bench explain STORE.")
        notes.append(f"SIMULATED by {hot.row.tool}, model {hot.row.model}." if hot.row.model else "SIMULATED.")
    return [
        Grid(LINE_COLUMNS, _once(lines), title=f"{hot.row.case}: slowest source lines"),
        Grid(EVENT_COLUMNS, _once(events), notes, title=f"{hot.row.case}: slowest instructions"),
    ]


def _records(hot: Hot) -> list[dict[str, Any]]:
    shared = {"case": hot.row.case, "source": hot.row.source, "model": hot.row.model}
    records: list[dict[str, Any]] = [
        {**vars(line), "kind": "line", "opcode": line.opcodes, "percent_of_engine": line.percent} for line in hot.lines
    ]
    for event in hot.events:
        where = event.callers[0] if event.callers else event.where
        one = {
            "kind": "instruction",
            "where": where,
            "innermost": event.where,
            "count": 1,
            "time_us": event.duration_us,
        }
        records.append({**vars(event), **one})
    return [{name: rounded(name, (shared | record).get(name)) for name in FIELDS} for record in records]


def short(where: str) -> str:
    """Return the file and its folder, which is what tells sources apart."""
    return "/".join(where.split("/")[-2:])


def cut(operands: str) -> str:
    """Cut a text to as many whole words as fit; of an instruction that has more to say, not what it waits for and signals."""
    if len(operands) <= OPERANDS_MAX:
        return operands
    operands = _SIGNALS.sub("", operands).strip() or operands
    if len(operands) <= OPERANDS_MAX:
        return operands
    whole = operands[:OPERANDS_MAX].rpartition(" ")[0] or operands[:OPERANDS_MAX]
    return f"{whole} ..."


def _once(lines: list[list[str]]) -> list[list[str]]:
    """Return the engine's name on its first line only."""
    before = ["", *(line[0] for line in lines)]
    return [["" if line[0] == last else line[0], *line[1:]] for last, line in zip(before, lines)]
