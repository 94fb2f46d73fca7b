"""The answer of the gate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from neff_bench.stage2_profile.gate.judge import VERDICTS, Finding
from neff_bench.stage2_profile.gate.lines import Change
from neff_bench.terminal.answer import Answer, Column, Grid

FIELDS = "kernel shape metric before after change_percent verdict fails why case lines".split()
COLUMNS = (
    Column("kernel"),
    Column("shape", wraps=True),
    Column("metric"),
    Column("before", right=True),
    Column("after", right=True),
    Column("change", right=True),
    Column("verdict", wraps=True),
)
LINE_COLUMNS = (
    Column("kernel"),
    Column("shape", wraps=True),
    Column("source line", wraps=True),
    Column("before", wraps=True),
    Column("after", wraps=True),
)
MAX_LINES = 12
"""Of one case, for people; JSON has all."""

Lines = Mapping[str, "Sequence[Change] | str"]
"""Case -> its changed source lines, or why they are not known."""


def answer(findings: Sequence[Finding], lines: Lines, new: Sequence[str], notes: Sequence[str]) -> Answer:
    """`new`: cases that only the newer side has. `notes`: what must be said first."""
    told = [finding for finding in findings if finding.verdict != "same"]
    grids = [Grid(COLUMNS, [_line(finding) for finding in told], [*notes, *summary(findings, new)], "Kernel gate")]
    grids += (
        [Grid(LINE_COLUMNS, source, [], "Source lines whose instructions changed")]
        if (source := _source(told, lines))
        else []
    )
    unknown = [f"{case}: source lines: {why}" for case, why in lines.items() if isinstance(why, str)]
    if unknown:
        grids.append(Grid((), [], unknown))
    return Answer([_record(finding, lines) for finding in findings], FIELDS, grids)


def summary(findings: Sequence[Finding], new: Sequence[str]) -> list[str]:
    """What the gate says in a few sentences; the first is the verdict."""
    cases = dict.fromkeys(finding.case for finding in findings)
    failing = dict.fromkeys(finding.case for finding in findings if finding.fails)
    better = {finding.case for finding in findings if finding.verdict == "better"} - set(failing)
    counted = {verdict: sum(finding.verdict == verdict for finding in findings) for verdict in VERDICTS}
    said = ", ".join(f"{count} {verdict}" for verdict, count in counted.items() if count)
    lines = []
    if failing:
        lines.append(f"FAILED: {len(failing)} of {len(cases)} cases got worse.")
    elif cases and counted["cannot tell"] == len(findings):
        lines.append(f"CANNOT TELL: nothing of {len(cases)} cases could be compared.")
    elif cases:
        lines.append(
            f"PASSED: none of {len(cases)} cases got worse" + (f", {len(better)} got better." if better else ".")
        )
    else:
        lines.append("NOTHING TO JUDGE: no case is on both sides.")
    if better and failing:
        lines.append(f"{len(better)} cases got better.")
    if said:
        lines.append(f"{said} (metrics).")
    if new:
        lines.append(f"New, with nothing to hold against: {', '.join(new)}.")
    return lines


def _line(finding: Finding) -> list[str]:
    change = finding.change_percent
    verdict = f"{finding.verdict} ({finding.why})" if finding.why else finding.verdict
    return [
        finding.kernel,
        finding.shape,
        finding.metric,
        _shown(finding.before),
        _shown(finding.after),
        "-" if change is None else f"{change:+.2f} %",
        verdict,
    ]


def _source(told: Sequence[Finding], lines: Lines) -> list[list[str]]:
    found = []
    for finding in {each.case: each for each in told}.values():
        changes = lines.get(finding.case, ())
        if isinstance(changes, str):
            continue
        found += [
            [finding.kernel, finding.shape, _place(change), change.was, change.now] for change in changes[:MAX_LINES]
        ]
        if len(changes) > MAX_LINES:
            found.append([finding.kernel, finding.shape, f"and {len(changes) - MAX_LINES} more lines", "", ""])
    return found


def _place(change: Change) -> str:
    if change.before is None or change.after is None or change.before == change.after:
        which = "" if change.after is not None else " (before)"
        return f"{change.file}:{change.after or change.before}{which}"
    return f"{change.file}:{change.after} (was {change.before})"


def _record(finding: Finding, lines: Lines) -> dict[str, Any]:
    changes = lines.get(finding.case, ())
    return {
        **{name: getattr(finding, name) for name in FIELDS if name != "lines"},
        "lines": [] if isinstance(changes, str) else [vars(change) for change in changes],
    }


def _shown(value: float | str | None) -> str:
    if value is None:
        return "-"
    return (
        f"{value:.3f}"
        if isinstance(value, float) and not value.is_integer()
        else f"{value:.0f}"
        if isinstance(value, float)
        else str(value)
    )
