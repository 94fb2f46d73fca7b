"""Computes the 80 % range of a simulated time: the multiples of it between which hardware's lies.

`evidence.json` holds measured / simulated of public kernels at first sight. Each repository weighs the same, however many rows it has: Dunn, Wasserman
and Ramdas, "Distribution-free prediction sets for two-layer hierarchical models", arXiv 1809.07441, CDF pooling. Every row has the same range. A program
that AWS's compiler makes in ways that are not known has the least and the greatest of all these ratios.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

EVIDENCE_FILE = Path(__file__).with_name("evidence.json")

SHARE = 0.8
"""The share of the repositories' rows that lie in the range."""


SURE = 0.97
"""The share of the pairs that are called sure which hardware orders in the same way."""


class Row(NamedTuple):
    """One measured row. clock: it was measured by. ratio: measured / simulated by that clock at first sight. model: the commit that said so."""

    repository: str
    family: str
    target: str
    lnc: int
    clock: str
    ratio: float
    name: str = ""
    model: str = ""


class Interval(NamedTuple):
    """The ends of measured / simulated. rows, repositories: how many it was made from. targets: chips with a measured row."""

    low: float
    high: float
    rows: int
    repositories: int
    targets: frozenset[str]


def interval(known: bool) -> Interval:
    """Return the range of a row. known: whether AWS's compiler is known to make the program that was simulated."""
    return intervals()[known]


@cache
def intervals() -> tuple[Interval, Interval]:
    """Return the ranges of both kinds of rows: of what is not known, and of what is."""
    rows = evidence()
    ratios = [row.ratio for row in rows]
    repositories, targets = {row.repository for row in rows}, frozenset(row.target for row in rows)
    of_other = Interval(min(ratios), max(ratios), len(rows), len(repositories), targets)
    low, high = pooled(rows)
    return of_other, of_other._replace(low=low, high=high)


@cache
def sure_ratio() -> float:
    """Return by which factor two simulated times of one kernel must differ for 97 of 100 such pairs to have hardware's order.

    It is a quantile of how far the ratios of two rows of one kernel lie apart. An error in one of the two directions alone turns a pair round, so 97 of 100 in
    the right order are 94 of 100 within the factor.
    """
    kernels: dict[tuple[object, ...], list[Row]] = defaultdict(list)
    for row in evidence():
        kernels[row[:5]].append(row)
    apart: dict[str, list[float]] = defaultdict(list)
    for rows in kernels.values():
        apart[rows[0].repository] += [abs(math.log(a.ratio / b.ratio)) for a, b in combinations(rows, 2)]
    return math.exp(_quantile([(log, 1 / len(logs)) for logs in apart.values() for log in logs], 1 - 2 * (1 - SURE)))


def pooled(rows: Sequence[Row], share: float = SHARE) -> tuple[float, float]:
    """Return between which ratios this share of the repositories' rows lies, as far below their median as above it, as factors."""
    of_repository: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        of_repository[row.repository].append(math.log(row.ratio))
    weighted = [(log, 1 / len(logs)) for logs in of_repository.values() for log in logs]
    middle = _quantile(weighted, 0.5)
    half = _quantile([(abs(log - middle), weight) for log, weight in weighted], share)
    return math.exp(middle - half), math.exp(middle + half)


def _quantile(weighted: Sequence[tuple[float, float]], share: float) -> float:
    """Return the least value that so much of the weight lies at or below."""
    left = share * sum(weight for _, weight in weighted) - 1e-9
    for value, weight in sorted(weighted):
        left -= weight
        if left <= 0:
            return value
    raise ValueError("no rows")


@cache
def evidence() -> tuple[Row, ...]:
    """Return all that was measured, as it was at first sight."""
    return tuple(Row(*row) for row in json.loads(EVIDENCE_FILE.read_bytes()))
