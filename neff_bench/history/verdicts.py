"""Says what the newest commits made worse or better, and every change of every series."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from neff_bench.history import database
from neff_bench.history.changes import Change, exact_changes, measured_changes
from neff_bench.history.database import Commit, Series
from neff_bench.stage2_profile.compare.command import check_common
from neff_bench.stage2_profile.compare.comparison import COMPARED, pair_cases
from neff_bench.stage2_profile.compare.verdict import Config, Judged, judge


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
    """Return whether a series is exact: simulated numbers are the same every time, measured ones scatter."""
    return series.key.source == "simulated"


def changes_of(series: Series, metric: str, values: Sequence[float]) -> list[Change]:
    """Return the changes of one series. Counters are exact whatever the source."""
    exact = is_exact(series) or (metric in COMPARED and COMPARED[metric].exact)
    return exact_changes(values) if exact else measured_changes(values)


def direction(metric: str, change: Change) -> str:
    """Return which way a change goes."""
    better = COMPARED[metric].better if metric in COMPARED else None
    if better not in ("lower", "higher"):
        return "changed"
    return "better" if (change.after < change.before) == (better == "lower") else "worse"


def judged(connection: sqlite3.Connection, last: int) -> list[Judged] | None:
    """Return what the `last` commits made of the rows that were there before them; None where there is no commit before them.

    The newest row of a case in the window is held against the newest before it. A case is gone when the commit before the window has it alone.
    """
    commits = database.commits(connection)
    before, window = commits[:-last], commits[-last:]
    if not before:
        return None
    older, newer = (_newest(database.records(connection, of)) for of in (before, window))
    held = [row for case, (at, rows) in older.items() if case in newer or at == before[-1].id for row in rows]
    pairing = pair_cases(held, [row for _, rows in newer.values() for row in rows], False)
    check_common(pairing, before[-1].sha, window[-1].sha)
    return judge(pairing, Config())


def _newest(records: Mapping[tuple[int, int], dict[str, Any]]) -> dict[str, tuple[int, list[dict[str, Any]]]]:
    """Return the newest commit that has each case, and its rows there."""
    found: dict[str, tuple[int, list[dict[str, Any]]]] = {}
    for (_, commit), row in records.items():
        at, rows = found.get(row["case"], (commit, []))
        found[row["case"]] = (commit, [*rows, row] if at == commit else [row])
    return found


def events(connection: sqlite3.Connection) -> Iterator[Event]:
    """Yield every change, series by series."""
    by_id = {commit.id: commit for commit in database.commits(connection)}
    known = {one.id: one for one in database.series(connection)}
    for series_id, metric, ids, values in database.points(connection):
        series = known[series_id]
        for change in changes_of(series, metric, values):
            doubt = None if is_exact(series) else len(values) - change.at
            yield Event(series, metric, by_id[ids[change.at]], change, direction(metric, change), doubt)


def began(connection: sqlite3.Connection, newest: int) -> list[Series]:
    """Return the series whose first value is at one of the `newest` commits although their case is older: another model, tool or
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
