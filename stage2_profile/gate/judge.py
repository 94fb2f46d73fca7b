"""One metric before and after: worse, better, same, or cannot tell. Pure functions on row records.

Every number has an interval in which its true value lies. That of a counter or of a simulated time is the number itself: the
same program gives the same number in every run of one model. That of a measured time is the confidence interval of its
median over several captures, or, of one capture, its interquartile range. The change in percent then has an interval, too:

- worse: all of it is above what is allowed; better: all of it is below the negative of that;
- same: all of it is within what is allowed;
- cannot tell: anything else, or there is no interval, because the sides are not comparable or the noise is not known.

A counter that rose fails a case unless its time got better: then it is the price of that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from neff_bench.stage2_profile.compare.comparison import Pair, Pairing, dims, of_ranks
from neff_bench.stage2_profile.compare.verdict import SAME, Record
from neff_bench.stage2_profile.gate.config import Config
from neff_bench.stage2_profile.metrics.rows import BAD

Verdict = Literal["worse", "better", "same", "cannot tell"]
VERDICTS: tuple[Verdict, ...] = ("worse", "better", "cannot tell", "same")
"""In the order of the answer."""


@dataclass(frozen=True)
class Finding:
    """One metric of one case. `metric`: `status` and `check` stand for the build and for the outputs' check. `before`,
    `after`: numbers, or texts of those two. `why`: of a verdict that the numbers alone do not give. `fails`: whether the
    gate stays shut for it."""

    case: str
    kernel: str
    shape: str
    metric: str
    before: float | str | None
    after: float | str | None
    verdict: Verdict
    why: str = ""
    fails: bool = False

    @property
    def change_percent(self) -> float | None:
        """From before to after in percent of before; None where it is not known."""
        if not isinstance(self.before, (int, float)) or not isinstance(self.after, (int, float)) or not self.before:
            return None
        return 100 * (self.after - self.before) / abs(self.before)


def judge(pairing: Pairing, config: Config) -> list[Finding]:
    """A finding for each metric of each case that both sides have, and one for each case that is on one side only or is not
    comparable. A case that is new has none: there is nothing to hold it against."""
    found = [finding for pair in pairing.pairs for finding in _judged(pair, config)]
    found += [_finding(pair.b, "status", None, None, "cannot tell", pair.mixed) for pair in pairing.refused]
    found += [
        _finding(row, "status", row.get("status"), None, "cannot tell", "not there any more") for row in pairing.only_a
    ]
    return sorted(found, key=lambda finding: VERDICTS.index(finding.verdict))


def _judged(pair: Pair, config: Config) -> Iterator[Finding]:
    a, b = pair.a, pair.b
    runs = [row.get("status") == "profiled" for row in (a, b)]
    if not all(runs):
        verdict: Verdict = "cannot tell" if runs[0] == runs[1] else "worse" if runs[0] else "better"
        reason = str((b if not runs[1] else a).get("reason") or "")
        yield _finding(b, "status", a.get("status"), b.get("status"), verdict, reason)
        return
    if a.get("check") != b.get("check"):
        wrong = b.get("check") in BAD
        verdict = "worse" if wrong else "better" if b.get("check") == "passed" else "cannot tell"
        yield _finding(b, "check", a.get("check"), b.get("check"), verdict, str(b.get("reason") or ""))
    why, allowed = _not_comparable(a, b), 0.0 if a.get("source") == "simulated" else config.time_percent
    times: list[Finding] = []
    for name in config.times:
        intervals = (None, None) if why else (time_interval(a, name), time_interval(b, name))
        times += _metric(a, b, name, intervals, allowed, why or "its noise is not known; capture it several times")
    yield from times
    verdicts = {finding.verdict for finding in times}
    faster = "better" in verdicts and "worse" not in verdicts
    for name in config.counters:
        for finding in _metric(a, b, name, (_point(a, name), _point(b, name)), 0.0, ""):
            paid = faster and finding.fails
            yield replace(finding, fails=False, why="the price of a better time") if paid else finding


Interval = tuple[float, float]


def _metric(
    a: Record, b: Record, name: str, intervals: tuple[Interval | None, Interval | None], allowed: float, why: str
) -> Iterator[Finding]:
    before, after = a.get(name), b.get(name)
    if before is None and after is None:
        return
    if before is None or after is None:
        yield _finding(b, name, before, after, "cannot tell", "known on one side only")
    elif intervals[0] is None or intervals[1] is None:
        yield _finding(b, name, before, after, "cannot tell", why)
    else:
        verdict = verdict_of(intervals[0], intervals[1], allowed)
        within = f"{_shown(intervals[0])} and {_shown(intervals[1])} overlap" if verdict == "cannot tell" else ""
        yield _finding(b, name, before, after, verdict, within)


def verdict_of(before: Interval, after: Interval, allowed_percent: float) -> Verdict:
    """Of a metric of which less is better."""
    low, high = _change_percent(before[1], after[0]), _change_percent(before[0], after[1])
    allowed = allowed_percent + 100 * SAME
    if low > allowed:
        return "worse"
    if high < -allowed:
        return "better"
    return "same" if -allowed <= low and high <= allowed else "cannot tell"


def time_interval(row: Record, name: str) -> Interval | None:
    """Where a time lies, in us; None when that is not known."""
    value = row.get(name)
    if value is None:
        return None
    if row.get("source") == "simulated":
        return value, value
    if name != "total_time_us":
        return None
    low, high = row.get("total_time_ci_low_us"), row.get("total_time_ci_high_us")
    if low is not None and high is not None:
        return low, high
    spread = row.get("total_time_iqr_us")
    return None if spread is None else (value - spread / 2, value + spread / 2)


def _not_comparable(a: Record, b: Record) -> str:
    if a.get("source") == b.get("source") == "simulated" and a.get("model") != b.get("model"):
        return f"simulated by two models, {a.get('model')} and {b.get('model')}"
    return ""


def _point(row: Record, name: str) -> Interval | None:
    value = row.get(name)
    return None if value is None else (value, value)


def _change_percent(before: float, after: float) -> float:
    if before == 0:
        return 0.0 if after == 0 else math.copysign(math.inf, after)
    return 100 * (after - before) / abs(before)


def _finding(row: Record, metric: str, before: object, after: object, verdict: Verdict, why: str) -> Finding:
    shape = " ".join(f"{name}{size}" for name, size in dims(row))
    words = (shape, row.get("dtype"), f"{row['target']}/{row['lnc']}{of_ranks(row)}" if row.get("target") else "")
    kernel = str(row.get("kernel") or row["case"])
    return Finding(
        str(row["case"]),
        kernel,
        " ".join(filter(None, words)),
        metric,
        _value(before),
        _value(after),
        verdict,
        why,
        fails=verdict == "worse",
    )


def _value(value: object) -> float | str | None:
    return value if value is None or isinstance(value, (int, float)) else str(value)


def _shown(interval: Interval) -> str:
    return f"{interval[0]:.4g} to {interval[1]:.4g}"
