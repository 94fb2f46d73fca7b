"""Provides `neff_bench.compare`: what `neff-bench compare A B` finds, as values."""

from __future__ import annotations

import os
from pathlib import Path

from neff_bench.stage2_profile.compare.baseline import load
from neff_bench.stage2_profile.compare.comparison import Difference, differences, pair_rows


def compare(a: str | os.PathLike[str], b: str | os.PathLike[str], *, mixed: bool = False) -> list[Difference]:
    """Return every metric of every case that both sides have, `b` against `a`. Nothing is run. Raises `WrongCall` for a path with no profiles.

    `a` and `b`: stores, JSON files of rows, saved baselines, or single profiles, which are compared whatever their names.
    `mixed`: also compare rows that differ in LNC, target, source or clock.
    """
    pairing = pair_rows(load(Path(a)), load(Path(b)), mixed)
    return [difference for pair in pairing.pairs for difference in differences(pair)]
