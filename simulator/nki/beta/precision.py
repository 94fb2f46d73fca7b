"""The dtype of a result whose operands have different ones."""

from __future__ import annotations

from collections.abc import Iterable

from neff_bench.simulator.dtypes import INTEGERS, SIZE_BYTES


def highest(dtypes: Iterable[str]) -> str:
    """The most precise: a float before an integer, then the wider one, then the first."""
    return max(dtypes, key=lambda name: (name not in INTEGERS, SIZE_BYTES[name]))
