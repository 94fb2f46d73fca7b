"""Says when a series changed.

Each difference between simulated values and counters is a change. Measured times change at the change points that ruptures finds (kernel change
point detection with a linear kernel: Celisse et al. 2018, Arlot et al. 2019), which needs the extra `history`.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from neff_bench.history.errors import HistoryError
from neff_bench.installation import pip_install

MIN_SIZE = 3
"""Values on each side of a change point. One or two odd values are no change."""
SHORTEST = 10
"""A measured series with fewer values has no change points: its noise is not known yet."""
PENALTY = 4.5
"""Times ln(number of values), in variances of the noise. tests/history/test_changes.py holds what it was chosen for: steps
of three times the noise are found within five values, and flat series have no change."""
_UNCERTAIN = 8.0
"""The penalty grows by this many values over the length: the noise of a short series is known badly."""
_SPIKE = 5.0
"""One value that is so many standard deviations away from both neighbours is a disturbance, not a step."""
_TRIMMED_SHARE = 0.1
_TRIMMED_VARIANCE = 0.623
"""Variance of a standard normal variable without its largest tenth by absolute value."""


@dataclass(frozen=True)
class Change:
    """A series changed at place `at`: the values from there on have the median `after`, those before it `before`."""

    at: int
    before: float
    after: float

    @property
    def percent(self) -> float | None:
        """The change in percent of `before`; None when that is zero."""
        return 100 * (self.after - self.before) / abs(self.before) if self.before else None


def exact_changes(values: Sequence[float]) -> list[Change]:
    """Return every place where an exact value differs from the one before it."""
    return [
        Change(at, before, after)
        for at, (before, after) in enumerate(itertools.pairwise(values), start=1)
        if before != after
    ]


def measured_changes(values: Sequence[float]) -> list[Change]:
    """Return the change points of a measured series. Raises HistoryError when ruptures is not installed."""
    if len(values) < SHORTEST:
        return []
    sigma = noise(values)
    if sigma == 0:
        return exact_changes(values)
    try:
        import numpy as np
        import ruptures
    except ImportError:
        raise HistoryError(f"change points of measured series need ruptures: {pip_install('history')}") from None
    signal = (np.asarray(_without_spikes(values, sigma), dtype=float) / sigma).reshape(-1, 1)
    finder = ruptures.KernelCPD(kernel="linear", min_size=MIN_SIZE).fit(signal)
    ends = finder.predict(pen=PENALTY * float(np.log(len(values))) * (1 + _UNCERTAIN / len(values)))
    starts = [0, *ends[:-1]]
    middles = [statistics.median(values[start:end]) for start, end in zip(starts, ends, strict=True)]
    return [
        Change(int(start), before, after)
        for start, before, after in zip(starts[1:], middles, middles[1:], strict=False)
    ]


def _without_spikes(values: Sequence[float], sigma: float) -> list[float]:
    """Return the values, with each that lies far from both of its neighbours replaced by their mean."""
    calm = list(values)
    for at in range(1, len(values) - 1):
        left, right = values[at - 1], values[at + 1]
        if min(abs(values[at] - left), abs(values[at] - right)) > _SPIKE * sigma and abs(left - right) < _SPIKE * sigma:
            calm[at] = (left + right) / 2
    return calm


def noise(values: Sequence[float]) -> float:
    """Return the standard deviation of the noise, from the differences of neighbours without the largest tenth of them: a step adds
    one large difference."""
    squares = sorted((b - a) ** 2 for a, b in itertools.pairwise(values))
    kept = squares[: len(squares) - math.ceil(len(squares) * _TRIMMED_SHARE)]
    return math.sqrt(statistics.fmean(kept) / _TRIMMED_VARIANCE / 2) if kept else 0.0
