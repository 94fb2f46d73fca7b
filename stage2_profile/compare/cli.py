"""Declares `neff-bench compare`: two sets of profiles side by side."""

from __future__ import annotations

import click

from neff_bench.stage2_profile.compare.asked import CompareOptions
from neff_bench.terminal.command import command
from neff_bench.terminal.options import takes


def _list_metrics(ctx: click.Context, option: click.Parameter, value: bool) -> None:
    if not value:
        return
    from neff_bench.stage2_profile.compare.report import metrics_answer
    from neff_bench.stage2_profile.metrics.rows import METRICS
    from neff_bench.terminal.output import write_answer

    write_answer(metrics_answer(METRICS.values()), "table", None)
    ctx.exit()


@command("compare")
@takes(CompareOptions)
@click.option(
    "--list-metrics", is_flag=True, is_eager=True, expose_value=False, callback=_list_metrics,
    help="Say which metrics there are and what each means, and exit.",
)  # fmt: skip
def compare(options: CompareOptions) -> int:
    """Compare profiles: the ratio of each metric, and whether B is worse, better, the same, or nobody can tell.

    A and B are stores, JSON files of rows (profile-neffs --format json), or single profiles (profile JSON, NTFF or one
    bundle), which are compared whatever their names. Rows that differ in LNC, target or source are
    not compared unless --mixed says so. Exit code 0: nothing is worse; 1: B is worse, as `neff-bench gate` says it, or a
    rule of --fail-if is broken, if there is one; 2: wrong call. --between says which of two implementations is better
    and ends with 0.

    \b
    neff-bench compare before.json after.json
    neff-bench compare neffs --between nki xla
    neff-bench compare neffs --save baseline.json
    neff-bench compare neffs --baseline baseline.json --fail-if total_time_us:5% --fail-if hbm_read_bytes:=0%
    neff-bench compare before/ntff.json after/ntff.json --all
    neff-bench compare neffs --baseline baseline.json --format md
    neff-bench compare before after --output diff.html         # a page: both timelines, one over the other
    neff-bench compare v1 v2 v3 --output diff.html             # up to five, each held against the first
    """
    from neff_bench.stage2_profile.compare.command import compare_rows

    return compare_rows(options)


if __name__ == "__main__":
    compare()
