"""Writes Markdown tables, fit for an issue or a pull request."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from neff_bench.terminal.answer import Answer, Grid
from neff_bench.terminal.formats import Page
from neff_bench.terminal.text import markdown

SUFFIX = ".md"


def render(answer: Answer, page: Page) -> str:
    """Return a table for each grid."""
    return "\n\n".join("\n".join(_grid(grid)) for grid in answer.grids) + "\n"


def _grid(grid: Grid) -> Iterable[str]:
    shown = grid.shown()
    if grid.title:
        yield f"### {markdown(grid.title)}"
        yield ""
    if grid.lines:
        yield _line([column.head for column in shown.columns])
        yield _line(["---:" if column.right else ":---" for column in shown.columns])
        yield from map(_line, shown.lines)
    if grid.notes:
        yield ""
        yield from (f"- {markdown(note)}" for note in grid.notes)


def _line(texts: Sequence[str]) -> str:
    return "| " + " | ".join(markdown(text) for text in texts) + " |"
