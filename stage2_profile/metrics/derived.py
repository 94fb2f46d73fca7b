"""Computes the metrics that are ours, from the case and from other metrics. Each is a source (see metric.py)."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Callable, Sequence

from neff_bench.parsers.summary import Summary
from neff_bench.stage2_profile.metrics.metric import Evidence, Numbers, Source, interquartile_range

US_PER_S = 1e6
_THROTTLE_ACTIVE = re.compile(r"throttle_active_nc\d+_time_ns")
CONFIDENCE = 0.95
FEWEST = 6
"""Below it not even the smallest and the largest value enclose the median with 95 %: 1 - 2 * 0.5**6 = 0.969."""


def mfu_percent(evidence: Evidence, numbers: Numbers) -> float | None:
    """Return the model FLOPs over what the peak rate does in the total time."""
    flops, peak, total_us = evidence.model_flops, evidence.peak_tflops, numbers["total_time_us"]
    return 100 * flops / (peak * total_us * US_PER_S) if flops and peak and total_us else None


def arithmetic_intensity(evidence: Evidence, numbers: Numbers) -> float | None:
    """Return the model FLOPs per byte moved from and to HBM."""
    moved = (numbers["hbm_read_bytes"] or 0) + (numbers["hbm_write_bytes"] or 0)
    return evidence.model_flops / moved if evidence.model_flops and moved else None


def total_time_iqr_us(evidence: Evidence, numbers: Numbers) -> float | None:
    """Return the interquartile range of the totals; None for fewer than two."""
    totals = [execution.total_time_s for execution in evidence.summaries if execution.total_time_s is not None]
    return interquartile_range(totals) * US_PER_S if len(totals) > 1 else None


def throttle_active_us(evidence: Evidence, numbers: Numbers) -> float | None:
    """Return the time in which the clock of the Tensor engine was limited, of the core with most of it; None where the profile does not say."""
    by_execution = [
        [value / 1e3 for key, value in each.throttle.items() if _THROTTLE_ACTIVE.fullmatch(key)]
        for each in evidence.summaries
    ]
    known = [max(by_core) for by_core in by_execution if by_core]
    return statistics.median(known) if known else None


def total_times_s(captures: Sequence[Sequence[Summary]]) -> list[float]:
    """Return the median total time of each capture. Executions of one capture share its circumstances, so they are one sample."""
    totals = [[each.total_time_s for each in one if each.total_time_s is not None] for one in captures]
    return [statistics.median(known) for known in totals if known]


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


def _ends(samples_s: Callable[[Evidence], Sequence[float]]) -> tuple[Source, Source]:
    """Return the sources of both ends of the confidence interval of the median of these samples, None for too few of them."""

    def end(at: int) -> Source:
        def source(evidence: Evidence, numbers: Numbers) -> float | None:
            interval = median_interval(samples_s(evidence))
            return interval[at] * US_PER_S if interval else None

        return source

    return end(0), end(1)


def _executions_s(evidence: Evidence) -> list[float]:
    """Return the total times of one capture's executions; none of several captures, which have an interval of their own."""
    known = [] if evidence.captures else evidence.summaries
    return [each.total_time_s for each in known if each.total_time_s is not None]


execution_ci_low_us, execution_ci_high_us = _ends(_executions_s)
total_time_ci_low_us, total_time_ci_high_us = _ends(lambda evidence: total_times_s(evidence.captures))
