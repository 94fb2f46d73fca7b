"""Keeps the database of a history: one SQLite file, to which several writers append.

    commits   one line for each commit, in the order of their dates
    series    what must not be joined: a case on one machine, simulated by one model or measured with one tool version
    points    the value of one metric of one series at one commit
    rows      what else is known of a series at one commit, as JSON: how its case was built, checked and what it is

A commit that is added again replaces its own points and rows. What is read has the types that are written, or it is a `HistoryError`: old versions of
SQLite hold no table to its types. Versions before schema 2 kept no rows: a point then stands for a good one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import msgspec
import orjson

from neff_bench.history.errors import HistoryError
from neff_bench.stage2_profile.metrics.rows import check_types
from neff_bench.system.decoding import decoder

FILE = "history.sqlite"
SCHEMA = 2
BUSY_S = 60.0
"""How long a writer waits for another."""

_TABLES = (
    """CREATE TABLE IF NOT EXISTS commits (
    id INTEGER PRIMARY KEY, sha TEXT NOT NULL UNIQUE, date TEXT NOT NULL, subject TEXT NOT NULL DEFAULT '') STRICT""",
    "CREATE INDEX IF NOT EXISTS commits_by_date ON commits (date, id)",
    """CREATE TABLE IF NOT EXISTS series (
    id INTEGER PRIMARY KEY, case_name TEXT NOT NULL, source TEXT NOT NULL, made_by TEXT NOT NULL, machine TEXT NOT NULL,
    label TEXT NOT NULL, UNIQUE (case_name, source, made_by, machine)) STRICT""",
    """CREATE TABLE IF NOT EXISTS points (
    series INTEGER NOT NULL REFERENCES series, metric TEXT NOT NULL, commit_id INTEGER NOT NULL REFERENCES commits,
    value REAL NOT NULL, PRIMARY KEY (series, metric, commit_id)) STRICT, WITHOUT ROWID""",
    """CREATE TABLE IF NOT EXISTS rows (
    series INTEGER NOT NULL REFERENCES series, commit_id INTEGER NOT NULL REFERENCES commits, record TEXT NOT NULL,
    PRIMARY KEY (series, commit_id)) STRICT, WITHOUT ROWID""",
)

_RECORD = decoder(dict[str, Any])


@dataclass(frozen=True)
class Commit:
    """`date`: ISO 8601. `subject`: the first line of its message, or empty."""

    id: int
    sha: str
    date: str
    subject: str


@dataclass(frozen=True)
class SeriesKey:
    """Holds what must agree for two values to be in one series.

    `source`: simulated or measured. `made_by`: the model of a simulated value, the tool and version of a measured one.
    `machine`: where it was measured; empty for a simulated value, which is the same on every machine.
    """

    case_name: str
    source: str
    made_by: str
    machine: str


@dataclass(frozen=True)
class Series:
    """`key` and a short name for people."""

    id: int
    key: SeriesKey
    label: str


@contextmanager
def opened(directory: Path, *, write: bool = False) -> Iterator[sqlite3.Connection]:
    """Yield the database in `directory`; with `write` it is made when it is missing, and the block is one transaction."""
    path = directory / FILE
    if not write and not path.is_file():
        raise HistoryError(f"{directory}: no history ({FILE} is missing); `neff-bench history add` makes one")
    try:
        if write:
            directory.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)
    except (OSError, sqlite3.Error) as error:
        raise HistoryError(f"{path}: cannot open it: {error}") from None
    try:
        if not write:
            _schema(connection, path)
            yield connection
            return
        connection.execute("BEGIN IMMEDIATE")
        try:
            if _schema(connection, path) < SCHEMA:
                _make_tables(connection)
            yield connection
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")
    except (sqlite3.Error, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise HistoryError(f"{path}: {' '.join(str(error).split())}") from None
    finally:
        connection.close()


def _schema(connection: sqlite3.Connection, path: Path) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > SCHEMA:
        raise HistoryError(f"{path}: schema {version} is newer than {SCHEMA}; update neff-bench")
    return version


def _make_tables(connection: sqlite3.Connection) -> None:
    for table in _TABLES:
        connection.execute(
            table if sqlite3.sqlite_version_info >= (3, 37) else table.replace("STRICT, ", "").replace("STRICT", "")
        )
    connection.execute(f"PRAGMA user_version = {SCHEMA}")


def add(
    connection: sqlite3.Connection,
    sha: str,
    date: str,
    subject: str,
    rows: Sequence[tuple[SeriesKey, str, Mapping[str, float], Mapping[str, Any]]],
) -> tuple[int, int]:
    """Add `rows` (series, label, value by metric, what else is known) at a commit. Returns (values, of these replaced)."""
    connection.execute(
        "INSERT INTO commits (sha, date, subject) VALUES (?, ?, ?) ON CONFLICT (sha) DO UPDATE SET date = excluded.date",
        (sha, date, subject),
    )
    commit = connection.execute("SELECT id FROM commits WHERE sha = ?", (sha,)).fetchone()[0]
    count = replaced = 0
    for key, label, values, record in rows:
        series = _series_id(connection, key, label)
        known = connection.execute(
            "SELECT COUNT(*) FROM points WHERE series = ? AND commit_id = ?", (series, commit)
        ).fetchone()[0]
        replaced += min(known, len(values))
        connection.execute("DELETE FROM points WHERE series = ? AND commit_id = ?", (series, commit))
        connection.execute(
            "INSERT OR REPLACE INTO rows VALUES (?, ?, ?)", (series, commit, orjson.dumps(dict(record)).decode())
        )
        connection.executemany(
            "INSERT INTO points VALUES (?, ?, ?, ?)",
            [(series, metric, commit, value) for metric, value in values.items()],
        )
        count += len(values)
    return count, replaced


def _series_id(connection: sqlite3.Connection, key: SeriesKey, label: str) -> int:
    words = (key.case_name, key.source, key.made_by, key.machine)
    connection.execute(
        "INSERT INTO series (case_name, source, made_by, machine, label) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (*words, label),
    )
    found = connection.execute(
        "SELECT id FROM series WHERE case_name = ? AND source = ? AND made_by = ? AND machine = ?", words
    ).fetchone()
    return int(found[0])


def commits(connection: sqlite3.Connection) -> list[Commit]:
    """Return all commits, the oldest first."""
    found = connection.execute("SELECT id, sha, date, subject FROM commits ORDER BY date, id")
    return [Commit(*row) for row in _typed(found, int, str, str, str)]


def series(connection: sqlite3.Connection) -> list[Series]:
    """Return all series, by name of the case."""
    found = connection.execute(
        "SELECT id, case_name, source, made_by, machine, label FROM series ORDER BY case_name, id"
    )
    return [Series(id_, SeriesKey(*key), label) for id_, *key, label in _typed(found, int, str, str, str, str, str)]


def points(connection: sqlite3.Connection) -> Iterator[tuple[int, str, list[int], list[float]]]:
    """Yield (series, metric, commits, values) for each series and metric; commits as ids, the oldest first."""
    found = connection.execute(
        "SELECT p.series, p.metric, p.commit_id, p.value FROM points p JOIN commits c ON c.id = p.commit_id "
        "ORDER BY p.series, p.metric, c.date, c.id"
    )
    for (series_id, metric), rows in groupby(_typed(found, int, str, int, float), itemgetter(0, 1)):
        of_one = list(rows)
        yield series_id, metric, [row[2] for row in of_one], [row[3] for row in of_one]


def records(connection: sqlite3.Connection, commits: Sequence[Commit]) -> dict[tuple[int, int], dict[str, Any]]:
    """Return the row records at some commits by (series, commit), the oldest commit first."""
    asked = {commit.id: at for at, commit in enumerate(commits)}
    keys = {one.id: one.key for one in series(connection)}
    found: dict[tuple[int, int], dict[str, Any]] = {}
    for id_, metric, ids, values in points(connection):
        for commit, value in zip(ids, values, strict=True):
            if commit in asked:
                found.setdefault((id_, commit), _record(keys[id_]))[metric] = value
    if connection.execute("SELECT COUNT(*) FROM sqlite_master WHERE name = 'rows'").fetchone()[0]:
        rows = connection.execute("SELECT series, commit_id, record FROM rows")
        for id_, commit, record in _typed(rows, int, int, str):
            if commit in asked:
                said = _RECORD.decode(record)
                check_types(said)
                found[id_, commit] = {**found.get((id_, commit), {}), **said}
    return dict(sorted(found.items(), key=lambda item: (asked[item[0][1]], item[0][0])))


def _typed(rows: sqlite3.Cursor, *types: type) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a query. Raises `sqlite3.DataError` for a value of another type."""
    for row in rows:
        if tuple(map(type, row)) != types:
            wrong = next(at for at, kind in enumerate(types) if type(row[at]) is not kind)
            column, found = rows.description[wrong][0], row[wrong]
            raise sqlite3.DataError(f"{column}: found {found!r:.80}, expected {types[wrong].__name__}, in {row!r:.200}")
        yield row


def _record(key: SeriesKey) -> dict[str, Any]:
    """Return what the name of a series says of a row."""
    made_by = "model" if key.source == "simulated" else "tool"
    return {"case": key.case_name, "source": key.source, made_by: key.made_by, "status": "profiled"}
