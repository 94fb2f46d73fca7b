"""`neff-bench migrate`: what kernels of the old NKI dialect have to change."""

from __future__ import annotations

from pathlib import Path

import click

from neff_bench.terminal import streams
from neff_bench.terminal.command import command
from neff_bench.terminal.text import plain


@command("migrate")
@click.argument("kernels", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
def migrate(kernels: tuple[Path, ...]) -> int:
    """Name each API of the old NKI dialect (neuronxcc.nki) in KERNELS that the current one lacks, and what replaces it.

    One line for each use: file, line, name, replacement. Nothing is run or changed.

    \b
    neff-bench migrate kernel.py
    """
    from neff_bench.simulator.nki.migration import uses

    for path in kernels:
        for use in uses(path.read_text(), str(path)):
            streams.line(plain(f"{path}:{use.line}: {use.name} -> {use.instead}"))
    return 0
