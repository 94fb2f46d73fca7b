"""Holds the formats of an answer: each is one file here.

A format `x` is the module `x.py` with `SUFFIX`, the end of a file's name that asks for it, and `render(answer, page)`, which
returns the text. Whatever lies here is offered by every command that has `--format`.
"""

from __future__ import annotations

import importlib
import itertools
import pkgutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from neff_bench.errors import WrongCall, meant
from neff_bench.terminal.answer import NONE, Answer, Column, Grid

DEFAULT = "table"
FORMATS = tuple(
    sorted((found.name for found in pkgutil.iter_modules(__path__)), key=lambda name: (name != DEFAULT, name))
)


class Page(NamedTuple):
    """Holds what a format for people is laid out for. `width`: columns of the terminal. `wide`: every column on one line, however long.

    `columns`: the heads or names of the columns that were asked for, in this order; none for those of the answer.
    """

    width: int = 120
    color: bool = False
    wide: bool = False
    columns: tuple[str, ...] = ()


def render(answer: Answer, format: str, page: Page = Page()) -> str:
    """Return the answer in one of FORMATS. Raises `WrongCall` for a column that it does not have."""
    text: str = _module(format).render(_with_columns(answer, page.columns) if page.columns else answer, page)
    return text


def _with_columns(answer: Answer, names: Sequence[str]) -> Answer:
    """Return the answer with these columns alone: of its records, and of each table that has all of them."""
    known = dict.fromkeys(
        [
            *answer.fields,
            *(name for grid in answer.grids for column in grid.columns for name in (column.head, column.name)),
        ]
    )
    keys = {column.head: column.name for grid in answer.grids for column in grid.columns if column.name}
    for name in names:
        if name not in known:
            there = ", ".join(filter(None, known))
            raise WrongCall(f"--columns: no column {name!r}{meant(name, known) or ';'} there are {there}")
    fields = list(dict.fromkeys(keys.get(name, name) for name in names))
    records = [{name: record.get(name) for name in fields} for record in answer.records]
    document = answer.document
    if isinstance(document, list):  # the same records, in the form that JSON has them
        document = [{name: record[name] for name in fields if name in record} for record in document]
    grids = [_of_grid(_with_fields(grid, answer, fields), names) for grid in answer.grids]
    return replace(answer, records=records, fields=fields, grids=grids, document=document)


def _with_fields(grid: Grid, answer: Answer, fields: Sequence[str]) -> Grid:
    """Return a table that has a line for each record with the fields that it shows no column of."""
    shown = {name for column in grid.columns for name in (column.head, column.name)}
    missing = [name for name in fields if name not in shown and name in answer.fields]
    if not missing or len(grid.lines) != len(answer.records):
        return grid
    added = [[_text(record.get(name)) for name in missing] for record in answer.records]
    lines = [[*line, *more] for line, more in zip(grid.lines, added, strict=True)]
    return replace(grid, columns=[*grid.columns, *(Column(name, wraps=True) for name in missing)], lines=lines)


def _text(value: Any) -> str:
    return NONE if value is None or value in ((), []) else str(value)


def _of_grid(grid: Grid, names: Sequence[str]) -> Grid:
    """Return the grid with the columns of these names or heads, whatever their rank; the bounds of a range follow their number."""
    columns: dict[int, Column] = {}
    for name in names:
        for at, column in enumerate(grid.columns):
            if name and name in (column.name, column.head):
                columns[at] = column._replace(rank=0, common=False, bound=False)
                bounds = itertools.takewhile(lambda other: grid.columns[other].bound, range(at + 1, len(grid.columns)))
                columns.update({other: grid.columns[other] for other in bounds if not column.bound})
    return replace(grid.only(columns), columns=list(columns.values()), about="", keeps_empty=True) if columns else grid


def chosen(format: str | None, output: Path | None) -> str:
    """Return the format that was asked for, else that of the suffix of `output`, else the table. Raises `WrongCall`."""
    if format is not None:
        return format
    if output is None:
        return DEFAULT
    suffixes = {_module(name).SUFFIX: name for name in FORMATS}
    found = suffixes.get(output.suffix.lower())
    if found is None:
        known = ", ".join(f"{suffix} ({name})" for suffix, name in suffixes.items())
        raise WrongCall(f"--output {output}: the suffix names no format; expected {known}, or give --format")
    return found


def _module(name: str) -> ModuleType:
    return importlib.import_module(f"{__name__}.{name}")
