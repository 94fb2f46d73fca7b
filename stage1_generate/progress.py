"""Progress of a build on standard error: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from neff_bench.stage1_generate.build.build import Outcome


@contextmanager
def progress(total: int) -> Iterator[Callable[[Outcome], None]]:
    """A function that is to be called with each outcome."""
    if sys.stderr.isatty():
        with _bar(total) as show:
            yield show
    else:
        yield _lines(total)


def _lines(total: int) -> Callable[[Outcome], None]:
    done = 0
    width = len(str(total))

    def show(outcome: Outcome) -> None:
        nonlocal done
        done += 1
        print(f"[{done:{width}}/{total}] {_text(outcome)}", file=sys.stderr, flush=True)

    return show


@contextmanager
def _bar(total: int) -> Iterator[Callable[[Outcome], None]]:
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=total)

        def show(outcome: Outcome) -> None:
            bar.update(task, advance=1, description=escape(outcome.name))
            if outcome.status in ("failed", "not built"):
                bar.console.print(f"[red]{escape(_text(outcome))}[/red]", highlight=False)

        yield show


def _text(outcome: Outcome) -> str:
    time = f" {outcome.time_s:.2f} s" if outcome.status == "built" else ""
    why = f": {outcome.reason}" if outcome.reason else ""
    return f"{outcome.status} {outcome.name}{time}{why}"
