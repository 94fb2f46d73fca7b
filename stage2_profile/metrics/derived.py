"""Metrics that we compute ourselves, from the case and from other metrics. Each is a source (see metric.py)."""

from __future__ import annotations

from neff_bench.stage2_profile.metrics.metric import Evidence, Numbers, interquartile_range

US_PER_S = 1e6


def peak_tflops(evidence: Evidence, numbers: Numbers) -> float | None:
    """Peak rate of the logical core for the dtype."""
    return evidence.peak_tflops


def model_flops(evidence: Evidence, numbers: Numbers) -> int | None:
    """FLOPs of the case's mathematics."""
    return evidence.model_flops


def executions(evidence: Evidence, numbers: Numbers) -> int:
    """How many executions the numbers come from."""
    return len(evidence.summaries) + len(evidence.traces)


def mfu_percent(evidence: Evidence, numbers: Numbers) -> float | None:
    """Model FLOPs over what the peak rate does in the total time."""
    flops, peak, total_us = evidence.model_flops, evidence.peak_tflops, numbers["total_time_us"]
    return 100 * flops / (peak * total_us * US_PER_S) if flops and peak and total_us else None


def arithmetic_intensity(evidence: Evidence, numbers: Numbers) -> float | None:
    """Model FLOPs per byte moved from and to HBM."""
    moved = (numbers["hbm_read_bytes"] or 0) + (numbers["hbm_write_bytes"] or 0)
    return evidence.model_flops / moved if evidence.model_flops and moved else None


def total_time_iqr_us(evidence: Evidence, numbers: Numbers) -> float | None:
    """None for fewer than two totals."""
    totals = [execution.total_time_s for execution in evidence.summaries if execution.total_time_s is not None]
    return interquartile_range(totals) * US_PER_S if len(totals) > 1 else None
