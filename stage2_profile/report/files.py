"""Says where the timeline of a row is read from, and which rows of a page have one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from neff_bench.stage2_profile.metrics.rows import Row
from neff_bench.terminal.text import shell_word

TIMELINES_MAX = 20
"""The most timelines of cases that nobody asked for by name. More make a page that is slow to make and to open."""


@dataclass(frozen=True)
class ProfileFiles:
    """`profile`: a whole profile, or a trace, for which `neff` has names. `trace`: the trace that the whole profile was made from.
    `bundle`: its directory. `problem`: why there is no profile."""

    profile: Path | None = None
    trace: Path | None = None
    neff: Path | None = None
    bundle: Path | None = None
    problem: str | None = None


def slowest(rows: Sequence[Row]) -> frozenset[str]:
    """Return the names of the cases whose timelines a page has where nobody asked for others."""
    timed = sorted((row for row in rows if row.status == "profiled"), key=lambda row: -(row.total_time_us or 0.0))
    return frozenset(row.case for row in timed[:TIMELINES_MAX])


def left_out(directory: Path, row: Row) -> ProfileFiles:
    """Return what a page says in place of a timeline that it leaves out: how to get it."""
    if row.status != "profiled":
        return ProfileFiles(problem="it has no profile")
    command = f"profile-neffs {shell_word(str(directory))} --only {shell_word(row.case)} --output page.html"
    return ProfileFiles(problem=f"this page has those of the {TIMELINES_MAX} slowest cases; {command} writes this one")
