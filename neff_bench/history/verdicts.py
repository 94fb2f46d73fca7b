"""What the newest commits made worse, and what better."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from neff_bench.history import database
from neff_bench.history.changes import Change, exact_changes, measured_changes
from neff_bench.history.database import Commit, Series
from neff_bench.stage2_profile.compare.comparison import COMPARED

WINDOW = 200
"""Values that the check of a measured series looks at. Older ones say nothing about the newest commits."""


@dataclass(frozen=True)
class Event:
    """A change of one metric of one series at `commit`. `verdict`: better, worse, or changed (no direction is better).

    `doubt`: how many values there are from the change on, for a measured series; None for an exact one.
    """

    series: Series
    metric: str
    commit: Commit
    change: Change
    verdict: str
    doubt: int | None


def is_exact(series: Series) -> bool:
    """Simulated numbers are the same every time; measured ones scatter."""
    return series.key.source == "simulated"


def changes_of(series: Series, metric: str, values: Sequence[float]) -> list[Change]:
    """The changes of one series. Counters are exact whatever the source."""
    exact = is_exact(series) or (metric in COMPARED and COMPARED[metric].exact)
    return exact_changes(values) if exact else measured_changes(values)


def verdict(metric: str, change: Change) -> str:
    """Which way a change goes."""
    better = COMPARED[metric].better if metric in COMPARED else None
    if better not in ("lower", "higher"):
        return "changed"
    return "better" if (change.after < change.before) == (better == "lower") else "worse"


def events(connection: sqlite3.Connection, newest: int | None) -> Iterator[Event]:
    """Changes at the `newest` commits (None: at all of them), series by series."""
    commits = database.commits(connection)
    by_id = {commit.id: commit for commit in commits}
    recent = {commit.id for commit in (commits if newest is None else commits[-newest:])}
    known = {one.id: one for one in database.series(connection)}
    for series_id, metric, ids, values in database.points(connection, None if newest is None else WINDOW):
        series = known[series_id]
        if ids[-1] not in recent or min(values) == max(values):
            continue
        for change in changes_of(series, metric, values):
            if ids[change.at] in recent:
                doubt = None if is_exact(series) else len(values) - change.at
                yield Event(series, metric, by_id[ids[change.at]], change, verdict(metric, change), doubt)


def began(connection: sqlite3.Connection, newest: int) -> list[Series]:
    """Series whose first value is at one of the `newest` commits although their case is older: another model, tool or
    machine made them, and nothing before them is compared with them."""
    commits = database.commits(connection)
    recent = {commit.id for commit in commits[-newest:]}
    first: dict[int, int] = dict(
        connection.execute(
            "SELECT series, commit_id FROM (SELECT p.series, p.commit_id, ROW_NUMBER() OVER "
            "(PARTITION BY p.series ORDER BY c.date, c.id) AS place FROM points p JOIN commits c ON c.id = p.commit_id "
            "WHERE p.metric = (SELECT MIN(q.metric) FROM points q WHERE q.series = p.series)) WHERE place = 1"
        ).fetchall()
    )
    everything = database.series(connection)
    older = {one.key.case_name for one in everything if first.get(one.id) not in recent}
    return [one for one in everything if first.get(one.id) in recent and one.key.case_name in older]
