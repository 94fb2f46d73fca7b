"""Tables for a terminal.

Where a page is too narrow for a table, each of its lines becomes a block of `head text` pairs: nothing is cut.
"""

from __future__ import annotations

import io
import itertools
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from neff_bench.terminal.answer import NONE, Answer, Column, Grid
from neff_bench.terminal.formats import Page
from neff_bench.terminal.text import plain

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

SUFFIX = ".txt"
NARROWEST = 24
"""Columns that a text which may wrap keeps at least; a longer word is folded."""
INDENT, GAP = "  ", "   "
"""Of a block: before its lines, and between two pairs."""
STYLES = {
    "passed": "green",
    "failed": "red",
    "not built": "red",
    "suspect": "red",
    "wrong": "red",
    "unchecked": "yellow",
    "captured": "yellow",
    "unprofiled": "yellow",
    "worse": "red",
    "better": "green",
}


def render(answer: Answer, page: Page) -> str:
    """A table for each grid, laid out for the page."""
    text = None if page.color else _plain(answer, page.width)
    return _with_rich(answer, page) if text is None else text


def _with_rich(answer: Answer, page: Page) -> str:
    from rich.console import Console

    out = io.StringIO()
    color = page.color
    system: Literal["standard"] | None = "standard" if color else None
    console = Console(
        file=out, width=page.width, force_terminal=color, no_color=not color, color_system=system, highlight=False
    )
    for number, grid in enumerate(answer.grids):
        if number:
            console.print()
        _print(console, grid)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _print(console: Console, grid: Grid) -> None:
    from rich.text import Text

    if grid.title:
        console.print(Text(plain(grid.title), style="bold"), soft_wrap=True)
    if grid.lines:
        shown = grid.shown()
        if _least_width(shown) <= console.width:
            console.print(_table(shown))
        else:
            for line in shown.lines:
                for part in _block(shown.columns, line, console.width):
                    console.print(Text(part), soft_wrap=True)
        if grid.notes:
            console.print()
    for note in grid.notes:
        console.print(Text(plain(note)))


def _plain(answer: Answer, width: int) -> str | None:
    """What rich prints without colour, without its import of 50 ms; None where that takes more than ASCII or a word is folded."""
    parts: list[str] = []
    for number, grid in enumerate(answer.grids):
        parts += [""] if number else []
        parts += [plain(grid.title)] if grid.title else []
        lines = _aligned(grid.shown(), width) if grid.lines else []
        notes = [_wrapped(plain(note), width) for note in grid.notes]
        if lines is None or None in notes:
            return None
        parts += lines + ([""] if lines and notes else [])
        parts += [line for note in notes for line in note or ()]
    text = "\n".join(line.rstrip() for line in parts) + "\n"
    return text if text.replace("─", "").isascii() else None


def _aligned(grid: Grid, width: int) -> list[str] | None:
    """The lines of a table; None where it does not fit, a word is folded, or a text is not ASCII."""
    lines = [[column.head for column in grid.columns], *grid.lines]
    if not grid.columns or not all(map(_is_simple, itertools.chain(*lines))):
        return None
    room = width - len(grid.columns) + 1
    widths = [max(map(len, texts)) for texts in zip(*lines, strict=True)]
    wrapping = [at for at, column in enumerate(grid.columns) if column.wraps]
    for at in wrapping:
        widths[at] = min(widths[at], room)
    over = sum(widths) - room
    if over > 0:
        if over >= sum(widths[at] for at in wrapping):
            return None
        _narrow(widths, wrapping, over)
        if min(widths) < 1:
            return None
    form = " ".join(f"{{:{'>' if column.right else '<'}{size}}}" for column, size in zip(grid.columns, widths))
    head, *rest = ([_wrapped(text, size) for text, size in zip(line, widths)] for line in lines)
    if any(cell is None for line in (head, *rest) for cell in line):
        return None
    shown = [
        [form.format(*texts) for texts in itertools.zip_longest(*(cell or () for cell in line), fillvalue="")]
        for line in (head, *rest)
    ]
    above = [*shown[0], "─" * len(shown[0][0])] if any(column.head.strip() for column in grid.columns) else []
    return above + [text for line in shown[1:] for text in line]


def _narrow(widths: list[int], wrapping: Sequence[int], over: int) -> None:
    """Take `over` from the columns that wrap. The widest of them shrink together until they are as wide as the next, as rich's do."""
    while over > 0:
        most = max(widths[at] for at in wrapping)
        step = min(over, most - max((widths[at] for at in wrapping if widths[at] < most), default=0))
        widest = [at for at in wrapping if widths[at] == most]
        for others, at in zip(range(len(widest), 0, -1), widest):
            cut = min(step, round(over / others))
            widths[at] -= cut
            over -= cut


def _is_simple(text: str) -> bool:
    """Whether each character takes one column and rich keeps all of them."""
    return text.isascii() and text.isprintable() and text == text.strip()


def _wrapped(text: str, width: int) -> list[str] | None:
    """The text on lines; None where a word is longer than a line."""
    if len(text) <= width:
        return [text]
    if max(map(len, text.split()), default=0) > width:
        return None
    return textwrap.wrap(text, width, break_on_hyphens=False, break_long_words=False)


def _least_width(grid: Grid) -> int:
    """Columns that the table takes at least."""
    from rich.cells import cell_len

    total = len(grid.columns) - 1
    for index, column in enumerate(grid.columns):
        texts = [line[index] for line in grid.lines]
        if column.wraps:
            longest = max((cell_len(word) for text in texts for word in text.split()), default=0)
            total += max(cell_len(column.head), min(longest, NARROWEST))
        else:
            total += max(cell_len(text) for text in (column.head, *texts))
    return total


def _table(grid: Grid) -> RenderableType:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    headed = any(column.head for column in grid.columns)
    table = Table(box=box.SIMPLE_HEAD, padding=0, pad_edge=False, show_edge=False, show_header=headed)
    for column in grid.columns:
        justify: Literal["left", "right"] = "right" if column.right else "left"
        table.add_column(
            Text(column.head), justify=justify, overflow="fold", no_wrap=not column.wraps, header_style="bold"
        )
    for line in grid.lines:
        table.add_row(*(Text(plain(text), style=STYLES.get(text, "")) for text in line))
    return table


def _block(columns: Sequence[Column], line: Sequence[str], width: int) -> Iterator[str]:
    """The first text on lines of its own, then `head text` pairs, as many on a line as fit."""
    from rich.cells import cell_len

    first, *rest = (
        f"{column.head} {plain(text)}" if number and column.head else plain(text)
        for number, (column, text) in enumerate(zip(columns, line, strict=True))
        if number == 0 or text not in ("", NONE)
    )
    yield from _folded(first, width)
    filled = ""
    for pair in rest:
        if filled and cell_len(INDENT) + cell_len(filled) + len(GAP) + cell_len(pair) > width:
            yield from (INDENT + part for part in _folded(filled, width - len(INDENT)))
            filled = ""
        filled += (GAP if filled else "") + pair
    if filled:
        yield from (INDENT + part for part in _folded(filled, width - len(INDENT)))


def _folded(text: str, width: int) -> list[str]:
    from rich.console import Console
    from rich.text import Text

    return [part.plain.rstrip() for part in Text(text).wrap(Console(width=width), width, overflow="fold")]
