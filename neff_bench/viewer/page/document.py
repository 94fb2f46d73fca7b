"""The document: rows, cases, style and scripts joined into one HTML file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson

from neff_bench.terminal.answer import Grid
from neff_bench.terminal.text import plain
from neff_bench.viewer.advice import advise, sensitivity
from neff_bench.viewer.critical_path import PathStep, critical_path
from neff_bench.viewer.page import differences, panels
from neff_bench.viewer.page.encoding import pack
from neff_bench.viewer.page.events import DEPENDENCES, WAITS, Events, Side, events_of
from neff_bench.viewer.page.html import BADGE, grid, heading, panel, text
from neff_bench.viewer.page.plots import roofline_svg
from neff_bench.viewer.roofline import Point, Roofline

HERE = Path(__file__).parent
SCRIPTS = ("decode", "events", "colors", "lanes", "overlay", "canvas", "details", "source", "rows", "input", "main")
"""Joined in this order; each is one job."""


@dataclass(frozen=True)
class Case:
    """What is shown of one row: its timeline, or the two that are compared. `problem`: why there is no timeline.

    `texts`: source files by the name that the profile has for them. `points`: in the roofline; empty where it is not known.
    """

    name: str
    sides: tuple[Side, ...] = ()
    problem: str | None = None
    notes: tuple[str, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    roofs: Roofline | None = None
    points: tuple[Point, ...] = ()

    @property
    def simulated(self) -> bool:
        """Whether any of it is."""
        return any(side.timeline.simulated for side in self.sides)

    @cached_property
    def events(self) -> Events:
        """Of all sides, as columns."""
        return events_of(self.sides)

    @cached_property
    def steps(self) -> Sequence[PathStep]:
        """The critical path of the one timeline; none of several."""
        return critical_path(self.sides[0].timeline) if len(self.sides) == 1 else ()


def document(
    title: str,
    cases: Iterable[Case],
    rows: Grid | None = None,
    links: Sequence[int | None] = (),
    rooflines: Sequence[tuple[Roofline, Sequence[Point]]] = (),
) -> bytes:
    """The page. `rows`: the table above the cases; `links`: for each of its lines the case that it opens; `rooflines`: of the rows. Of `cases` one at a
    time is kept."""
    names: list[str] = []
    heads: list[dict[str, Any]] = []
    bodies: list[str] = []
    blobs: list[str] = []
    for number, case in enumerate(cases):
        events, steps = case.events, case.steps
        packed = pack(events)
        names.append(case.name)
        heads.append(_head(case, events, steps, packed.columns))
        bodies.append(_article(number, case, events, steps))
        blobs += [_blob(f"columns-{number}", packed.data), _blob(f"details-{number}", packed.details)]
    simulated = any(head["simulated"] for head in heads)
    filled = {
        "title": text(title),
        "events": str(sum(head["count"] for head in heads)),
        "badge": BADGE if simulated else "",
        "style": _own("page.css"),
        "rows": _rows(rows, links, rooflines, simulated) if rows is not None else "",
        "choice": _choice(names),
        "cases": "".join(bodies),
        "data": _script_safe(orjson.dumps({"cases": heads, "dependences": [one.name.lower() for one in DEPENDENCES]})),
        "blobs": "".join(blobs),
        "script": "\n".join(_own(f"{name}.js") for name in SCRIPTS),
    }
    first, *pieces = _own("page.html").split("{{")
    whole = first + "".join(filled[name] + rest for name, _, rest in (piece.partition("}}") for piece in pieces))
    return whole.encode("utf-8", "backslashreplace")


def _rows(
    rows: Grid, links: Sequence[int | None], rooflines: Sequence[tuple[Roofline, Sequence[Point]]], simulated: bool
) -> str:
    plots = "".join(
        panel(
            f"Roofline of the rows: {roofs.target}, LNC {roofs.lnc}", roofline_svg(roofs, points), simulated, "roofline"
        )
        for roofs, points in rooflines
    )
    return f'<section id="rows">{heading(2, "Rows", simulated)}{_filter()}{grid(rows, links)}{plots}</section>'


def _head(case: Case, events: Events, steps: Sequence[PathStep], columns: Sequence[Any]) -> dict[str, Any]:
    """What the scripts need of a case beside its columns."""
    return {
        "simulated": case.simulated,
        "count": len(events),
        "columns": columns,
        "names": [plain(name) for name in events.names],
        "lines": [plain(line) for line in events.lines],
        "stacks": events.stacks,
        "path": [(int(events.instruction[step.index]), step.begin_ns, step.end_ns) for step in steps],
        "waits": [number for number, name in enumerate(events.names) if name in WAITS],
        "tracks": [
            {
                "title": plain(track.title),
                "kind": track.kind,
                "letter": track.letter,
                "core": track.core,
                "rows": track.rows,
            }
            for track in events.tracks
        ],
        "usage": list(_usage(case)),
    }


def _usage(case: Case) -> Iterator[dict[str, Any]]:
    """The use of each memory over time, as (ns, fraction) one after the other."""
    for side in case.sides:
        found: dict[tuple[str, str], list[float]] = {}
        for row in sorted(side.timeline.usage, key=lambda row: row.timestamp):
            found.setdefault((row.subgraph, row.type), []).extend((row.timestamp, row.usage_avg))
        for (core, kind), values in sorted(found.items()):
            name = {"sb": "SBUF", "psum": "PSUM"}.get(kind, kind)
            yield {"title": plain(" ".join(filter(None, (side.letter, name, core)))), "values": values}


def _article(number: int, case: Case, events: Events, steps: Sequence[PathStep]) -> str:
    return (
        f'<article class="case" id="case-{number}" aria-label="{text(case.name)}">{heading(2, case.name, case.simulated)}'
        + "".join(f"<p>{text(note)}</p>" for note in case.notes)
        + (f'<p class="problem">No timeline: {text(case.problem)}</p>' if case.problem else "")
        + "".join(_panels(case, events, steps) if case.sides else ())
        + "</article>"
    )


def _panels(case: Case, events: Events, steps: Sequence[PathStep]) -> Iterator[str]:
    simulated = case.simulated
    yield '<div class="timeline"></div>'
    if len(case.sides) == 2:
        a, b = (side.timeline.summary for side in case.sides)
        yield panel("Difference by engine and queue", differences.by_track(events), simulated, "tracks")
        yield panel("Difference by source line", differences.by_line(events), simulated, "lines")
        yield panel("Difference by counter", differences.by_counter(a, b), simulated, "counters")
        yield from _roofline(case)
    else:
        timeline = case.sides[0].timeline
        yield panel("Advice", panels.advice(advise(timeline, steps)), simulated, "advice")
        yield panel("Shares of engines and DMA", panels.shares(events), simulated, "shares")
        yield from _roofline(case)
        yield panel("Critical path", panels.path(steps), simulated, "path")
        constants = sensitivity(timeline)
        if constants:
            yield panel(
                "Constants of the chip, each better by a factor of two",
                panels.constants(constants),
                simulated,
                "constants",
            )
        yield panel("Source lines and operations", panels.lines(events, steps, case.texts), simulated, "heat")
        yield panel("Summary", panels.figures(timeline.summary), simulated, "figures")


def _roofline(case: Case) -> Iterator[str]:
    if case.roofs is not None and case.points:
        yield panel("Roofline", roofline_svg(case.roofs, case.points), case.simulated, "roofline")


def _choice(names: Sequence[str]) -> str:
    options = "".join(f"<option value={number}>{text(name)}</option>" for number, name in enumerate(names))
    return f'<label>Case <select id="case">{options}</select></label>' if len(names) > 1 else ""


def _filter() -> str:
    return '<p class="controls"><input id="filter" type="search" placeholder="filter: mlp fp32 failed" aria-label="Filter rows"> <span id="count" class="dim" role="status"></span></p>'


def _blob(name: str, data: str) -> str:
    return f'<script type="application/octet-stream" id="{name}">{data}</script>\n'


def _own(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def _script_safe(data: bytes) -> str:
    """JSON that cannot end the script element it stands in."""
    return data.decode().replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
