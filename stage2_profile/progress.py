"""Progress on standard error: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from neff_bench.stage2_profile.metrics.rows import Row


@contextmanager
def progress(total: int) -> Iterator[Callable[[Row], None]]:
    """Gives the function to call with each row that is ready."""
    if sys.stderr.isatty() and total:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        shown = (
            TextColumn("profiling"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}"),
        )
        with Progress(*shown, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("", total=total)
            yield lambda row: bar.update(task, advance=1, description=row.case)
        return
    count = 0

    def line(row: Row) -> None:
        nonlocal count
        count += 1
        print(
            f"[{count}/{total}] {row.case}: {row.status}" + (f", {row.reason}" if row.reason else ""),
            file=sys.stderr,
            flush=True,
        )

    yield line
