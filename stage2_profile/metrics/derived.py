"""Computes the metrics that are ours, from the case and from other metrics. Each is a source (see metric.py)."""

from __future__ import annotations

import re
import statistics
from collections.abc import Sequence

from neff_bench.parsers.summary import Summary
from neff_bench.stage2_profile.metrics.median import median_interval
from neff_bench.stage2_profile.metrics.metric import Evidence, Numbers, interquartile_range

US_PER_S = 1e6
_THROTTLE_ACTIVE = re.compile(r"throttle_active_nc\d+_time_ns")


def peak_tflops(evidence: Evidence, numbers: Numbers) -> float | None:
    """Return the peak rate of the logical core for the dtype."""
    return evidence.peak_tflops


def model_flops(evidence: Evidence, numbers: Numbers) -> int | None:
    """Return the FLOPs of the case's mathematics."""
    return evidence.model_flops


def executions(evidence: Evidence, numbers: Numbers) -> int:
    """Return how many executions the numbers come from."""
    return len(evidence.summaries) + len(evidence.traces)


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


def execution_ci_low_us(evidence: Evidence, numbers: Numbers) -> float | None:
    """Return the lower end of the 95 % confidence interval of the median over the executions of one capture; None for too few of them, and
    for several captures, which have an interval of their own."""
    interval = _execution_interval(evidence)
    return interval[0] * US_PER_S if interval else None


def execution_ci_high_us(evidence: Evidence, numbers: Numbers) -> float | None:
    """Return the upper end of it."""
    interval = _execution_interval(evidence)
    return interval[1] * US_PER_S if interval else None


def _execution_interval(evidence: Evidence) -> tuple[float, float] | None:
    if evidence.captures:
        return None
    return median_interval([each.total_time_s for each in evidence.summaries if each.total_time_s is not None])


def capture_count(evidence: Evidence, numbers: Numbers) -> int | None:
    """Return how often the case was captured; None where it was once."""
    return len(evidence.captures) or None


def total_time_ci_low_us(evidence: Evidence, numbers: Numbers) -> float | None:
    """Return the lower end of the 95 % confidence interval of the median total time; None for too few captures."""
    interval = median_interval(total_times_s(evidence.captures))
    return interval[0] * US_PER_S if interval else None


def total_time_ci_high_us(evidence: Evidence, numbers: Numbers) -> float | None:
    """Return the upper end of it."""
    interval = median_interval(total_times_s(evidence.captures))
    return interval[1] * US_PER_S if interval else None


def total_times_s(captures: Sequence[Sequence[Summary]]) -> list[float]:
    """Return the median total time of each capture. Executions of one capture share its circumstances, so they are one sample."""
    totals = [[each.total_time_s for each in one if each.total_time_s is not None] for one in captures]
    return [statistics.median(known) for known in totals if known]
