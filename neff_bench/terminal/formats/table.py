"""Writes tables for a terminal: one line for each row, as long as the page is wide enough.

A page that is too narrow first leaves out the columns of the highest rank, then wraps texts, then shows each row as a block of `head text` pairs.
No text is ever cut.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

from neff_bench.terminal.answer import NONE, Answer, Column, Grid
from neff_bench.terminal.formats import Page
from neff_bench.terminal.text import plain

SUFFIX = ".txt"
INDENT, GAP = "  ", "   "
"""Before the lines of a block, and between two of its pairs."""
STYLES = {
    "passed": "green",
    "wrong": "red",
    "not built": "red",
    "failed": "red",
    "suspect": "red",
    "unchecked": "yellow",
    "captured": "yellow",
    "unprofiled": "yellow",
    "worse": "red",
    "better": "green",
}
_BREAKS = (re.compile(r"\S+\s*"), re.compile(r"[^\s._]*[\s._]+|[^\s._]+"))
"""The parts that a text may be broken into: words, or also what ends in `.` or `_`."""


def render(answer: Answer, page: Page) -> str:
    """Return a table for each grid, laid out for the page."""
    parts = ["\n".join(line.rstrip() for line in _grid(grid, page)) for grid in answer.grids]
    return "\n\n".join(part for part in parts if part) + "\n"


def _grid(grid: Grid, page: Page) -> Iterator[str]:
    if grid.title:
        yield from (_styled(line, page, bold=True) for line in _folded(plain(grid.title), page.width))
    known = grid.shown(wide=page.wide)
    if grid.lines and known.columns:
        shown, said = _without_common(_with_ranges(known))
        fitting = shown if page.wide else _without_ranked(shown, page.width)
        hidden = len(grid.shown(wide=True).columns) - len(known.columns)
        gone = hidden + len(shown.columns) - len(fitting.columns)
        said += [grid.about] if grid.about else []
        said += [f"--wide: {gone} more {'column' if gone == 1 else 'columns'}"] if gone else []
        if said:
            yield from _folded("; ".join(said), page.width)
        yield from _table(fitting, page) or _blocks(shown, page)
        if grid.notes:
            yield ""
    for note in grid.notes:
        yield from _folded(plain(note), page.width)


def _with_ranges(grid: Grid) -> Grid:
    """Put the two columns of a range behind the number that it is the range of."""
    columns, lines = list(grid.columns), [list(line) for line in grid.lines]
    lows = [at for at in range(1, len(columns) - 1) if columns[at].bound and columns[at + 1].bound]
    for at in reversed(lows):
        ranges = [f"({_end(line[at])}-{_end(line[at + 1])})" if line[at] != NONE else "" for line in lines]
        values = [_rounded(line[at - 1]) for line in lines]
        wide, most = max(map(len, values)), max(map(len, ranges))
        for line, value, text in zip(lines, values, ranges):
            line[at - 1 : at + 2] = [f"{value:>{wide}} {text:<{most}}"]
        columns[at - 1 : at + 2] = [columns[at - 1]._replace(right=False)]
    return Grid(columns, lines, grid.notes, grid.title, grid.about, grid.keeps_empty)


def _rounded(number: str) -> str:
    """Return a number that has a range, with three or four digits."""
    if number == NONE:
        return number
    return f"{float(number):.{0 if float(number) >= 1000 else 1 if float(number) >= 10 else 2}f}"


def _end(number: str) -> str:
    """Return an end of a range: a whole number from 10 on, one digit behind the point below."""
    return f"{float(number):.0f}" if float(number) >= 10 else f"{float(number):.1f}"


def _without_common(grid: Grid) -> tuple[Grid, list[str]]:
    """Return the grid without the columns that say the same of all lines, and what they say."""
    same = [
        at for at, column in enumerate(grid.columns) if column.common and len({line[at] for line in grid.lines}) == 1
    ]
    said = [f"{grid.columns[at].head} {plain(grid.lines[0][at])}" for at in same]
    return grid.only(at for at in range(len(grid.columns)) if at not in same), [", ".join(said)] if said else []


def _without_ranked(grid: Grid, width: int) -> Grid:
    """Keep as many columns as fit on one line: those of the highest rank go first."""
    order = sorted(range(len(grid.columns)), key=lambda at: -grid.columns[at].rank)
    while sum(_widths(grid)) + len(grid.columns) - 1 > width and order and grid.columns[order[0]].rank:
        gone = order.pop(0)
        order = [at - (at > gone) for at in order]
        grid = grid.only(at for at in range(len(grid.columns)) if at != gone)
    return grid


def _widths(grid: Grid) -> list[int]:
    """Return how wide each column is without a break."""
    texts = zip(*([column.head for column in grid.columns], *grid.lines), strict=True)
    return [max(map(_width, column)) for column in texts]


def _table(grid: Grid, page: Page) -> list[str]:
    """Return the lines of the table; empty where the page is too narrow for it."""
    for breaks in _BREAKS:
        widths = _widths(grid) if page.wide else _fitted(grid, page.width, breaks)
        if not widths:
            continue
        headed = any(column.head.strip() for column in grid.columns)
        head = [column.head for column in grid.columns]
        shown = [*_line(grid.columns, head, widths, breaks, page, bold=True)] if headed else []
        shown += ["─" * (sum(widths) + len(widths) - 1)] if headed else []
        return shown + [
            text for line in grid.lines for text in _line(grid.columns, line, widths, breaks, page, bold=False)
        ]
    return []


def _fitted(grid: Grid, width: int, breaks: re.Pattern[str]) -> list[int]:
    """Return the widths of the columns on a page: those that wrap share what is left. Empty where it is too narrow."""
    widths, room = _widths(grid), width - len(grid.columns) + 1
    wrapping = [at for at, column in enumerate(grid.columns) if column.wraps]
    least = {
        at: max(_width(part.rstrip()) for line in (grid.columns[at].head, *(line[at] for line in grid.lines))
                for part in (*breaks.findall(line), ""))
        for at in wrapping
    }  # fmt: skip
    while sum(widths) > room:
        able = [at for at in wrapping if widths[at] > least[at]]
        if not able:
            return []
        widths[max(able, key=lambda at: widths[at])] -= 1
    return widths


def _line(
    columns: Sequence[Column],
    line: Sequence[str],
    widths: Sequence[int],
    breaks: re.Pattern[str],
    page: Page,
    *,
    bold: bool,
) -> Iterator[str]:
    """Yield one row of the table, on as many lines as its longest text takes."""
    cells = [_wrapped(plain(text), size, breaks) for text, size in zip(line, widths)]
    for texts in itertools.zip_longest(*cells, fillvalue=""):
        padded = (
            _padding(text, size, column.right, _styled(text, page, bold=bold))
            for text, size, column in zip(texts, widths, columns)
        )
        yield " ".join(padded)


def _padding(text: str, width: int, right: bool, styled: str) -> str:
    space = " " * (width - _width(text))
    return space + styled if right else styled + space


def _wrapped(text: str, width: int, breaks: re.Pattern[str]) -> list[str]:
    """Return the text on lines of a width that has room for each of its parts."""
    if _width(text) <= width:
        return [text]
    lines = [""]
    for part in breaks.findall(text.strip()):
        if _width(lines[-1]) + _width(part.rstrip()) > width:
            lines.append("")
        lines[-1] += part
    return [line.rstrip() for line in lines if line.strip()]


def _blocks(grid: Grid, page: Page) -> Iterator[str]:
    """Yield each row as its first text on lines of its own, then `head text` pairs, as many on a line as fit."""
    for line in grid.lines:
        first, *rest = (
            f"{column.head} {text}" if number and column.head else text
            for number, (column, text) in enumerate(
                zip(grid.columns, (plain(text).strip() for text in line), strict=True)
            )
            if number == 0 or text not in ("", NONE)
        )
        yield from _folded(first, page.width)
        filled = ""
        for pair in rest:
            if filled and len(INDENT) + _width(filled) + len(GAP) + _width(pair) > page.width:
                yield from (INDENT + part for part in _folded(filled, page.width - len(INDENT)))
                filled = ""
            filled += (GAP if filled else "") + pair
        if filled:
            yield from (INDENT + part for part in _folded(filled, page.width - len(INDENT)))


def _folded(text: str, width: int) -> list[str]:
    """Return the text on lines of this width, broken between words and, where a word is longer than a line, within it."""
    words = [part for word in _BREAKS[0].findall(text) for part in _chopped(word, width)]
    lines = [""]
    for word in words:
        if _width(lines[-1]) + _width(word.rstrip()) > width:
            lines.append("")
        lines[-1] += word
    return [line.rstrip() for line in lines] if words else [text]


def _chopped(word: str, width: int) -> Iterator[str]:
    while _width(word.rstrip()) > width:
        room = next(at for at in range(len(word), 0, -1) if _width(word[:at]) <= width or at == 1)
        yield word[:room]
        word = word[room:]
    yield word


def _width(text: str) -> int:
    """Return the columns of a terminal that a text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _styled(text: str, page: Page, *, bold: bool) -> str:
    color = STYLES.get(text)
    if not page.color or not (bold or color):
        return text
    import click

    return click.style(text, fg=color, bold=bold or None)
