"""The 80 % interval of a simulated total time: what hardware took for measured rows like this one.

`evidence.json` holds measured / simulated of public rows that the model's authors may look at: repository, commit, family of
kernels, chip, `Likeness` and ratios. `python -m tools.correlation CHECKOUTS --evidence` writes it.

The rows like a row are those that share most features with it, 10 or more of two families of kernels or more. Each family weighs the
same, whatever the number of its rows. Their 10th and 90th percentiles are the spread among families that are known. A kernel of
the user is of none of them. So the spread is widened by the factor by which intervals that are made without a repository must be
widened to hold 80 % of that repository's rows (leave one repository out; families weigh the same again).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from neff_bench.simulator.timing.likeness import Likeness

EVIDENCE_FILE = Path(__file__).with_name("evidence.json")

LOW, HIGH = 0.1, 0.9
"""Quantiles at the ends of an 80 % interval."""

_FEWEST_FAMILIES, _FEWEST_ROWS = 2, 10
"""Below 10 rows an end of the interval would be the one row that lies farthest out."""

_LEAST_HALF_WIDTH = 0.01
"""Of a spread, as a logarithm: two rows that agree by chance do not make a time certain."""


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
    spread = _spread(like, evidence())
    return _widened(spread, widening()) if spread else None


def without(repository: str, like: Likeness) -> Interval | None:
    """The interval that the other repositories give."""
    spread = _spread(like, [group for group in evidence() if group.repository != repository])
    return _widened(spread, widening()) if spread else None


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
    """The factor that leaving one repository out asks for; never below 1."""
    needed = []
    sizes = _sizes(evidence())
    for group in evidence():
        spread = _spread(group.like, [other for other in evidence() if other.repository != group.repository])
        if spread:
            needed += [(_needed(spread, ratio), 1 / sizes[group.family]) for ratio in group.ratios]
    return max(1.0, _quantile(needed, HIGH - LOW)) if needed else 1.0


def _spread(like: Likeness, groups: Iterable[Group]) -> Interval | None:
    """The percentiles of the rows that share most."""
    known = list(groups)
    for shared in range(len(like), 0, -1):
        alike = [group for group in known if group.like[:shared] == like[:shared]]
        sizes = _sizes(alike)
        if len(sizes) >= _FEWEST_FAMILIES and sum(sizes.values()) >= _FEWEST_ROWS:
            break
    else:
        return None
    weighed = [(ratio, 1 / sizes[group.family]) for group in alike for ratio in group.ratios]
    targets = tuple(sorted({group.target for group in alike}))
    ends = _quantile(weighed, LOW), _quantile(weighed, HIGH)
    return Interval(*ends, len(weighed), tuple(sorted(sizes)), targets, shared)


def _sizes(groups: Iterable[Group]) -> dict[str, int]:
    """Rows of each family."""
    sizes: dict[str, int] = {}
    for group in groups:
        sizes[group.family] = sizes.get(group.family, 0) + len(group.ratios)
    return sizes


def _quantile(weighed: Sequence[tuple[float, float]], share: float) -> float:
    """The smallest value with at least `share` of the weight at or below it."""
    ordered = sorted(weighed)
    total, below = sum(weight for _, weight in ordered), 0.0
    for value, weight in ordered:
        below += weight
        if below >= share * total * (1 - 1e-9):
            return value
    return ordered[-1][0]


def _needed(spread: Interval, ratio: float) -> float:
    """How much wider, in logarithms, the spread has to be to hold the ratio."""
    middle, half = _middle(spread)
    return abs(math.log(ratio) - middle) / half


def _widened(spread: Interval, factor: float) -> Interval:
    middle, half = _middle(spread)
    return spread._replace(low=math.exp(middle - factor * half), high=math.exp(middle + factor * half))


def _middle(spread: Interval) -> tuple[float, float]:
    low, high = math.log(spread.low), math.log(spread.high)
    return (low + high) / 2, max((high - low) / 2, _LEAST_HALF_WIDTH)
