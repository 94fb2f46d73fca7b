"""What a history keeps comes back in the order of its commits, and what is added again replaces it."""

import sqlite3

import pytest

from neff_bench.history import database
from neff_bench.history.database import Commit, Series, SeriesKey
from neff_bench.history.errors import HistoryError

A, B = SeriesKey("a", "simulated", "m", ""), SeriesKey("b", "measured", "t 1", "mine")


@pytest.fixture
def connection(tmp_path):
    with database.opened(tmp_path, write=True) as connection:
        yield connection


def test_what_is_added_is_counted_and_what_it_replaces_too(connection):
    """One value of two is replaced; then two, the old one and one that had been there; then one by none."""

    def added(*rows):
        return database.add(connection, "c", "2026-01-01", "s", rows)

    assert added((A, "a", {"x": 1.0}, {}), (B, "b", {"x": 1.0, "y": 2.0}, {})) == (3, 0)
    assert added((A, "a", {"x": 1.0, "y": 3.0}, {})) == (2, 1)
    assert added((B, "b", {"x": 5.0}, {}), (A, "a", {"x": 1.0, "y": 3.0}, {})) == (3, 3)
    assert added((B, "b", {}, {})) == (0, 0)
    assert list(database.points(connection)) == [(1, "x", [1], [1.0]), (1, "y", [1], [3.0])]


def test_a_commit_that_is_added_again_keeps_its_place_and_gets_the_new_date(connection):
    database.add(connection, "c", "2026-01-02", "first", [])
    database.add(connection, "d", "2026-01-01", "", [])
    assert [one.sha for one in database.commits(connection)] == ["d", "c"]
    database.add(connection, "c", "2025-01-01", "again", [])
    assert database.commits(connection) == [Commit(1, "c", "2025-01-01", "first"), Commit(2, "d", "2026-01-01", "")]


def test_what_differs_in_any_part_of_its_key_is_another_series(connection):
    keys = [A, B, *(SeriesKey(*("other" if at == part else word for at, word in enumerate(("a", "simulated", "m", "")))) for part in range(4))]  # fmt: skip
    for sha in "cd":
        database.add(connection, sha, "2026-01-01", "", [(key, f"label {sha}", {}, {}) for key in keys])
    found = database.series(connection)
    assert found[0] == Series(1, A, "label c")
    assert [(one.key.case_name, one.id) for one in found] == [("a", 1), ("a", 4), ("a", 5), ("a", 6), ("b", 2), ("other", 3)]  # fmt: skip


def test_values_are_in_the_order_of_the_dates_of_their_commits_and_then_in_that_of_their_adding(connection):
    for sha, date, value in (("c", "2026-01-02", 1.0), ("d", "2026-01-01", 2.0), ("e", "2026-01-01", 3.0)):
        database.add(connection, sha, date, "", [(B, "b", {"y": value, "x": -value}, {}), (A, "a", {"x": 0.0}, {})])
    assert list(database.points(connection)) == [
        (1, "x", [2, 3, 1], [-2.0, -3.0, -1.0]), (1, "y", [2, 3, 1], [2.0, 3.0, 1.0]), (2, "x", [2, 3, 1], [0.0, 0.0, 0.0]),
    ]  # fmt: skip


def test_records_are_those_of_the_commits_that_are_asked_for_in_their_order(connection):
    for number, sha in enumerate("cde"):
        rows = [(A, "a", {"x": float(number)}, {"case": "a", "reason": sha}), (B, "b", {"x": 9.0}, {"case": "b"})]
        database.add(connection, sha, f"2026-01-0{3 - number}", "", rows)
    oldest, _, newest = database.commits(connection)
    found = database.records(connection, [oldest, newest])
    assert list(found) == [(1, 3), (2, 3), (1, 1), (2, 1)]
    of_a = {"case": "a", "source": "simulated", "model": "m", "status": "profiled"}
    assert found[1, 3] == {**of_a, "x": 2.0, "reason": "e"} and found[1, 1] == {**of_a, "x": 0.0, "reason": "c"}
    assert found[2, 1] == {"case": "b", "source": "measured", "tool": "t 1", "status": "profiled", "x": 9.0}
    assert database.records(connection, []) == {}


def test_what_a_row_says_holds_against_its_values_and_the_name_of_its_series(connection):
    said = {"case": "b", "status": "failed", "source": None}
    database.add(connection, "c", "2026-01-01", "", [(A, "a", {"x": 1.0}, said)])
    assert database.records(connection, database.commits(connection)) == {
        (1, 1): {"case": "b", "source": None, "model": "m", "status": "failed", "x": 1.0}
    }


def test_a_history_of_a_version_to_come_is_not_touched(tmp_path):
    with database.opened(tmp_path, write=True):
        pass
    with sqlite3.connect(tmp_path / database.FILE) as connection:
        connection.execute("PRAGMA user_version = 3")
    for write in (False, True):
        with pytest.raises(HistoryError, match=r"history.sqlite: schema 3 is newer than 2; update neff-bench"):
            with database.opened(tmp_path, write=write):
                pass


def test_a_history_is_made_by_its_first_writer_and_only_by_a_writer(tmp_path):
    with pytest.raises(HistoryError, match="no history"), database.opened(tmp_path / "a" / "b"):
        pass
    assert not (tmp_path / "a").exists()
    with database.opened(tmp_path / "a" / "b", write=True):
        pass
    with database.opened(tmp_path / "a" / "b") as connection:
        assert database.commits(connection) == []
        assert connection.execute("PRAGMA user_version").fetchone() == (2,)


def test_a_writer_that_fails_leaves_nothing(tmp_path):
    with database.opened(tmp_path, write=True) as connection:
        database.add(connection, "c", "2026-01-01", "", [])
    with pytest.raises(KeyError), database.opened(tmp_path, write=True) as connection:
        database.add(connection, "d", "2026-01-01", "", [])
        raise KeyError
    with database.opened(tmp_path) as connection:
        assert [one.sha for one in database.commits(connection)] == ["c"]


def test_a_place_where_no_history_can_be_is_one_line(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(HistoryError, match="cannot open it"), database.opened(tmp_path / "file" / "h", write=True):
        pass


@pytest.mark.parametrize(("version", "strict"), [((3, 36, 9), []), ((3, 37), ["commits", "points", "rows", "series"])])
def test_tables_hold_to_their_types_where_sqlite_can(tmp_path, monkeypatch, version, strict):
    if strict and sqlite3.sqlite_version_info < version:
        pytest.skip("this SQLite has no STRICT tables")
    monkeypatch.setattr(sqlite3, "sqlite_version_info", version)
    with database.opened(tmp_path, write=True) as connection:
        made = dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table' AND sql NOT NULL"))
    assert len(made) == 4 and sorted(name for name, sql in made.items() if "STRICT" in sql) == strict
    assert sorted(name for name, sql in made.items() if "WITHOUT ROWID" in sql) == ["points", "rows"]
