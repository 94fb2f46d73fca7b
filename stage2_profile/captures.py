"""Says how often a case is captured: times on a device differ from capture to capture."""

from __future__ import annotations

from neff_bench.neffs.bundle import Bundle
from neff_bench.stage2_profile.capture import runs
from neff_bench.stage2_profile.metrics.by_rank import read_summaries
from neff_bench.stage2_profile.metrics.derived import total_times_s
from neff_bench.stage2_profile.metrics.median import half_width_percent
from neff_bench.stage2_profile.options import Options


def wants_more(bundle: Bundle, run: runs.Run, options: Options) -> bool:
    """Return whether the series of a run is to be longer. A simulated time is the same in every capture."""
    if options.most_captures <= 1 or run.kind == "sim" or run.status != "viewed":
        return False
    totals = _totals_s(bundle, run)
    if len(totals) >= options.most_captures:
        return False
    if options.until_percent is None:
        return True
    wide = half_width_percent(totals)
    return wide is None or wide > options.until_percent


def still_wide(bundle: Bundle, run: runs.Run, options: Options) -> tuple[str, ...]:
    """Return what must be said of a series that ended at its bound."""
    if options.until_percent is None or run.kind == "sim" or run.series is None:
        return ()
    totals = _totals_s(bundle, run)
    wide = half_width_percent(totals)
    if wide is not None and wide <= options.until_percent:
        return ()
    known = "is not known" if wide is None else f"is {wide:.2g} %"
    return (f"after {len(totals)} captures half the confidence interval {known}, --until {options.until_percent:g}%",)


def _totals_s(bundle: Bundle, run: runs.Run) -> list[float]:
    return total_times_s([read_summaries(*one) for one in runs.series(bundle.path, run)])
