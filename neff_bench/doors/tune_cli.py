"""`neff-bench tune`."""

from __future__ import annotations

import os
from typing import IO

import click

from neff_bench.chips.calibration_option import calibration_option
from neff_bench.sdk.installed import OPTION, judged_by
from neff_bench.terminal import streams
from neff_bench.terminal.command import command


@command("tune")
@click.argument("variants", type=click.File("rb"), default="-")
@click.option(
    "--top", type=click.IntRange(1), help="Print the N fastest at the end, instead of every answer as it comes."
)
@click.option("--sdk", metavar="RELEASE", help=OPTION)
@calibration_option
@click.option("--jobs", type=click.IntRange(1, 1024), help="Variants at once.  [default: the CPUs]")
@click.option(
    "--timeout", type=click.FloatRange(0.01), default=60.0, show_default=True, help="Seconds for one variant."
)
@click.option(
    "--memory", type=click.IntRange(64), default=4096, show_default=True, help="MiB that one variant may allocate."
)
def tune(variants: IO[bytes], top: int | None, sdk: str | None, jobs: int | None, timeout: float, memory: int) -> int:
    """Estimate many variants of a kernel: JSON lines in, JSON lines out. For programs that write kernels.

    A line of VARIANTS (a file, or standard input):

    \b
    {"id": 1, "kernel": "mine.py:matmul", "inputs": {"a": {"shape": [128, 512], "dtype": "bfloat16"}},
     "arguments": {"tile": 4}, "target": "trn2", "lnc": 1, "check": true, "reference": "mine.py:expected"}

    A jax function has `"implementation": "xla"`. With `check` the variant runs on seeded inputs, and its outputs are compared with those of
    `reference`, within `tolerance` ({"rtol": ..., "atol": ...}); a wrong variant is not among the fastest. `refused` says why AWS's
    compiler would refuse a variant; such ones come after all others. A kernel with collectives runs on the ranks that its
    replica groups name; the reference gets and returns arrays with the ranks as first dimension. An answer has the `id`, the `status` (estimated or failed, with the `reason`), `total_time_us` and the whole `row`.
    Answers come in the order in which they are ready. Each variant runs in a process of its own: one that crashes, hangs
    or fills its memory costs one line. The exit code is 1 when every variant failed.

    \b
    neff-bench tune variants.jsonl --top 5
    ./write_variants.py | neff-bench tune > answers.jsonl
    """
    import msgspec

    from neff_bench.doors import tuning

    answers = []
    estimated = failed = 0
    first_failed = ""
    jobs, release = jobs or os.cpu_count() or 1, judged_by(sdk)
    for answer in tuning.tune(variants, sdk=release, jobs=jobs, timeout_s=timeout, memory_bytes=memory << 20):
        failed += answer.status == "failed"
        estimated += answer.status != "failed"
        if top is not None:
            answers.append(answer)
            if answer.status == "failed":
                first_failed = first_failed or f"; the first, {answer.id}: {answer.reason}"
            continue
        streams.line(msgspec.json.encode(answer).decode())
    for answer in tuning.ranked(answers, top or 0):
        streams.line(msgspec.json.encode(answer).decode())
    if failed:
        streams.error(f"{failed} of {failed + estimated} failed{first_failed}")
    return 1 if failed and not estimated else 0
