"""Writes pieces of HTML. Whatever comes from a profile passes through `text`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import zip_longest

from neff_bench.terminal.answer import Column, Grid
from neff_bench.terminal.text import plain

NS_PER_US = 1000.0
BADGE = '<span class="badge" title="No device ran: the times are those of a model.">Simulated</span>'


def text(value: object) -> str:
    """Return what is shown of a value: no markup, on one line."""
    return escape(plain(str(value)))


def heading(level: int, title: str, simulated: bool) -> str:
    """Return a heading, marked where what stands under it is simulated."""
    return f"<h{level}>{text(title)}{' ' + BADGE if simulated else ''}</h{level}>"


def panel(title: str, body: str, simulated: bool, name: str) -> str:
    """Return a part of a case's view. `name`: its class."""
    return f'<section class="panel {name}">{heading(3, title, simulated)}{body}</section>'


def us(ns: float) -> str:
    """Return a time for people, in microseconds."""
    return f"{ns / NS_PER_US:.3f}"


def table(
    heads: Sequence[str], lines: Iterable[Sequence[str]], right: Sequence[bool] = (), links: Sequence[str] = ()
) -> str:
    """Return cells of text. `right`: for each column, whether it holds numbers. `links`: for each line the source lines that a click on it finds."""
    marks = [' class="n"' if column else "" for column in right] or [""] * len(heads)
    head = "".join(
        f"{f'<th{mark} scope=col>{text(name)}</th>' if name else '<td></td>'}" for name, mark in zip(heads, marks)
    )
    body = "".join(
        f"<tr{link}>" + "".join(f"<td{mark}>{text(cell)}</td>" for cell, mark in zip(line, marks)) + "</tr>"
        for line, link in zip_longest(
            lines, (f' data-line="{link}" tabindex=0' if link else "" for link in links), fillvalue=""
        )
    )
    reached = "" if any(links) else " tabindex=0"  # what scrolls is reached by keyboard
    return f'<div class="scroll tall"{reached}><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def grid(shown: Grid, links: Sequence[int | None] = ()) -> str:
    """Return a table of rows that can be sorted and filtered. `links`: for each line the case that it opens."""
    shown = shown if links else shown.shown()
    marks = ["" if column.right else " class=t" for column in shown.columns]  # most columns hold numbers
    head = "".join(
        f"<th{mark} scope=col aria-sort=none><button type=button{_label(column)}>{text(column.head)}</button></th>"
        for column, mark in zip(shown.columns, marks)
    )
    body = []
    for number, line in enumerate(shown.lines):
        link = links[number] if links else None
        cells = [f"<td{mark}>{text(cell)}</td>" for cell, mark in zip(line, marks)]
        if link is not None:
            cells[0] = f'<td{marks[0]}><a href="#case={link}">{text(line[0])}</a></td>'
        body.append(f"<tr{'' if link is None else f' data-case={link}'}>{''.join(cells)}</tr>")
    notes = "".join(f"<li>{text(note)}</li>" for note in shown.notes)
    return (
        f'<div class="scroll rows"><table><thead><tr>{head}</tr></thead><tbody>{"".join(body)}</tbody></table></div>'
        f'<ul class="notes">{notes}</ul>'
    )


def _label(column: Column) -> str:
    """Return what a column means, for the pointer; the name of one without a head, for who does not see it."""
    if column.meaning:
        return f' title="{text(column.meaning)}"'
    return "" if column.head else f' aria-label="{text(column.name or "marks")}"'
