"""Declares `neff-bench migrate`: what kernels of the old NKI dialect have to change."""

from __future__ import annotations

import difflib
from pathlib import Path

import click

from neff_bench.terminal import streams
from neff_bench.terminal.command import command
from neff_bench.terminal.text import plain


@command("migrate")
@click.option("--diff", is_flag=True, help="Print a patch of what has a fix; what is left goes to standard error.")
@click.argument("kernels", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
def migrate(diff: bool, kernels: tuple[Path, ...]) -> int:
    """Name each use of the old NKI dialect (neuronxcc.nki) in KERNELS that the current one lacks (NKI of SDK 2.29 and later), and what replaces it.

    One line for each use: file, line, name, replacement. Nothing is run or changed. The exit code is 1 while something is
    left that only you can change. `neff-bench check` then judges the result.

    \b
    neff-bench migrate kernel.py
    neff-bench migrate --diff kernel.py | patch -p0
    """
    from neff_bench.doors.judging import read
    from neff_bench.rules.migration import patched, uses

    left = 0
    for path in kernels:
        source = read(path)
        for use in uses(source):
            text = plain(f"{path}:{use.line}: {use.name} -> {use.instead}")
            if not diff:
                streams.line(f"{text} [--diff does it]" if use.fixed else text)
            elif not use.fixed:
                streams.notice(text)
            left += not use.fixed
        if diff:
            before, after = (text.splitlines(keepends=True) for text in (source.text, patched(source)))
            streams.write("".join(difflib.unified_diff(before, after, str(path), str(path))))
    return int(left > 0)
