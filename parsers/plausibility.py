"""Figures of a profile that no device can have: a wrong counter, a wrong rate, or a damaged file."""

from __future__ import annotations

from neff_bench.parsers.summary import Summary

ENGINES = ("tensor", "scalar", "vector", "gpsimd", "sync")
OF_A_PEAK = ("mfu_estimated", "mfu_hlo_estimated", "mfu_inst_estimated", "hfu_estimated", "mbu_estimated")
OF_THE_TIME = (*(f"{engine}_engine_active_time" for engine in ENGINES), "dma_active_time", "total_active_time")

PEAK_FACTOR = 4
"""A rate above the stated peak by less may be that of another dtype: tools differ in which peak they take."""
TIME_TOLERANCE = 0.02
"""Tools from 2.29 on count up to 0.6 % more in one of the two times."""


def doubts(summary: Summary) -> tuple[str, ...]:
    """One sentence for each figure that cannot be; empty for a plausible summary."""
    found = []
    for name in OF_A_PEAK:
        share = getattr(summary, f"{name}_fraction")
        if share is not None and share > PEAK_FACTOR:
            found.append(f"{name}_percent is {share:.0%} of the peak, which no device reaches")
    total_s = summary.total_time_s
    for name in OF_THE_TIME:
        time_s = getattr(summary, f"{name}_s")
        if total_s and time_s is not None and time_s > total_s * (1 + TIME_TOLERANCE):
            found.append(f"{name} is {time_s:g} s, longer than the total_time of {total_s:g} s")
    return tuple(found)
