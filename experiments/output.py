"""Rows on standard output or in a file: table, CSV, JSON or Markdown; progress on standard error."""

from __future__ import annotations

import csv
import io
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from neff_bench.experiments.errors import ExperimentError
from neff_bench.experiments.latency import write_text

FORMATS = ("table", "csv", "json", "md")
SUFFIXES = {".csv": "csv", ".json": "json", ".md": "md", ".txt": "table"}

Row = Mapping[str, Any]


def chosen_format(format_: str | None, output: Path | None) -> str:
    return format_ or (SUFFIXES.get(output.suffix.lower(), "table") if output else "table")


def emit(text: str, output: Path | None) -> None:
    """To stdout, or whole into a file. Raises `ExperimentError` when it cannot be written."""
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        write_text(output, text)
    except OSError as error:
        raise ExperimentError(f"cannot write {output}: {error.strerror}; nothing was changed") from None
    print(f"written: {output}", file=sys.stderr)


def render(rows: Sequence[Row], columns: Mapping[str, str], format_: str) -> str:
    """`columns`: key -> head of the column in tables. CSV and JSON have all keys, unrounded, null or empty where unknown."""
    if format_ == "json":
        import orjson

        return orjson.dumps(
            [dict(row) for row in rows], option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
        ).decode()
    if format_ == "csv":
        out = io.StringIO()
        keys = list(dict.fromkeys(key for row in rows for key in row))
        writer = csv.DictWriter(out, keys, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return out.getvalue()
    cells = [[shown(row.get(key)) for key in columns] for row in rows]
    heads = list(columns.values())
    if format_ == "md":
        lines = [heads, ["---:" if _is_numeric(rows, key) else "---" for key in columns], *cells]
        return "".join(f"| {' | '.join(line)} |\n" for line in lines)
    return _table(heads, cells, [_is_numeric(rows, key) for key in columns])


def shown(value: Any) -> str:
    """A cell for people: four significant digits; empty where unknown."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) and abs(value) >= 10_000 else str(value)


def progress(items: Iterable[Any], total: int, what: str) -> Iterator[Any]:
    """The items; a bar on a terminal, one plain line for each elsewhere."""
    if not sys.stderr.isatty():
        for number, item in enumerate(items, 1):
            print(f"[{number}/{total}] {what} {item}", file=sys.stderr, flush=True)
            yield item
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        for item in items:
            bar.update(task, description=f"{what} {item}")
            yield item
            bar.advance(task)


def _is_numeric(rows: Sequence[Row], key: str) -> bool:
    values = [row.get(key) for row in rows if row.get(key) is not None]
    return bool(values) and all(isinstance(value, (int, float)) for value in values)


def _table(heads: Sequence[str], cells: Sequence[Sequence[str]], numeric: Sequence[bool]) -> str:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    color = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    table = Table(box=box.SIMPLE_HEAD, padding=0, pad_edge=False, show_edge=False)
    for head, right in zip(heads, numeric, strict=True):
        table.add_column(head, justify="right" if right else "left", no_wrap=True, header_style="bold")
    for line in cells:
        table.add_row(*line)
    out = io.StringIO()
    Console(file=out, width=200, force_terminal=color, color_system="standard" if color else None).print(table)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"
