"""Shows progress on standard error: a bar on a terminal, one plain line for each step elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from neff_bench.terminal import streams
from neff_bench.terminal.text import plain

_SOON_S = 10.0
"""Time left that is not worth a word."""


class Step(Protocol):
    """A function that is called once for each step. `failed`: the text stays visible beside a bar."""

    def __call__(self, text: str, *, failed: bool = False) -> None:
        """Count one more as done; `text` says which."""


@contextmanager
def progress(total: int, what: str) -> Iterator[Step]:
    """Give the function that counts a step. `what`: the work, as the bar names it."""
    if sys.stderr.isatty() and total:
        with _bar(total, what) as step:
            yield step
    else:
        yield _lines(total)


def _lines(total: int) -> Step:
    count, start = 0, time.monotonic()
    width = len(str(total))

    def step(text: str, *, failed: bool = False) -> None:
        nonlocal count
        count += 1
        streams.status(f"[{count:{width}}/{total}] {text}{_left(start, count, total)}")

    return step


def _left(start: float, count: int, total: int) -> str:
    """Return the time that the rest will take at the pace so far; nothing where that is soon."""
    left_s = (time.monotonic() - start) / count * (total - count)
    if left_s < _SOON_S:
        return ""
    minutes, seconds = divmod(round(left_s), 60)
    hours, minutes = divmod(minutes, 60)
    return f" ({hours}:{minutes:02}:{seconds:02} left)"


@contextmanager
def _bar(total: int, what: str) -> Iterator[Step]:
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.table import Column
    from rich.text import Text

    # The case takes what the numbers leave of the line, so that the line fits any terminal of 60 columns.
    case = TextColumn("{task.description}", table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis"))
    times = (TextColumn("elapsed"), TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
    with Progress(case, MofNCompleteColumn(), *times, console=Console(stderr=True), transient=True, expand=True) as bar:
        task = bar.add_task(what, total=total)

        def step(text: str, *, failed: bool = False) -> None:
            bar.update(task, advance=1, description=plain(text).replace("[", "\\["))
            if failed:
                bar.console.print(Text(plain(text), style="red"))

        yield step
