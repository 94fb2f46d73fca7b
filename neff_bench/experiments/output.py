"""Gives rows of an experiment as an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from neff_bench.terminal import streams
from neff_bench.terminal.answer import Answer, Column, Grid
from neff_bench.terminal.output import write_answer

Row = Mapping[str, Any]
WRAPS = ("buckets", "interpolated", "line")
"""Columns whose text may take several lines."""


def answer(rows: Sequence[Row], grids: Sequence[Grid], document: Any = None) -> Answer:
    """Return the text; CSV and JSON have all keys of the rows, unrounded, null or empty where unknown."""
    return Answer(rows, list(dict.fromkeys(key for row in rows for key in row)), grids, document)


def grid(rows: Sequence[Row], heads: Mapping[str, str], notes: Sequence[str] = ()) -> Grid:
    """Return the table of records. `heads`: key -> head of the column."""
    columns = [Column(head, _is_numeric(rows, key), key in WRAPS) for key, head in heads.items()]
    return Grid(columns, [[shown(row.get(key)) for key in heads] for row in rows], notes, keeps_empty=True)


def emit(answer: Answer, format: str, output: Path | None) -> None:
    """Write the answer to standard output, or whole into a file. Raises `OutputError` when it cannot be written."""
    write_answer(answer, format, output)
    if output is not None:
        streams.notice(f"written: {output}")


def shown(value: Any) -> str:
    """Return a cell for people: four significant digits; empty where unknown."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) and abs(value) >= 10_000 else str(value)


def _is_numeric(rows: Sequence[Row], key: str) -> bool:
    values = [row.get(key) for row in rows if row.get(key) is not None]
    return bool(values) and all(isinstance(value, (int, float)) for value in values)
