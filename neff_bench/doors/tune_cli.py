"""Declares `neff-bench tune`, which estimates many variants of a kernel."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from neff_bench.chips.calibration_option import calibration_option
from neff_bench.doors.subject import SubjectOptions
from neff_bench.errors import WrongCall
from neff_bench.sdk.installed import judged_by
from neff_bench.terminal import streams
from neff_bench.terminal.command import command
from neff_bench.terminal.options import OutputOptions, argument, option, takes

if TYPE_CHECKING:
    from neff_bench.doors.tune.variants import Answer, Limits


@dataclass(frozen=True, kw_only=True)
class TuneOptions(SubjectOptions, OutputOptions):
    """Holds which variants are estimated, and how much each may take."""

    what: str = argument(default="-", metavar="[KERNEL.py:FUNCTION|VARIANTS.jsonl]")
    vary: tuple[str, ...] = option(
        default=(), multiple=True, metavar="NAME=VALUES",
        help="Values of an argument, else of a constant of the file: TILE_N=128,256 or BUFS=1:4 (repeatable).",
    )  # fmt: skip
    trials: int = option(default=200, type=click.IntRange(1), show_default=True, help="Search a larger grid by so many variants.")  # fmt: skip
    seed: int = option(default=0, show_default=True, help="Seed of that search.")
    top: int | None = option(type=click.IntRange(1), help="Print the N fastest at the end.")
    jobs: int | None = option(type=click.IntRange(1, 1024), help="Variants at once.  [default: the CPUs]")
    timeout: float = option(default=60.0, type=click.FloatRange(0.01), show_default=True, help="Seconds for one variant.")  # fmt: skip
    force: bool = option(default=False, is_flag=True, help="Estimate also what an earlier call has answered.")
    memory: int = option(default=4096, type=click.IntRange(64), show_default=True, help="MiB that one variant may allocate.")  # fmt: skip

    @property
    def limits(self) -> Limits:
        """What one variant may take, and how many run at once."""
        from neff_bench.doors.tune.variants import Limits

        return Limits(
            judged_by(self.sdk), self.jobs or os.cpu_count() or 1, self.timeout, self.memory << 20, self.force
        )


@command("tune")
@takes(TuneOptions)
@calibration_option
def tune(options: TuneOptions) -> int:
    """Estimate many variants of a kernel and rank them: values of its parameters, or JSON lines that a program writes.

    With KERNEL.py:FUNCTION, each combination of the --vary values is estimated; of a grid that is larger than --trials, a search
    chooses which (extra `tune`). The ten fastest are executed, and compared with --reference. SURE stands where a variant is faster
    than the next by so much that hardware has the same order in 97 of 100 such pairs, else UNCLEAR. What AWS's compiler
    would refuse comes last.

    A line of VARIANTS (a file, or standard input) has one variant, and each gets an answer as a line of JSON:

    \b
    {"id": 1, "kernel": "mine.py:matmul", "inputs": {"a": {"shape": [128, 512], "dtype": "bfloat16"}},
     "arguments": {"tile": 4}, "target": "trn2", "lnc": 1, "check": true, "reference": "mine.py:expected"}

    A jax function has `"implementation": "xla"`. With `check` the variant runs on seeded inputs, and its outputs are compared with those of
    `reference`, within `tolerance` ({"rtol": ..., "atol": ...}). A kernel with collectives runs on the ranks that its replica groups
    name; the reference gets and returns arrays with the ranks as first dimension. An answer has the `id`, the `status` (estimated or
    failed, with the `reason`), `total_time_us`, what `refused` it, and the whole `row`. Answers come in the order in which they
    are ready.

    Each variant runs in a process of its own: one that crashes, hangs or fills its memory costs one line. The exit code is 1
    when every variant failed, or none of a kernel's is right.

    \b
    neff-bench tune my_kernel.py:matmul a=1024x1024:bfloat16 b=1024x1024:bfloat16 --vary TILE_N=128,256,512 --vary BUFS=1:4
    neff-bench tune my_kernel.py:matmul --shapes shapes.yaml --vary TILE_N=128,256,512 --output tuned.html
    neff-bench tune variants.jsonl --top 5
    ./write_variants.py | neff-bench tune > answers.jsonl
    """
    from neff_bench.system.compiled import slow_notice

    if (slow := slow_notice()) is not None:
        streams.notice(slow)
    if ".py:" in options.what:
        return _kernel(options)
    if options.inputs or options.vary or options.shapes or options.reference or options.output or options.format_:
        raise WrongCall(
            "inputs, --vary, --shapes, --reference, --format and --output belong to KERNEL.py:FUNCTION; JSON lines say all of it themselves"
        )
    return _lines(options)


def _lines(options: TuneOptions) -> int:
    """Answer each JSON line with one."""
    import msgspec

    from neff_bench.doors.tune import variants

    kept, bad, count = [], [], 0
    with click.open_file(options.what, "rb") as given:
        for answer in variants.tune(given, options.limits):
            count += 1
            if answer.status == "failed":
                bad.append(answer)
            if options.top is None:
                streams.line(msgspec.json.encode(answer).decode())
            else:
                kept.append(answer)
    for answer in variants.ranked(kept, options.top or 0):
        streams.line(msgspec.json.encode(answer).decode())
    return _ended(bad, count, say_first=options.top is not None)


def _kernel(options: TuneOptions) -> int:
    """Answer with the ranked variants of one kernel."""
    from neff_bench.doors.subject import cases_of
    from neff_bench.doors.tune import ranks
    from neff_bench.doors.tune.search import Search, choices_of
    from neff_bench.terminal.output import is_page, write_answer, write_text

    page = is_page(options.output)
    form = "" if page else options.format
    if not options.vary:
        raise WrongCall(f"{options.what}: what varies? Say --vary NAME=VALUE,VALUE, such as --vary TILE_N=128,256,512")
    subject = options.subject(options.what)
    cases = cases_of(subject)
    if len(cases) > 1:
        raise WrongCall(f"{options.shapes}: {len(cases)} cases name the kernel; choose one, --only {cases[0].name}")
    found = ranks.best(
        subject, cases[0], Search(choices_of(options.vary), options.trials, options.seed), options.limits
    )
    found = replace(found, order=found.order[: options.top])
    if page:
        write_text(ranks.page(found), options.output)
    else:
        write_answer(ranks.answer_of(found), form, options.output)
    failed = [one for one in found.bad if one.status == "failed"]
    return _ended(failed, found.tried, say_first=not found.order) or int(not found.order)


def _ended(bad: list[Answer], count: int, *, say_first: bool) -> int:
    """Say how many failed, and return the exit code."""
    if bad:
        first = f"; the first, {bad[0].id}: {bad[0].reason}" if say_first else ""
        streams.error(f"{len(bad)} of {count} failed{first}")
    return int(bool(bad) and len(bad) == count)
