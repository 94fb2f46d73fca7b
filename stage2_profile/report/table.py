"""An answer as tables for a terminal of 120 columns."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Literal

from neff_bench.stage2_profile.report.answer import Answer, Grid

if TYPE_CHECKING:
    from rich.console import Console

STYLES = {
    "passed": "green",
    "failed": "red",
    "zero": "red",
    "unchecked": "yellow",
    "captured": "yellow",
    "unprofiled": "yellow",
    "worse": "red",
    "better": "green",
}


def render(answer: Answer, *, width: int = 120, color: bool = False) -> str:
    from rich.console import Console

    out = io.StringIO()
    system: Literal["standard"] | None = "standard" if color else None
    console = Console(
        file=out, width=width, force_terminal=color, no_color=not color, color_system=system, highlight=False
    )
    for number, grid in enumerate(answer.grids):
        if number:
            console.print()
        _print(console, grid)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _print(console: Console, grid: Grid) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    if grid.title:
        console.print(Text(grid.title, style="bold"))
    if grid.lines:
        shown = grid.without_empty_columns()
        table = Table(box=box.SIMPLE_HEAD, padding=0, pad_edge=False, show_edge=False)
        for column in shown.columns:
            justify: Literal["left", "right"] = "right" if column.right else "left"
            table.add_column(
                column.head, justify=justify, overflow="fold", no_wrap=not column.wraps, header_style="bold"
            )
        for line in shown.lines:
            table.add_row(*(Text(text, style=STYLES.get(text, "")) for text in line))
        console.print(table)
        if grid.notes:
            console.print()
    for note in grid.notes:
        console.print(Text(note))
