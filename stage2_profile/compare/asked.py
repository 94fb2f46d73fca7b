"""Declares the options of `neff-bench compare`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from neff_bench.terminal.options import PATH, OutputOptions, argument, flag, option
from neff_bench.terminal.output import PAGE, is_page

LETTERS = "BCDE"
"""What the sides that are held against A are called."""


@dataclass(frozen=True, kw_only=True)
class CompareOptions(OutputOptions):
    """Holds what is asked of `neff-bench compare`."""

    first: Path = argument(required=True, metavar="A", type=PATH)
    second: Path | None = argument(metavar="[B]", type=PATH)
    more: tuple[Path, ...] = argument(default=(), nargs=-1, metavar="[C D E]", type=PATH)
    between: tuple[str, str] | None = option(nargs=2, metavar="IMPL IMPL", help="Compare two implementations inside A.")
    baseline: Path | None = option(type=PATH, metavar="FILE", help="Compare A with a saved baseline.")
    save: Path | None = option(type=PATH, metavar="FILE", help="Save the rows of A as a baseline.")
    rules: tuple[str, ...] = option(
        "--fail-if",
        default=(),
        multiple=True,
        metavar="METRIC:PCT%",
        help="Exit with 1 when the metric gets worse by more; METRIC:=PCT%: when it changes by more (repeatable).",
    )
    mixed: bool = flag(help="Compare also what differs in LNC, target, source or clock.")
    metrics: tuple[str, ...] = option(
        "--metric", default=(), multiple=True, metavar="GLOB", help="Show these metrics (repeatable)."
    )
    list_all: bool = flag("--all", help="List what is the same too, and every metric unless --metric chooses.")

    @property
    def format(self) -> str:
        """The format that is meant, a page among them. Raises `WrongCall`."""
        return PAGE if self.format_ is None and is_page(self.output) else super().format
