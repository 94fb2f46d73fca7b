"""Writes all points as one long table, for DuckDB, pandas and spreadsheets."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from neff_bench.history import database
from neff_bench.history.errors import HistoryError
from neff_bench.installation import pip_install
from neff_bench.system.files import write_whole

COLUMNS = ("sha", "date", "case_name", "source", "made_by", "machine", "metric", "value")


def rows(directory: Path) -> Iterator[tuple[Any, ...]]:
    """Yield one tuple for each point, in the order of COLUMNS."""
    with database.opened(directory) as connection:
        commits = {commit.id: commit for commit in database.commits(connection)}
        known = {one.id: one.key for one in database.series(connection)}
        for series, metric, ids, values in database.points(connection):
            key = known[series]
            for commit, value in zip(ids, values, strict=True):
                at = commits[commit]
                yield (at.sha, at.date, key.case_name, key.source, key.made_by, key.machine, metric, value)


def write_csv(directory: Path, output: Path) -> None:
    """Write all values, one in a line. Raises HistoryError."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(rows(directory))
    _write(output, text.getvalue().encode())


def write_parquet(directory: Path, output: Path) -> None:
    """Write Parquet. Raises HistoryError, also when pyarrow is not installed."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise HistoryError(f"{output}: Parquet needs pyarrow: {pip_install('parquet')}") from None
    columns: list[list[Any]] = [list(column) for column in zip(*rows(directory), strict=True)] or [[] for _ in COLUMNS]
    sink = io.BytesIO()
    pq.write_table(pa.table(dict(zip(COLUMNS, columns, strict=True))), sink, compression="zstd")
    _write(output, sink.getvalue())


def _write(output: Path, data: bytes) -> None:
    try:
        write_whole(output, data)
    except OSError as error:
        raise HistoryError(f"{output}: cannot write it: {error.strerror}") from None
