"""Declares the options of `neff-bench gate`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from neff_bench.terminal.options import PATH, OutputOptions, argument, flag, option


@dataclass(frozen=True, kw_only=True)
class GateOptions(OutputOptions):
    """Holds what is asked of `neff-bench gate`."""

    before: Path = argument(required=True, type=PATH)
    after: Path = argument(required=True, type=click.Path(path_type=Path, exists=True))
    config: Path | None = option(type=PATH, metavar="FILE", help="YAML: times, time_percent, counters.")
    changed: Path | None = option(
        type=PATH,
        metavar="FILE",
        help="What changed-kernels printed; the answer repeats its lines on kernels without a case.",
    )
    update: bool = flag(help="Take what got better, and what is new, into the baseline BEFORE.")
