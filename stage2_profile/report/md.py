"""Rows as a Markdown table, fit for an issue or a pull request."""

from __future__ import annotations

from collections.abc import Sequence

from stage2_profile.report.layout import grid, notes
from stage2_profile.rows import Row


def render(rows: Sequence[Row]) -> str:
    columns, texts = grid(rows)
    lines = [
        _line([column.head for column in columns]),
        _line(["---:" if column.right else ":---" for column in columns]),
        *(_line(row) for row in texts),
        "",
        *(f"- {_escape(note)}" for note in notes(rows)),
    ]
    return "\n".join(lines) + "\n"


def _line(texts: Sequence[str]) -> str:
    return "| " + " | ".join(_escape(text) for text in texts) + " |"


def _escape(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
