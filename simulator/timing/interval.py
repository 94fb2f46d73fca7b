"""The 80 % interval of a simulated total time: what hardware took for measured rows like this one.

`evidence.json` holds measured / simulated of public rows that the model's authors may look at: repository, commit, family of
kernels, chip, `Likeness` and ratios. `python -m tools.correlation CHECKOUTS --evidence` writes it.

The rows like a row are those that share most features with it, of three families of kernels or more. A kernel of the user is of none
of these families. So the interval is a prediction of a row of a family that was not seen, with ratios as logarithms: around the mean of
the families' means, with the variance between these means and the mean variance within a family. Few families know the variance
between them badly: the quantile is that of Student's t, with the degrees of freedom of a sum of variances (Welch-Satterthwaite).

The interval is then widened by the factor with which intervals that are made without a family hold 80 % of its rows in the mean over
classes, a class being a family at one LNC; never below 1.
"""

from __future__ import annotations

import itertools
import json
import math
import statistics
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from neff_bench.simulator.timing.likeness import Likeness

EVIDENCE_FILE = Path(__file__).with_name("evidence.json")

_UPPER_END = statistics.NormalDist().inv_cdf(0.9)
"""Quantile of the normal distribution at the upper end of an 80 % interval."""

_FEWEST_FAMILIES, _FEWEST_ROWS = 3, 10
"""A family counts with two rows or more: one row does not show how its rows differ."""

_HELD, _FEWEST_OF_CLASS = 0.8, 5
"""Share of rows that intervals made without their family have to hold, and rows from which a class is judged."""

_LEAST_DEVIATION = 0.01
"""Of a prediction, as a logarithm: rows that agree by chance do not make a time certain."""


class Group(NamedTuple):
    """Rows of one family of one repository that are alike. ratios: measured / simulated total time, ascending."""

    repository: str
    commit: str
    family: str
    target: str
    like: Likeness
    ratios: tuple[float, ...]


class Interval(NamedTuple):
    """low, high: of measured / simulated. rows: how many it was made from, of these families of kernels and chips. shared: how
    many features of `Likeness`, from the first on, they share with the row."""

    low: float
    high: float
    rows: int
    families: tuple[str, ...]
    targets: tuple[str, ...]
    shared: int


def interval(like: Likeness) -> Interval | None:
    """Of a row; None where too few rows of its chip's generation were measured."""
    found = _predicted(like, evidence())
    return _widened(found, widening()) if found else None


def without(family: str, like: Likeness) -> Interval | None:
    """The interval that the other families give."""
    found = _predicted(like, _others(family))
    return _widened(found, widening()) if found else None


@cache
def evidence() -> tuple[Group, ...]:
    """All that was measured and may be looked at."""
    rows = json.loads(EVIDENCE_FILE.read_bytes())
    return tuple(
        Group(repository, commit, family, target, Likeness(*like), tuple(ratios))
        for repository, commit, family, target, *like, ratios in rows
    )


@cache
def widening() -> float:
    """The factor that leaving a family out asks for; never below 1."""
    needed: dict[tuple[str, int], list[float]] = {}
    for group in evidence():
        found = _predicted(group.like, _others(group.family))
        if found:
            factors = (_needed(found, ratio) for ratio in group.ratios)
            needed.setdefault((group.family, group.like.lnc), []).extend(factors)
    judged = [factors for factors in needed.values() if len(factors) >= _FEWEST_OF_CLASS]
    each = sorted((factor, 1 / len(factors) / len(judged)) for factors in judged for factor in factors)
    shares = itertools.accumulate(share for _, share in each)
    enough = (factor for (factor, _), held in zip(each, shares, strict=True) if held >= _HELD - 1e-9)
    # Rounded up: the row that decides lies within, not on the end.
    return math.ceil(100 * max(1.0, next(enough, 1.0))) / 100


def _others(family: str) -> Iterator[Group]:
    return (group for group in evidence() if group.family != family)


def _predicted(like: Likeness, groups: Iterable[Group]) -> Interval | None:
    """From the rows that share most; not widened."""
    known = list(groups)
    for shared in range(len(like), 0, -1):
        alike = [group for group in known if group.like[:shared] == like[:shared]]
        logs: dict[str, list[float]] = {}
        for group in alike:
            logs.setdefault(group.family, []).extend(math.log(ratio) for ratio in group.ratios)
        rows = sum(map(len, logs.values()))
        if sum(len(of_one) > 1 for of_one in logs.values()) >= _FEWEST_FAMILIES and rows >= _FEWEST_ROWS:
            break
    else:
        return None
    middle, half = _prediction(list(logs.values()))
    targets = tuple(sorted({group.target for group in alike}))
    return Interval(math.exp(middle - half), math.exp(middle + half), rows, tuple(sorted(logs)), targets, shared)


def _prediction(families: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Middle and half width of an interval that holds 80 % of the rows of another family."""
    means = [statistics.fmean(logs) for logs in families]
    between = statistics.variance(means) * (1 + 1 / len(means))
    within = statistics.fmean(statistics.pvariance(logs, mean) for logs, mean in zip(families, means, strict=True))
    variance = max(between + within, _LEAST_DEVIATION**2)
    inner = max(sum(len(logs) - 1 for logs in families), 1)
    unsure = between**2 / (len(means) - 1) + within**2 / inner
    freedom = variance**2 / unsure if unsure else math.inf
    return statistics.fmean(means), _quantile_of_t(freedom) * math.sqrt(variance)


def _quantile_of_t(freedom: float) -> float:
    """Of Student's t at 0.9, by the series of Cornish and Fisher: 0.3 % too small with two degrees of freedom, closer with more."""
    z, per = _UPPER_END, 1 / max(freedom, 1.0)
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return sum(term * per**order for order, term in enumerate(terms))


def _needed(found: Interval, ratio: float) -> float:
    """How much wider, in logarithms, the interval has to be to hold the ratio."""
    middle, half = _middle(found)
    return abs(math.log(ratio) - middle) / half


def _widened(found: Interval, factor: float) -> Interval:
    middle, half = _middle(found)
    return found._replace(low=math.exp(middle - factor * half), high=math.exp(middle + factor * half))


def _middle(found: Interval) -> tuple[float, float]:
    low, high = math.log(found.low), math.log(found.high)
    return (low + high) / 2, (high - low) / 2
