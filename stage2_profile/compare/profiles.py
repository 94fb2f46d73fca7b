"""Provides `neff_bench.compare`: what `neff-bench compare A B` finds, as values."""

from __future__ import annotations

import os
from pathlib import Path

from neff_bench.stage2_profile.compare.baseline import load
from neff_bench.stage2_profile.compare.comparison import Difference, differences, pair_cases, pair_two
from neff_bench.stage2_profile.compare.verdict import Pairing


def compare(a: str | os.PathLike[str], b: str | os.PathLike[str], *, mixed: bool = False) -> list[Difference]:
    """Return every metric of every case that both sides have, `b` against `a`.

    `a` and `b`: stores, JSON files of rows, saved baselines, or single profiles, which are compared whatever their names.
    `mixed`: also compare rows that differ in LNC, target, source or clock. Nothing is run. Raises `WrongCall` for a path that holds
    none of these.
    """
    before, after = load(Path(a)), load(Path(b))
    pairing: Pairing
    if before.single and after.single:
        pairing = pair_two(before.records[0], after.records[0], mixed)
    else:
        pairing = pair_cases(before.records, after.records, mixed)
    return [difference for pair in pairing.pairs for difference in differences(pair)]
