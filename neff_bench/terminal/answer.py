"""Says what a command answers, before it takes a format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

NONE = "-"
"""The text for what is not known."""
HIDDEN = 99
"""The `rank` of a column that is shown only when it is asked for."""


class Column(NamedTuple):
    """A column of a table for people.

    `right`: it holds numbers. `wraps`: its texts may take several lines where the page is narrow. `name`: the key that
    `--columns` knows it by beside its head. `rank`: a terminal that is too narrow leaves out the columns of the highest rank
    first; those of rank 0 always stay. `common`: where all lines have the same text, a terminal shows it once, above the table.
    `meaning`: what it holds, which a page shows where the pointer rests on its head.
    `bound`: it is the low or the high end of a range; a terminal shows both as `(low-high)` behind the number before them.
    """

    head: str
    right: bool = False
    wraps: bool = False
    name: str = ""
    rank: int = 0
    common: bool = False
    bound: bool = False
    meaning: str = ""


@dataclass(frozen=True)
class Grid:
    """A table for people. `lines`: one text for each column. `notes`: what must be said under it. `about`: what a terminal says above it.

    `keeps_empty`: it shows also a column in which nothing is known.
    """

    columns: Sequence[Column]
    lines: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    title: str = ""
    about: str = ""
    keeps_empty: bool = False

    def shown(self, *, wide: bool = False) -> Grid:
        """Return the table without hidden columns, unless `wide`, and without those in which nothing is known."""
        return self.only(
            at
            for at, column in enumerate(self.columns)
            if (wide or column.rank != HIDDEN)
            and (self.keeps_empty or any(line[at] not in ("", NONE) for line in self.lines))
        )

    def only(self, numbers: Any) -> Grid:
        """Return the columns with these numbers, in this order."""
        kept = list(numbers)
        lines = [[line[at] for at in kept] for line in self.lines]
        return replace(self, columns=[self.columns[at] for at in kept], lines=lines)


@dataclass(frozen=True)
class Answer:
    """`records`: for programs (CSV, JSON), with raw values and None for what is not known; `fields`: their keys in order,
    of all records together. `grids`: for people (table, Markdown). `document`: what JSON holds instead of the records."""

    records: Sequence[Mapping[str, Any]]
    fields: Sequence[str]
    grids: Sequence[Grid]
    document: Any = None


def many(count: int, what: str) -> str:
    """Return a count with its noun: `1 case`, `2 cases`."""
    return f"{count} {what}{'' if count == 1 else 's'}"
