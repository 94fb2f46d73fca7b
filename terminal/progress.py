"""Progress on standard error: a bar on a terminal, one plain line for each step elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from neff_bench.terminal import streams
from neff_bench.terminal.text import plain


class Step(Protocol):
    """To be called once for each step. `failed`: the text stays visible beside a bar."""

    def __call__(self, text: str, *, failed: bool = False) -> None:
        """One more is done; `text` says which."""


@contextmanager
def progress(total: int, what: str) -> Iterator[Step]:
    """Gives the function that counts a step. `what`: the work, as the bar names it."""
    if sys.stderr.isatty() and total:
        with _bar(total, what) as step:
            yield step
    else:
        yield _lines(total)


def _lines(total: int) -> Step:
    count = 0
    width = len(str(total))

    def step(text: str, *, failed: bool = False) -> None:
        nonlocal count
        count += 1
        streams.status(f"[{count:{width}}/{total}] {text}")

    return step


@contextmanager
def _bar(total: int, what: str) -> Iterator[Step]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.text import Text

    shown = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*shown, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)

        def step(text: str, *, failed: bool = False) -> None:
            bar.update(task, advance=1, description=plain(text).replace("[", "\\["))
            if failed:
                bar.console.print(Text(plain(text), style="red"))

        yield step
