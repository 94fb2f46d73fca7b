"""What may be said of two numbers of one case: better, worse, or nothing, because noise or the model explains them.

The numbers themselves are exact: a simulated time is the same in every run of one model, and a counter is a fact of the
program. A verdict says more. It speaks about the device, so it needs the interval in which the ratio B/A lies there:

- Counters and bytes: the ratio itself, whoever counted.
- Measured times: the samples move by their interquartile range. The larger one of A and B, as a fraction of its total time,
  is the noise of every time and rate of the pair, since engines have no range of their own. One sample has no range: the
  verdict stands then, and the comparison says that its noise is not known.
- Simulated times of the same case by the same model: most of the model's error is common to both sides and cancels. Published
  variants of one kernel that differ by 5 % and more mostly come in the right order; docs/measured-rows.md counts the pairs. Nobody has looked
  at pairs that differ by less. So 5 % is the interval.
- Simulated times of different programs (other implementation, other case) or of different models: each side has its own
  80 % interval, and the two may point in opposite directions. Nothing smaller than both together is a difference.
- A simulated time without an interval has no verdict.

A ratio whose interval holds 1 is "within noise" or "within error", not better and not worse. `--fail-if` does not ask for
a verdict: it compares the exact numbers with the percentage that its user allows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from neff_bench.stage2_profile.metrics.metric import Better

Record = Mapping[str, Any]
Verdict = Literal["better", "worse", "same", "changed", "within noise", "within error"]

SAME = 1e-9
"""Relative difference below which two numbers are one number that was written twice."""

SAME_PROGRAM_FRACTION = 0.05
"""Difference of two simulated times of one case below which the order on hardware is not known: the public pairs (variants of
the NKIBench tasks on trn2, github.com/Jerry2423/kda-for-trainium) were compared beyond it only."""


@dataclass(frozen=True)
class Uncertainty:
    """The device's B/A lies between `low` and `high` times the ratio of the two numbers, because of `cause`."""

    low: float = 1.0
    high: float = 1.0
    cause: Literal["", "noise", "error"] = ""


def device_interval(row: Record) -> tuple[float, float] | None:
    """Lowest and highest time on the device over the row's own: of a simulated row its 80 % interval, None where it has none; of
    a measured row 1 and 1."""
    if row.get("source") != "simulated":
        return 1.0, 1.0
    total, low, high = (row.get(name) for name in ("total_time_us", "total_time_low_us", "total_time_high_us"))
    return (low / total, high / total) if total and low is not None and high is not None else None


def noise_us(a: Record, b: Record) -> float | None:
    """The larger interquartile range of the two totals; None when neither has one."""
    ranges = [row.get("total_time_iqr_us") for row in (a, b)]
    return max((value for value in ranges if value is not None), default=None)


def uncertainty(a: Record, b: Record) -> Uncertainty | None:
    """Of the times and rates of two rows; None when a simulated side has no interval."""
    if "simulated" not in (a.get("source"), b.get("source")):
        return _noise(a, b)
    if _same_program(a, b):
        return Uncertainty(1 - SAME_PROGRAM_FRACTION, 1 + SAME_PROGRAM_FRACTION, "error")
    first, second = device_interval(a), device_interval(b)
    if first is None or second is None:
        return None
    return Uncertainty(second[0] / first[1], second[1] / first[0], "error")


def device_ratio(ratio: float, better: Better | None, uncertain: Uncertainty) -> tuple[float, float]:
    """Lowest and highest B/A on the device. A rate is a number over a time, so its interval is the inverse one."""
    if better != "higher":
        return ratio * uncertain.low, ratio * uncertain.high
    return ratio / uncertain.high, ratio / uncertain.low if uncertain.low else math.inf


def verdict(a: float | None, b: float | None, better: Better | None, uncertain: Uncertainty | None) -> Verdict | None:
    """Of b against a. None where a number is not known, or the error of the model where it decides.

    `better`: `either` for a figure of the case itself, whose change is neither better nor worse.
    """
    if a is None or b is None:
        return None
    if abs(b - a) <= SAME * max(abs(a), abs(b)):
        return "same"
    if uncertain is None:
        return None
    if uncertain.cause and a:
        low, high = device_ratio(b / a, better, uncertain)
        if low <= 1 <= high:
            return "within noise" if uncertain.cause == "noise" else "within error"
    if better == "either":
        return "changed"
    return "better" if (b < a) == (better == "lower") else "worse"


def _same_program(a: Record, b: Record) -> bool:
    return a.get("source") == b.get("source") and a.get("model") == b.get("model") and a.get("case") == b.get("case")


def _noise(a: Record, b: Record) -> Uncertainty:
    fractions = [
        row["total_time_iqr_us"] / row["total_time_us"]
        for row in (a, b)
        if row.get("total_time_iqr_us") and row.get("total_time_us")
    ]
    noise = max(fractions, default=0.0)
    return Uncertainty(max(0.0, 1 - noise), 1 + noise, "noise") if noise else Uncertainty()
