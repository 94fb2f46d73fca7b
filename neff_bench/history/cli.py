"""Declares `neff-bench history`: rows over commits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neff_bench.errors import DONE, FAILED, WrongCall
from neff_bench.terminal import streams
from neff_bench.terminal.answer import many
from neff_bench.terminal.command import command, group
from neff_bench.terminal.formats import FORMATS

if TYPE_CHECKING:
    from neff_bench.history.verdicts import Event

DB = click.option(
    "--db", type=click.Path(path_type=Path, file_okay=False), default=Path("history"), show_default=True,
    help="Directory of the history.",
)  # fmt: skip
FORMAT = click.option("--format", "format_", type=click.Choice(FORMATS), default="table", show_default=True)


@group("history", invoke_without_command=True)
@DB
@click.option(
    "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write a page (.html) or points (.parquet, .csv)."
)
@click.option("--link", help="Address of a commit with {sha} in it, for the page.")
@click.pass_context
def history(ctx: click.Context, db: Path, output: Path | None, link: str | None) -> None:
    """Keep the rows of every commit, and say since when a kernel is slower.

    Simulated numbers are exact: any difference is a change. Measured times scatter: their change points come from
    the package ruptures. Values of different models, tools or machines are never joined.

    \b
    neff-bench history add neffs.out --db history
    neff-bench history check --db history
    neff-bench history show --db history --only 'mlp_*'
    neff-bench history --db history --output history.html --link https://github.com/o/r/commit/{sha}
    """
    if ctx.invoked_subcommand is not None:
        if output is not None:
            raise WrongCall("--output goes without a subcommand")
        return
    if output is None:
        streams.line(ctx.get_help())
        return
    from neff_bench.history import export, page

    writers: dict[str, Callable[[], None]] = {
        ".html": lambda: page.write(db, output, link),
        ".parquet": lambda: export.write_parquet(db, output),
        ".csv": lambda: export.write_csv(db, output),
    }
    if output.suffix not in writers:
        raise WrongCall(f"--output {output}: expected a name that ends in {', '.join(writers)}")
    writers[output.suffix]()


@command("add")
@click.argument("store", type=click.Path(path_type=Path, exists=True))
@DB
@click.option("--commit", "sha", help="Name of the commit.  [default: the one checked out here]")
@click.option("--date", help="Its date, ISO 8601.  [default: the commit's]")
@click.option("--machine", help="Where measured rows were measured.  [default: the kind of this host]")
def add(store: Path, db: Path, sha: str | None, date: str | None, machine: str | None) -> None:
    """Add the rows of STORE (a directory, or rows as JSON) at a commit.

    \b
    neff-bench history add neffs.out --db history
    neff-bench history add rows.json --commit 1a2b3c4 --date 2026-11-21
    """
    from neff_bench.history import database, record
    from neff_bench.stage2_profile.compare.baseline import load

    if date is not None and sha is None:
        raise WrongCall("--date needs --commit")
    at = record.named(sha, date) if sha is not None else record.here(Path.cwd())
    rows = record.kept(load(store).records, machine)
    if not any(values or said.get("status") == "failed" for _, _, values, said in rows):
        raise WrongCall(f"{store}: no row to add that was profiled or failed")
    with database.opened(db, write=True) as connection:
        values, replaced = database.add(connection, at.sha, at.date, at.subject, rows)
    more = f", {replaced} of them replaced" if replaced else ""
    streams.status(f"{many(len(rows), 'row')}, {many(values, 'value')} at {at.sha[:12]}{more}")


@command("check")
@DB
@click.option("--last", type=click.IntRange(1), default=1, show_default=True, help="Commits that are judged together.")
@FORMAT
def check(db: Path, last: int, format_: str) -> int:
    """Say what the newest commits made worse or better; exit code 1 when something got worse.

    Asks what `neff-bench gate` asks, of the rows of the newest commits and of those before them. `show` finds since when a measured
    series drifts by less than its noise.

    \b
    neff-bench history check --db history
    neff-bench history check --db history --last 5
    """
    from neff_bench.history import database, verdicts
    from neff_bench.stage2_profile.compare.verdict import first_failure
    from neff_bench.stage2_profile.gate.report import answer
    from neff_bench.terminal.output import write_answer

    with database.opened(db) as connection:
        found = verdicts.judged(connection, last)
        for series in verdicts.began(connection, last):
            streams.notice(
                f"{series.key.case_name}: a new series by {series.key.made_by} begins; its times are compared with nothing before it"
            )
    if found is None:
        streams.line("nothing to compare with: the history has no commit before")
        return DONE
    write_answer(answer(found, {}, (), (), "History check"), format_, None)
    worse = first_failure(found)
    if worse is not None:
        streams.error(worse)
    return DONE if worse is None else FAILED


@command("show")
@DB
@click.option("--only", multiple=True, metavar="GLOB", help="Cases by name.")
@click.option("--metric", default=None, help="One metric, such as total_time_us.")
@FORMAT
def show(db: Path, only: tuple[str, ...], metric: str | None, format_: str) -> None:
    """Print every change of every series, the oldest first.

    \b
    neff-bench history show --db history --only 'mlp_*' --metric total_time_us
    """
    from fnmatch import fnmatchcase

    from neff_bench.history import database, verdicts

    with database.opened(db) as connection:
        found = [
            event
            for event in verdicts.events(connection)
            if (metric is None or event.metric == metric)
            and (not only or any(fnmatchcase(event.series.key.case_name, glob) for glob in only))
        ]
    _print(sorted(found, key=lambda event: (event.commit.date, event.commit.id)), format_)


def _print(events: list[Event], format_: str) -> None:
    from neff_bench.terminal.answer import Answer, Column, Grid
    from neff_bench.terminal.output import write_answer

    heads = ("commit", "case", "metric", "before", "after", "change", "verdict")
    lines = [
        [
            event.commit.sha[:12],
            event.series.label,
            event.metric,
            f"{event.change.before:.12g}",
            f"{event.change.after:.12g}",
            "" if event.change.percent is None else f"{event.change.percent:+.2f} %",
            event.verdict + (f" ({event.doubt} values)" if event.doubt is not None else ""),
        ]
        for event in events
    ]
    records: list[dict[str, Any]] = [
        {
            "commit": event.commit.sha,
            "date": event.commit.date,
            "case": event.series.key.case_name,
            "source": event.series.key.source,
            "made_by": event.series.key.made_by,
            "machine": event.series.key.machine,
            "metric": event.metric,
            "before": event.change.before,
            "after": event.change.after,
            "percent": event.change.percent,
            "verdict": event.verdict,
        }
        for event in events
    ]
    right = ("before", "after", "change")
    grid = Grid([Column(head, right=head in right, wraps=head == "case") for head in heads], lines)
    if not events and format_ in ("table", "md"):
        streams.line("no change")
        return
    write_answer(Answer(records, list(records[0]) if records else [], [grid]), format_, None)


for _one in (add, check, show):
    history.add_command(_one)
