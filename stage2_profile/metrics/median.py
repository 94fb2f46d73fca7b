"""Computes the confidence interval of a median, from order statistics: nothing is assumed of how the values are distributed."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

CONFIDENCE = 0.95
FEWEST = 6
"""Below it not even the smallest and the largest value enclose the median with 95 %: 1 - 2 * 0.5**6 = 0.969."""


def median_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Return the narrowest pair of ordered values that encloses the median with at least `CONFIDENCE`; None for fewer than `FEWEST`.

    The k-th smallest and the k-th largest of n values enclose it with 1 - 2 * P(binomial(n, 1/2) < k).
    """
    count = len(values)
    if count < FEWEST:
        return None
    ordered, rank, outside = sorted(values), 0, 0.0
    while True:
        more = outside + math.comb(count, rank) / 2**count
        if 1 - 2 * more < CONFIDENCE:
            return ordered[rank - 1], ordered[count - rank]
        rank, outside = rank + 1, more


def half_width_percent(values: Sequence[float]) -> float | None:
    """Return half of the interval in percent of the median; None where there is no interval."""
    interval = median_interval(values)
    return None if interval is None else 50 * (interval[1] - interval[0]) / statistics.median(values)
