"""`neff-bench gate`: may this change of the kernels go in?"""

from __future__ import annotations

from pathlib import Path

import click

from neff_bench.terminal.command import command
from neff_bench.terminal.formats import chosen
from neff_bench.terminal.output import output_options


@command("gate")
@click.argument("before", type=click.Path(path_type=Path))
@click.argument("after", type=click.Path(path_type=Path, exists=True))
@click.option("--config", type=click.Path(path_type=Path), metavar="FILE", help="YAML: times, time_percent, counters.")
@click.option(
    "--changed", type=click.Path(path_type=Path), metavar="FILE", help="Repeat its lines `not covered: NAME`."
)
@click.option("--update", is_flag=True, help="Take what got better, and what is new, into the baseline BEFORE.")
@output_options
def gate(
    before: Path, after: Path, config: Path | None, changed: Path | None, update: bool,
    format_: str | None, output: Path | None,
) -> int:  # fmt: skip
    """Say of each metric of each kernel whether it is worse, better, the same, or whether nobody can tell.

    BEFORE and AFTER are profiled stores; BEFORE may be a baseline, which is a file that --update makes and keeps. Counters and
    simulated times are exact: any rise is worse. Measured times need several captures (profile-neffs --captures). The
    answer names the source lines whose instructions changed. Exit code 0: nothing is worse; 1: something is; 2: wrong call.

    \b
    neff-bench gate base.neffs head.neffs --config benchmarks/gate.yaml --format md --output comment.md
    neff-bench gate baseline.json neffs.out --update
    """
    from neff_bench.stage2_profile.gate.command import run_gate
    from neff_bench.stage2_profile.gate.config import read_config

    return run_gate(
        before, after, read_config(config), update=update, changed=changed,
        format_=chosen(format_, output), output=output,
    )  # fmt: skip


if __name__ == "__main__":
    gate()
