"""Writes the document: rows, cases, style and scripts joined into one HTML file, and a case alone for a page that is open already."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import chain, count
from pathlib import Path
from typing import Any

import orjson

from neff_bench.parsers.event_rows import core_name
from neff_bench.terminal.answer import Grid
from neff_bench.terminal.text import plain, plain_lines
from neff_bench.viewer import operands
from neff_bench.viewer.advice import advise, sensitivity
from neff_bench.viewer.critical_path import PathStep, critical_path
from neff_bench.viewer.page import differences, panels
from neff_bench.viewer.page.encoding import pack
from neff_bench.viewer.page.events import DEPENDENCES, FAMILIES, WAITS, Events, Side, events_of
from neff_bench.viewer.page.html import BADGE, grid, heading, panel, text
from neff_bench.viewer.page.plots import roofline_svg
from neff_bench.viewer.page.totals import LineTotal, TrackTotal, line_totals, track_totals
from neff_bench.viewer.roofline import Point, Roofline
from neff_bench.viewer.sources import place_of

HERE = Path(__file__).parent
SCRIPTS = (
    "decode", "events", "colors", "lanes", "overlay", "canvas", "details", "memory", "source", "table", "rows", "input", "state", "main",
)  # fmt: skip
"""Joined in this order; each is one job."""


@dataclass(frozen=True)
class Case:
    """Holds what is shown of one row: its timeline, or those that are compared. `problem`: why there is no timeline. `points`: in the roofline;
    empty where it is not known."""

    name: str
    sides: tuple[Side, ...] = ()
    problem: str | None = None
    notes: tuple[str, ...] = ()
    roofs: Roofline | None = None
    points: tuple[Point, ...] = ()

    @property
    def simulated(self) -> bool:
        """Whether any of it is."""
        return any(side.timeline.simulated for side in self.sides)

    @cached_property
    def events(self) -> Events:
        """The events of all sides, as columns."""
        return events_of(self.sides)

    @cached_property
    def steps(self) -> Sequence[PathStep]:
        """The critical path of the one timeline; none of several."""
        return critical_path(self.sides[0].timeline) if len(self.sides) == 1 else ()

    @cached_property
    def tracks(self) -> Sequence[TrackTotal]:
        """What the engines and queues add up to."""
        return track_totals(self.events)

    @cached_property
    def totals(self) -> Sequence[LineTotal]:
        """What the source lines of each side add up to."""
        return [one for side in self.sides for one in line_totals(self.events, self.steps, side.letter)]


@dataclass(frozen=True)
class Part:
    """Holds what a page holds of one case. `head`: what the scripts need beside `columns` and `details`. `texts`: source files by their key in `head`."""

    head: dict[str, Any]
    columns: str
    details: str
    article: str
    texts: Mapping[str, str]


def document(
    title: str,
    cases: Iterable[Case],
    rows: Grid | None = None,
    links: Sequence[int | None] = (),
    rooflines: Sequence[tuple[Roofline, Sequence[Point]]] = (),
) -> bytes:
    """Return the page. `rows`: the table above the cases; `links`: for each of its lines the case that it opens; `rooflines`: of the rows. Of `cases` one at
    a time is kept."""
    heads: list[dict[str, Any]] = []
    bodies: list[str] = []
    blobs: list[str] = []
    texts: dict[str, str] = {}
    # Cases come one after the other and are packed at once: their timelines together would not fit into memory.
    for number, part in enumerate(map(_part_of, count(), cases)):
        heads.append(part.head)
        bodies.append(part.article)
        if "columns" in part.head:
            blobs += [_blob(f"columns-{number}", part.columns), _blob(f"details-{number}", part.details)]
        texts.update(part.texts)
    simulated = any(head["simulated"] for head in heads)
    constants = {
        "dependences": [one.name.lower() for one in DEPENDENCES],
        "operand": operands.PATTERN,
        "itemBytes": operands.ITEM_BYTES,
        "psum": [operands.PSUM_FROM, operands.PSUM_TO],
    }
    filled = {
        "title": text(title),
        "events": str(sum(head["count"] for head in heads)),
        "badge": BADGE if simulated else "",
        "style": _own("page.css"),
        "rows": f'<section id="rows">{heading(2, "Rows", simulated)}{_filter()}{grid(rows, links)}</section>'
        if rows is not None
        else "",
        "rooflines": _rooflines(rooflines, simulated),
        "choice": _choice([head["name"] for head in heads]),
        "legend": "".join(f'<li><i style="background:var(--{key})"></i>{name}</li>' for key, name in FAMILIES.items()),
        "cases": "".join(bodies),
        "data": _script_safe(orjson.dumps({"cases": heads, "texts": texts, **constants})),
        "blobs": "".join(blobs),
        "script": "\n".join(_own(f"{name}.js") for name in SCRIPTS),
    }
    # The template is filled in one pass, so that a name of a kernel that holds braces is not filled again.
    first, *pieces = _own("page.html").split("{{")
    whole = chain([first], *((filled[name], rest) for name, _, rest in (piece.partition("}}") for piece in pieces)))
    return b"".join(text.encode("utf-8", "backslashreplace") for text in whole)


def _part_of(number: int, case: Case) -> Part:
    """Return what stands in a page for its case of this number."""
    events, steps, totals = case.events, case.steps, case.totals
    packed = pack(events)
    texts = {
        _key(content): plain_lines(content.expandtabs(4)) for side in case.sides for content in side.texts.values()
    }
    head = _head(case, events, steps, totals, packed.columns)
    return Part(head, packed.data, packed.details, _article(number, case, events, steps, totals), texts)


def _rooflines(rooflines: Sequence[tuple[Roofline, Sequence[Point]]], simulated: bool) -> str:
    return "".join(
        panel(
            f"Roofline of the rows: {roofs.target}, LNC {roofs.lnc}", roofline_svg(roofs, points), simulated, "roofline"
        )
        for roofs, points in rooflines
    )


def _head(
    case: Case, events: Events, steps: Sequence[PathStep], totals: Sequence[LineTotal], columns: Sequence[Any]
) -> dict[str, Any]:
    """Return what the scripts need of a case beside its columns."""
    if not case.sides:
        return {"name": plain(case.name), "simulated": case.simulated, "count": 0}
    files: dict[tuple[str, str], int] = {}
    places = [
        (files.setdefault((letter, place.file), len(files)), place.number) if (place := place_of(line)) else None
        for letter, line in zip(events.letters, events.lines)
    ]
    texts = {(side.letter, name): _key(content) for side in case.sides for name, content in side.texts.items()}
    return {
        "name": plain(case.name),
        "simulated": case.simulated,
        "count": len(events),
        "columns": columns,
        "names": [plain(name) for name in events.names],
        "lines": [plain(line) for line in events.lines],
        "stacks": events.stacks,
        "places": places,
        "files": [(plain(f"{letter} {name}".strip()), texts.get((letter, name))) for letter, name in files],
        "totals": [tuple(one) for one in totals],
        "aligned": differences.aligned_lines(events, case.sides) if len(case.sides) > 1 else [],
        "path": [(int(events.instruction[step.index]), step.begin_ns, step.end_ns, step.for_packets) for step in steps],
        "waits": [number for number, name in enumerate(events.names) if name in WAITS],
        "tracks": [
            {
                "title": plain(track.title),
                "name": plain(track.name),
                "kind": track.kind,
                "family": track.family,
                "letter": track.letter,
                "core": track.core,
                "rows": track.rows,
            }
            for track in events.tracks
        ],
        "usage": list(_usage(case)),
    }


def _usage(case: Case) -> Iterator[dict[str, Any]]:
    """Yield the use of each memory over time, as (ns, fraction) one after the other."""
    for side in case.sides:
        found: dict[tuple[str, str], list[float]] = {}
        for row in sorted(side.timeline.usage, key=lambda row: row.timestamp):
            found.setdefault((core_name(row.subgraph), row.type), []).extend((row.timestamp, row.usage_avg))
        for (core, kind), values in sorted(found.items()):
            name = {"sb": "SBUF", "psum": "PSUM"}.get(kind, kind)
            title = plain(" ".join(filter(None, (side.letter, name, core))))
            yield {"title": title, "memory": name.lower(), "letter": side.letter, "core": core, "values": values}


def _article(number: int, case: Case, events: Events, steps: Sequence[PathStep], totals: Sequence[LineTotal]) -> str:
    return (
        f'<article class="case" id="case-{number}" aria-label="{text(case.name)}">{heading(2, case.name, case.simulated)}'
        + (f'<p class="problem">No timeline: {text(case.problem)}</p>' if case.problem else "")
        + "".join(_panels(case, events, steps, totals) if case.sides else (_notes(case),))
        + "</article>"
    )


def _notes(case: Case) -> str:
    return "".join(f'<p class="note">{text(note)}</p>' for note in case.notes)


def _panels(case: Case, events: Events, steps: Sequence[PathStep], totals: Sequence[LineTotal]) -> Iterator[str]:
    simulated, several = case.simulated, len(case.sides) > 1
    found = () if several else advise(case.sides[0].timeline, steps)
    yield panels.glance(case.sides, events, steps, found, simulated)
    yield _notes(case)
    yield '<div class="timeline"></div>'
    if several:
        letters = [side.letter for side in case.sides]
        yield panel("Difference by engine and queue", differences.by_track(events, letters), simulated, "tracks")
        yield panel("Difference by source line", differences.by_line(events, case.sides), simulated, "lines")
        yield panel("Difference by counter", differences.by_counter(case.sides), simulated, "counters")
        yield from _scripted(simulated)
        yield from _roofline(case)
    else:
        timeline = case.sides[0].timeline
        yield from _scripted(simulated)
        yield panel("Source lines and operations", panels.lines(events, totals, bool(steps)), simulated, "lines")
        yield panel("Advice", panels.advice(found), simulated, "advice")
        yield panel("Shares of engines and DMA", panels.shares(events, case.tracks), simulated, "shares")
        yield from _roofline(case)
        yield panel("Critical path", panels.path(steps), simulated, "path")
        constants = sensitivity(timeline)
        if constants:
            title = "Constants of the chip, each better by a factor of two"
            yield panel(title, panels.constants(constants), simulated, "constants")
        yield panel("Summary", panels.figures(timeline.summary), simulated, "figures")


def _scripted(simulated: bool) -> Iterator[str]:
    """Yield what the scripts fill."""
    yield panel("Source", '<div class="sources"></div>', simulated, "heat")
    yield panel("Events", '<div class="events"></div>', simulated, "list")


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


def _key(content: str) -> str:
    return sha256(content.encode("utf-8", "backslashreplace")).hexdigest()[:16]


def _own(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def _script_safe(data: bytes) -> str:
    """Return JSON that cannot end the script element it stands in."""
    return data.decode().replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
