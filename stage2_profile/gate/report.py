"""Says what was judged as an answer: that of `gate` and of `history check`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from neff_bench.stage2_profile.compare.verdict import Judged, counted, summary
from neff_bench.stage2_profile.gate.lines import Change
from neff_bench.terminal.answer import Answer, Column, Grid, many

FIELDS = "label metric before after change_percent verdict fails why case lines".split()
COLUMNS = (
    Column("case", wraps=True),
    Column("metric"),
    Column("before", right=True),
    Column("after", right=True),
    Column("change", right=True),
    Column("verdict", wraps=True),
)
LINE_COLUMNS = (
    Column("case", wraps=True),
    Column("before", wraps=True),
    Column("after", wraps=True),
)
MAX_LINES = 12
"""The most lines of one case, for people; JSON has all."""

Lines = Mapping[str, "Sequence[Change] | str"]
"""Case -> its changed source lines, or why they are not known."""


def answer(judged: Sequence[Judged], lines: Lines, new: Sequence[str], notes: Sequence[str], title: str) -> Answer:
    """Return the answer of the gate. `new`: cases that only the newer side has. `notes`: what must be said first."""
    told = [each for each in judged if each.verdict != "same"]
    numbers = [counted(judged)] if judged else []
    said = [
        *notes,
        *([summary(judged)] if judged or not new else ()),
        *numbers,
        *([f"NEW, with nothing to compare with: {many(len(new), 'case')}: {', '.join(new)}."] if new else ()),
    ]
    grids = [Grid(COLUMNS, [_line(each) for each in told], said, title)]
    grids += (
        [Grid(LINE_COLUMNS, source, [], "Source lines whose instructions changed")]
        if (source := _source(told, lines))
        else []
    )
    unknown = [f"{case}: source lines: {why}" for case, why in lines.items() if isinstance(why, str)]
    if unknown:
        grids.append(Grid((), [], unknown))
    return Answer([_record(each, lines) for each in judged], FIELDS, grids)


def _line(judged: Judged) -> list[str]:
    change = judged.change_percent
    verdict = f"{judged.verdict} ({judged.why})" if judged.why else judged.verdict
    return [
        judged.label,
        judged.metric,
        _shown(judged.before),
        _shown(judged.after),
        "-" if change is None else f"{change:+.2f} %",
        verdict,
    ]


def _source(told: Sequence[Judged], lines: Lines) -> list[list[str]]:
    found = []
    for judged in {each.case: each for each in told}.values():
        changes = lines.get(judged.case, ())
        if isinstance(changes, str):
            continue
        labels = [judged.label, *[""] * MAX_LINES]
        found += [
            [label, _made(change.file, change.before, change.was), _made(change.file, change.after, change.now)]
            for label, change in zip(labels, changes[:MAX_LINES])
        ]
        if len(changes) > MAX_LINES:
            found.append(["", f"and {len(changes) - MAX_LINES} more lines", ""])
    return found


def _made(file: str, line: int | None, what: str) -> str:
    return what if line is None else f"{file}:{line}: {what}"


def _record(judged: Judged, lines: Lines) -> dict[str, Any]:
    changes = lines.get(judged.case, ())
    return {
        **{name: getattr(judged, name) for name in FIELDS if name != "lines"},
        "lines": [] if isinstance(changes, str) else [vars(change) for change in changes],
    }


def _shown(value: float | str | None) -> str:
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() else f"{value:.3f}"
    return "-" if value is None else str(value)
