"""`neff-bench check`: would AWS's compiler take these kernels?"""

from __future__ import annotations

from pathlib import Path

import click

from neff_bench.chips import CHIPS
from neff_bench.terminal import streams
from neff_bench.terminal.command import command
from neff_bench.terminal.text import plain


@command("check")
@click.option("--target", default="trn2", show_default=True, help=f"Chips, with commas: {', '.join(CHIPS)}.")
@click.option(
    "--sdk",
    default=None,
    help="Releases of the AWS SDK: 2.32, 2.29..2.33 or 2.29,2.31.  [default: the newest that is out]",
)
@click.argument("kernels", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
def check(target: str, sdk: str | None, kernels: tuple[Path, ...]) -> int:
    """Say which rules of AWS's compiler the kernels in KERNELS break, by release of the SDK, without a device.

    Each file's source is judged, and each kernel that it launches when it runs as a script: nothing is executed.

    \b
    neff-bench check softmax.py
    neff-bench check softmax.py --sdk 2.29..2.33 --target trn2,trn3
    """
    from neff_bench.doors.judging import Task, judge_files
    from neff_bench.rules.findings import refused_by
    from neff_bench.sdk.identify import newest_published

    releases = [sdk or newest_published().name]
    answers = judge_files([Task(path, chip) for path in kernels for chip in target.split(",")], 2)
    for answer in answers:
        for one in answer.findings:
            streams.line(plain(f"{one.place}: {one.code} {one.text}"))
        if not answer.findings:
            streams.line(plain(f"{answer.path}: no known rule broken{f' ({answer.untold})' if answer.untold else ''}"))
    return int(any(refused_by(answer.findings, release) for answer in answers for release in releases))
