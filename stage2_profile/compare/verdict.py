"""Says worse, better, same, or cannot tell: the one place where `compare`, `gate` and `history check` ask. Pure functions on row records.

Every number has an interval. The verdict of two numbers is that of their intervals and of the smallest change that counts:

- A counter is exact, whoever counted: any difference counts.
- A simulated time is exact too: a model that is deterministic says something else only where the program does. A change below
  SMALLEST_PERCENT is none, since no model is that fine. That holds for one implementation and one model. Two implementations, or two
  models, are as far off as their ranges say: then the interval is the range of each side.
- A measured time scatters over its executions. Its interval is the confidence interval of the median over several captures, or of
  one capture the interquartile range. Times and rates of single parts have no spread of their own, and get that of the total.
  A change below `time_percent` is none. A time that was measured once has no interval.

Worse: all that the change may be is above the smallest change. Better: all of it is below. Same: all of it is within. Anything else,
or no interval: cannot tell. nvbench's robust comparison has the same four words (SLOW, FAST, SAME, AMBG) by the same intervals; a
test over the samples, as benchstat makes it, needs more than a row keeps, so that no library for statistics is used.

A counter that rose fails no case whose time got better: it is the price of that.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

import msgspec

from neff_bench.stage2_profile.metrics.rows import BAD, METRICS
from neff_bench.terminal.answer import many

Record = Mapping[str, Any]
Interval = tuple[float, float]
Verdict = Literal["worse", "better", "cannot tell", "same"]
VERDICTS: tuple[Verdict, ...] = ("worse", "better", "cannot tell", "same")
"""In the order of the answer. The word for several is the first of them that one of them has."""

SAME = 1e-9
"""Relative difference below which two numbers are one number that was written twice."""
SMALLEST_PERCENT = 0.1
"""A simulated time that changes by less is the same."""
TIME_PERCENT = 1.0
"""A measured time that changes by less is the same, unless told otherwise."""
EXACT = frozenset(name for name, metric in METRICS.items() if metric.exact)
COUNTERS = (
    "matmul_instruction_count",
    "instruction_count",
    "dma_packet_count",
    "hbm_read_bytes",
    "hbm_write_bytes",
    "hardware_flops",
)
"""What a kernel asks of the device. The instructions of all engines together: work may move from one to another."""


@dataclass(frozen=True)
class Pair:
    """One case on both sides. `mixed`: what differs of what must agree, as text."""

    label: str
    a: Record
    b: Record
    mixed: str = ""


@dataclass(frozen=True)
class Pairing:
    """`pairs` are compared; `refused` would be, were it not for what they mix; `only_a`, `only_b` have no counterpart."""

    pairs: list[Pair] = field(default_factory=list)
    refused: list[Pair] = field(default_factory=list)
    only_a: list[Record] = field(default_factory=list)
    only_b: list[Record] = field(default_factory=list)


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Holds what decides about a case. `times`: metrics in us. `time_percent`: a measured time that changed by less is the same.
    `counters`: exact metrics, of which any rise is worse."""

    times: tuple[str, ...] = ("total_time_us",)
    time_percent: Annotated[float, msgspec.Meta(ge=0, lt=100)] = TIME_PERCENT
    counters: tuple[str, ...] = COUNTERS


@dataclass(frozen=True)
class Judged:
    """One metric of one case. `label`: the case for people. `metric`: `status` and `check` stand for the build and for the outputs'
    check. `before`, `after`: numbers, or texts of those two. `why`: of a verdict that the numbers alone do not give. `fails`: whether
    the case got worse by it."""

    case: str
    label: str
    metric: str
    before: float | str | None
    after: float | str | None
    verdict: Verdict
    why: str = ""
    fails: bool = False

    @property
    def change_percent(self) -> float | None:
        """Return the change in percent of `before`; None where it is not known."""
        if not isinstance(self.before, (int, float)) or not isinstance(self.after, (int, float)) or not self.before:
            return None
        return change_percent(self.before, self.after)


def judge(pairing: Pairing, config: Config) -> list[Judged]:
    """Return each metric that decides, of each case that both sides have, and a line for each case that is on one side only or is not
    comparable. A case that is new has none: there is nothing to hold it against."""
    found = [judged for pair in pairing.pairs for judged in _judged(pair.a, pair.b, pair.label, config)]
    found += [_said(pair.b, pair.label, "status", (None, None), "cannot tell", pair.mixed) for pair in pairing.refused]
    found += [
        _said(row, str(row["case"]), "status", (row.get("status"), None), "cannot tell", "not there any more")
        for row in pairing.only_a
    ]
    return sorted(found, key=lambda judged: VERDICTS.index(judged.verdict))


def word_of(judged: Sequence[Judged]) -> Verdict:
    """Return the one word for all of it. What is the price of a better time is not worse; a counter that fell is not better where
    nobody can tell what the time did."""
    words = {each.verdict for each in judged if each.fails or each.verdict in ("cannot tell", "same")}
    if _got_better(judged):
        words.add("better")
    return next((verdict for verdict in VERDICTS if verdict in words), "cannot tell")


def _got_better(judged: Sequence[Judged]) -> set[str]:
    """Return the cases of which a number got better, none failed, and no time or status is unknown."""
    not_better = {
        each.case for each in judged if each.fails or (each.verdict == "cannot tell" and each.metric not in EXACT)
    }
    return {each.case for each in judged if each.verdict == "better"} - not_better


def summary(judged: Sequence[Judged]) -> str:
    """Return the word, and how many cases it is said of."""
    cases = dict.fromkeys(each.case for each in judged)
    failing = dict.fromkeys(each.case for each in judged if each.fails)
    better = _got_better(judged)
    if not cases:
        return "NOTHING TO JUDGE: no case is on both sides."
    of = many(len(cases), "case")
    told = {
        "worse": f"{len(failing)} of {of} got worse",
        "better": f"{len(better)} of {of} got better, none got worse",
        "cannot tell": f"none is known to have got worse or better, of {of}",
        "same": f"nothing changed in {of}",
    }
    word = word_of(judged)
    also = f"; {len(better)} got better" if better and failing else ""
    return f"{word.upper()}: by total time, counters and checks, {told[word]}{also}."


def counted(judged: Sequence[Judged]) -> str:
    """Return how many of the numbers of all cases have which verdict."""
    counts = Counter(each.verdict for each in judged)
    found = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])
    return f"Numbers judged, over all cases: {found}."


def first_failure(judged: Sequence[Judged]) -> str | None:
    """Return what got worse first, in a line, or that no case could be judged; None where neither is so."""
    failing = next((each for each in judged if each.fails), None)
    if failing is not None:
        return f"worse: {failing.label}: {failing.metric} {failing.before} -> {failing.after}"
    if judged and all(each.metric == "status" and each.verdict == "cannot tell" for each in judged):
        return f"nothing was judged: {judged[0].label}: {judged[0].why or 'no numbers on either side'}"
    return None


def _judged(a: Record, b: Record, label: str, config: Config) -> Iterator[Judged]:
    runs = [row.get("status") in ("profiled", "estimated") for row in (a, b)]
    if not all(runs):
        # What was not profiled yet is no failure.
        failed = [row.get("status") == "failed" for row in (a, b)]
        verdict: Verdict = "worse" if runs[0] and failed[1] else "better" if failed[0] and runs[1] else "cannot tell"
        reason = str((b if not runs[1] else a).get("reason") or "")
        yield _said(b, label, "status", (a.get("status"), b.get("status")), verdict, reason)
        return
    if a.get("check") != b.get("check") and (a.get("check") is not None or b.get("check") in BAD):
        verdict = "worse" if b.get("check") in BAD else "better" if b.get("check") == "passed" else "cannot tell"
        yield _said(b, label, "check", (a.get("check"), b.get("check")), verdict, str(b.get("reason") or ""))
    times = list(_metrics(a, b, label, config.times, config.time_percent))
    yield from times
    verdicts = {judged.verdict for judged in times}
    faster = "better" in verdicts and "worse" not in verdicts
    for judged in _metrics(a, b, label, config.counters, 0.0):
        paid = faster and judged.fails
        yield replace(judged, fails=False, why="the price of a better time") if paid else judged


def _metrics(a: Record, b: Record, label: str, names: Sequence[str], time_percent: float) -> Iterator[Judged]:
    for name in names:
        if a.get(name) is not None or b.get(name) is not None:
            verdict, why = verdict_of(a, b, name, time_percent)
            yield _said(b, label, name, (a.get(name), b.get(name)), verdict, why)


def verdict_of(a: Record, b: Record, name: str, time_percent: float = TIME_PERCENT) -> tuple[Verdict, str]:
    """Return the verdict on a metric of two rows, b against a, and why it is one that the numbers alone do not give."""
    before, after = a.get(name), b.get(name)
    if before is None or after is None:
        return "cannot tell", "known on one side only"
    if abs(after - before) <= SAME * max(abs(before), abs(after)):
        return "same", ""
    intervals = interval(a, b, name), interval(b, a, name)
    if intervals[0] is None or intervals[1] is None:
        return "cannot tell", _no_interval(a, b)
    exact, simulated = METRICS[name].exact, _one_model(a, b)
    allowed = 0.0 if exact else SMALLEST_PERCENT if simulated else time_percent
    verdict = of_intervals(intervals[0], intervals[1], allowed)
    if METRICS[name].better == "higher":
        turned: dict[Verdict, Verdict] = {"worse": "better", "better": "worse"}
        verdict = turned.get(verdict, verdict)
    return verdict, f"{_shown(intervals[0])} and {_shown(intervals[1])} overlap" if verdict == "cannot tell" else ""


def of_intervals(before: Interval, after: Interval, allowed_percent: float) -> Verdict:
    """Return the verdict on a metric of which less is better."""
    low, high = change_percent(before[1], after[0]), change_percent(before[0], after[1])
    allowed = allowed_percent + 100 * SAME
    if low > allowed:
        return "worse"
    if high < -allowed:
        return "better"
    return "same" if -allowed <= low and high <= allowed else "cannot tell"


def interval(row: Record, other: Record, name: str) -> Interval | None:
    """Return where a metric of a row lies when the row is held against another; None where that is not known."""
    value = row.get(name)
    if value is None or METRICS[name].exact:
        return None if value is None else (value, value)
    spread = (1.0, 1.0) if _one_model(row, other) else _spread(row)
    if spread is None:
        return None
    low, high = (
        spread if METRICS[name].better != "higher" else (1 / spread[1], 1 / spread[0] if spread[0] else math.inf)
    )
    return value * low, value * high


def _spread(row: Record) -> Interval | None:
    """Return the lowest and highest total time over the row's own: of a simulated row its range, of a measured one its scatter."""
    total = row.get("total_time_us")
    simulated = row.get("source") == "simulated"
    names = (
        ("total_time_low_us", "total_time_high_us") if simulated else ("total_time_ci_low_us", "total_time_ci_high_us")
    )
    low, high = (row.get(name) for name in names)
    if total and (low is None or high is None) and not simulated and row.get("total_time_iqr_us") is not None:
        low, high = total - row["total_time_iqr_us"] / 2, total + row["total_time_iqr_us"] / 2
    return (max(low, 0.0) / total, high / total) if total and low is not None and high is not None else None


def _one_model(a: Record, b: Record) -> bool:
    """Return whether two simulated rows differ in their program alone."""
    agree = all(a.get(name) == b.get(name) for name in ("source", "model", "implementation"))
    return agree and a.get("source") == "simulated"


def _no_interval(a: Record, b: Record) -> str:
    if "simulated" not in (a.get("source"), b.get("source")):
        return "its noise is not known; profile-neffs --captures 10 measures it"
    if a.get("source") == b.get("source") and a.get("model") != b.get("model"):
        return f"simulated by two models, {a.get('model')} and {b.get('model')}"
    return "a side has no range"


def change_percent(before: float, after: float) -> float:
    """Return the change in percent of `before`; infinite from nothing to something."""
    if before == 0:
        return 0.0 if after == 0 else math.copysign(math.inf, after)
    return 100 * (after - before) / abs(before)


def _said(row: Record, label: str, metric: str, values: tuple[Any, Any], verdict: Verdict, why: str) -> Judged:
    """Return the verdict on one number of a case. `values`: before and after."""
    return Judged(str(row["case"]), label, metric, *values, verdict, why, fails=verdict == "worse")


def _shown(interval: Interval) -> str:
    return f"{interval[0]:.4g} to {interval[1]:.4g}"
