"""`neff-bench changed-kernels`: which cases judge a change of nki-library."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from neff_bench.terminal import streams
from neff_bench.terminal.command import command


@command("changed-kernels")
@click.argument("checkout", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--shapes", required=True, type=click.Path(exists=True, path_type=Path), help="The shapes file of the gate."
)
def changed_kernels(checkout: Path, shapes: Path) -> None:
    """Read changed paths from standard input, one a line, and say which cases judge them.

    The first line is `only=` and options of generate-neffs: `--only` globs, nothing for all cases, `none` for no case. A line
    `not covered: NAME` follows for each kernel that the change can change and of which there is no case.

    \b
    git diff --name-only main... | neff-bench changed-kernels . --shapes benchmarks/shapes.yaml
    """
    from neff_bench.coverage.changed import covered, touched
    from neff_bench.coverage.library import Library
    from neff_bench.stage1_generate.shapes.read import read_shapes

    library, cases = Library(checkout.resolve()), read_shapes(shapes)
    found = touched(library, covered(library, cases), sys.stdin.read().split("\n"))
    streams.line(f"only={found.options}")
    for name in found.not_covered:
        streams.line(f"not covered: {name}")


if __name__ == "__main__":
    changed_kernels()
