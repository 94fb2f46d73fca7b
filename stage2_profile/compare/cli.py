"""`neff-bench compare`: two sets of profiles side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from neff_bench.terminal.command import command
from neff_bench.terminal.formats import chosen
from neff_bench.terminal.output import output_options
from neff_bench.viewer.suffix import PAGE, is_page


def _list_metrics(ctx: click.Context, option: click.Parameter, value: bool) -> None:
    if not value:
        return
    from neff_bench.stage2_profile.compare.report import metrics_answer
    from neff_bench.terminal.output import write_answer

    write_answer(metrics_answer(), "table", None)
    ctx.exit()


@command("compare")
@click.argument("first", metavar="A", type=click.Path(path_type=Path))
@click.argument("second", metavar="[B]", required=False, type=click.Path(path_type=Path))
@click.option("--between", nargs=2, metavar="IMPL IMPL", help="Compare two implementations inside A.")
@click.option("--baseline", type=click.Path(path_type=Path), metavar="FILE", help="Compare A with a saved baseline.")
@click.option("--save", type=click.Path(path_type=Path), metavar="FILE", help="Save the rows of A as a baseline.")
@click.option(
    "--fail-if",
    "rules",
    multiple=True,
    metavar="METRIC:PCT%",
    help="Exit with 1 when the metric gets worse by more; METRIC:=PCT%: when it changes by more (repeatable).",
)
@click.option(
    "--list-metrics", is_flag=True, is_eager=True, expose_value=False, callback=_list_metrics,
    help="Say which metrics there are, and exit.",
)  # fmt: skip
@click.option("--mixed", is_flag=True, help="Compare also what differs in LNC, target or source.")
@click.option("--metric", "metrics", multiple=True, metavar="GLOB", help="Show these metrics (repeatable).")
@click.option(
    "--all", "list_all", is_flag=True, help="List what is the same too, and every metric unless --metric chooses."
)
@output_options
def compare(format_: str | None, output: Path | None, **options: Any) -> int:
    """Compare profiles: the ratio of each metric, and whether B is worse, better, the same, or nobody can tell.

    A and B are stores, JSON files of rows (profile-neffs --format json), or single profiles (profile JSON, NTFF or one
    bundle), which are compared whatever their names. Rows that differ in LNC, target or source are
    not compared unless --mixed says so. Exit code 0: nothing is worse; 1: B is worse, as `neff-bench gate` says it, or a
    rule of --fail-if is broken, which then decides alone; 2: wrong call. --between says which of two implementations is better
    and ends with 0.

    \b
    neff-bench compare before.json after.json
    neff-bench compare neffs --between nki xla
    neff-bench compare neffs --save baseline.json
    neff-bench compare neffs --baseline baseline.json --fail-if total_time_us:5% --fail-if hbm_read_bytes:=0%
    neff-bench compare before/ntff.json after/ntff.json --all
    neff-bench compare neffs --baseline baseline.json --format md
    neff-bench compare before after --output diff.html         # a page: both timelines, one over the other
    """
    from neff_bench.stage2_profile.compare.command import compare_rows

    page = format_ is None and is_page(output)
    return compare_rows(format_=PAGE if page else chosen(format_, output), output=output, **options)


if __name__ == "__main__":
    compare()
