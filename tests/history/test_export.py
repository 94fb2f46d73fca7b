"""All values of a history as one long table."""

import csv

import pyarrow.parquet as pq
import pytest

from neff_bench.history import database, export
from neff_bench.history.database import SeriesKey
from neff_bench.history.errors import HistoryError

LINES = [
    ("d", "2026-01-01", "a", "measured", "t 1", "mine", "x", 2.5),
    ("c", "2026-01-02", "a", "measured", "t 1", "mine", "x", 1.0),
    ("c", "2026-01-02", "b", "simulated", "m", "", "y", 0.1),
]


@pytest.fixture
def directory(tmp_path):
    with database.opened(tmp_path / "h", write=True) as connection:
        for sha, date, case, source, made_by, machine, metric, value in reversed(LINES):
            rows = [(SeriesKey(case, source, made_by, machine), case, {metric: value}, {})]
            if (sha, case) == ("c", "a"):
                rows.append((SeriesKey("b", "simulated", "m", ""), "b", {"y": 0.1}, {}))
            database.add(connection, sha, date, "", rows)
    return tmp_path / "h"


def test_a_line_is_a_value_with_its_commit_and_its_series(directory):
    assert sorted(export.rows(directory)) == sorted(LINES)


def test_both_files_hold_the_same_lines_under_the_same_names(directory, tmp_path):
    export.write_csv(directory, tmp_path / "h.csv")
    export.write_parquet(directory, tmp_path / "h.parquet")
    head, *lines = csv.reader((tmp_path / "h.csv").read_text().splitlines())
    table = pq.read_table(tmp_path / "h.parquet")
    assert tuple(head) == tuple(table.column_names) == export.COLUMNS
    rows = [tuple(row.values()) for row in table.to_pylist()]
    assert rows == list(export.rows(directory)) and [[*map(str, row)] for row in rows] == lines


def test_a_history_without_values_is_a_table_without_lines(tmp_path):
    with database.opened(tmp_path / "h", write=True):
        pass
    export.write_parquet(tmp_path / "h", tmp_path / "h.parquet")
    table = pq.read_table(tmp_path / "h.parquet")
    assert (tuple(table.column_names), table.num_rows) == (export.COLUMNS, 0)


def test_a_file_that_cannot_be_written_is_named(directory, tmp_path):
    with pytest.raises(HistoryError, match="h.csv: cannot write it: "):
        export.write_csv(directory, tmp_path / "none" / "h.csv")
