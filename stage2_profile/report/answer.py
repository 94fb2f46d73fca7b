"""What a command answers, before it takes a format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

NONE = "-"
"""The text for what is not known."""


class Column(NamedTuple):
    head: str
    right: bool = False
    wraps: bool = False


@dataclass(frozen=True)
class Grid:
    """A table for people. `lines`: one text for each column. `notes`: what must be said under it."""

    columns: Sequence[Column]
    lines: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    title: str = ""

    def without_empty_columns(self) -> Grid:
        shown = [
            index for index in range(len(self.columns)) if any(line[index] not in ("", NONE) for line in self.lines)
        ]
        lines = [[line[index] for index in shown] for line in self.lines]
        return Grid([self.columns[index] for index in shown], lines, self.notes, self.title)


@dataclass(frozen=True)
class Answer:
    """`records`: for programs (CSV, JSON), with raw values and None for what is not known; `fields`: their keys in order,
    of all records together. `grids`: for people (table, Markdown)."""

    records: Sequence[dict[str, Any]]
    fields: Sequence[str]
    grids: Sequence[Grid]
