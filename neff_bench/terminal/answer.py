"""What a command answers, before it takes a format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

NONE = "-"
"""The text for what is not known."""


class Column(NamedTuple):
    """`right`: numbers. `wraps`: may take several lines where the page is narrow."""

    head: str
    right: bool = False
    wraps: bool = False


@dataclass(frozen=True)
class Grid:
    """A table for people. `lines`: one text for each column. `notes`: what must be said under it.

    `keeps_empty`: show also a column in which nothing is known.
    """

    columns: Sequence[Column]
    lines: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    title: str = ""
    keeps_empty: bool = False

    def shown(self) -> Grid:
        """Without the columns in which nothing is known."""
        if self.keeps_empty:
            return self
        known = [
            index for index in range(len(self.columns)) if any(line[index] not in ("", NONE) for line in self.lines)
        ]
        lines = [[line[index] for index in known] for line in self.lines]
        return replace(self, columns=[self.columns[index] for index in known], lines=lines)


@dataclass(frozen=True)
class Answer:
    """`records`: for programs (CSV, JSON), with raw values and None for what is not known; `fields`: their keys in order,
    of all records together. `grids`: for people (table, Markdown). `document`: what JSON holds instead of the records."""

    records: Sequence[Mapping[str, Any]]
    fields: Sequence[str]
    grids: Sequence[Grid]
    document: Any = None
