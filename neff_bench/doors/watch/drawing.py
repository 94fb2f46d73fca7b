"""Draws the picture of a save, of two saves over each other, or with what each constant of the chip would change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from neff_bench.doors.estimation import Simulated
    from neff_bench.viewer.page.document import Case


class Figures(msgspec.Struct):
    """Holds what the looks at a case are compared by, in microseconds. `lines`: by place, the time on all engines. `texts`: the source files as they
    were, by the name that a place has for them."""

    busy_us: dict[str, float]
    path_us: dict[str, float]
    lines: dict[str, float]
    texts: Mapping[str, str]


class Drawing(msgspec.Struct, tag=True, frozen=True):
    """A picture that somebody asks for. `sides`: for each save, the older first, the recorded programs by case. `texts`: as in `Figures`, for each side
    by case. `constants`: with what each constant of the chip would change, which takes long."""

    title: str
    sides: list[dict[str, bytes]]
    texts: list[dict[str, Mapping[str, str]]]
    constants: bool = False


def draw(drawing: Drawing) -> bytes:
    """Return the page."""
    from neff_bench.doors.estimation import simulated
    from neff_bench.simulator.program import decode
    from neff_bench.viewer.page.document import document

    newest = drawing.sides[-1]
    cases = []
    for name in newest:
        there = [at for at, side in enumerate(drawing.sides) if name in side]
        timed = [simulated(decode(drawing.sides[at][name])) for at in there]
        cases.append(case_of(name, timed, [drawing.texts[at].get(name, {}) for at in there], drawing.constants))
    return document(drawing.title, cases)


def case_of(name: str, timed: Sequence[Simulated], texts: Sequence[Mapping[str, str]], constants: bool = False) -> Case:
    """Return a case of one side, or of several over each other."""
    from neff_bench.simulator.files.in_process import shown, with_sensitivities
    from neff_bench.viewer.page.cases import notes_of
    from neff_bench.viewer.page.document import Case
    from neff_bench.viewer.page.events import Side
    from neff_bench.viewer.roofline import point_of, roofline_of

    lines = [shown(name, one.program, one.schedule, one.timeline, one.keys) for one in timed]
    if constants:
        lines = [with_sensitivities(line, one.program, one.schedule) for line, one in zip(lines, timed, strict=True)]
    letters = "ABCDE"[: len(lines)] if len(lines) > 1 else ("",)
    points = [point for letter, line in zip(letters, lines) if (point := point_of(line, letter or name))]
    return Case(
        name,
        tuple(Side(letter, line, text) for letter, line, text in zip(letters, lines, texts, strict=True)),
        notes=notes_of(lines[-1]),
        roofs=roofline_of(lines[-1]),
        points=tuple(points),
    )


def figures_of(case: Case) -> Figures:
    """Return the figures of a case of one side."""
    from neff_bench.viewer.critical_path import path_totals

    events = case.events
    return Figures(
        {one.title: one.busy_ns / 1e3 for one in case.tracks},
        {what: ns / 1e3 for what, ns in path_totals(case.steps).items()},
        {events.lines[one.line]: one.own_ns / 1e3 for one in case.totals},
        case.sides[0].texts,
    )


def texts_of(timed: Simulated, folders: Sequence[Any]) -> Mapping[str, str]:
    """Return the source files that a program's lines name, as they are now."""
    from neff_bench.viewer.sources import read_sources

    return read_sources(filter(None, timed.program.sources), [*map(Path, folders)])
