"""Rows as a table for a terminal of 120 columns."""

from __future__ import annotations

import io
from collections.abc import Sequence

from stage2_profile.report.layout import grid, notes
from stage2_profile.rows import Row

STYLES = {"passed": "green", "failed": "red", "zero": "red", "unchecked": "yellow", "captured": "yellow"}


def render(rows: Sequence[Row], *, width: int = 120, color: bool = False) -> str:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, padding=0, pad_edge=False, show_edge=False)
    columns, texts_of_rows = grid(rows)
    for column in columns:
        wide = column.head in ("kernel", "shape")
        table.add_column(
            column.head,
            justify="right" if column.right else "left",
            overflow="fold",
            no_wrap=not wide,
            header_style="bold",
        )
    for texts in texts_of_rows:
        table.add_row(*(Text(text) for text in texts[:-1]), Text(texts[-1], style=STYLES.get(texts[-1], "")))
    out = io.StringIO()
    console = Console(
        file=out, width=width, force_terminal=color, no_color=not color, color_system="standard" if color else None
    )
    console.print(table)
    console.print()
    for note in notes(rows):
        console.print(Text(note))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"
