"""An answer as Markdown tables, fit for an issue or a pull request."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from neff_bench.stage2_profile.report.answer import Answer, Grid


def render(answer: Answer) -> str:
    return "\n\n".join("\n".join(_grid(grid)) for grid in answer.grids) + "\n"


def _grid(grid: Grid) -> Iterable[str]:
    shown = grid.without_empty_columns()
    if grid.title:
        yield f"### {_escape(grid.title)}"
        yield ""
    if grid.lines:
        yield _line([column.head for column in shown.columns])
        yield _line(["---:" if column.right else ":---" for column in shown.columns])
        yield from map(_line, shown.lines)
    if grid.notes:
        yield ""
        yield from (f"- {_escape(note)}" for note in grid.notes)


def _line(texts: Sequence[str]) -> str:
    return "| " + " | ".join(_escape(text) for text in texts) + " |"


def _escape(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
