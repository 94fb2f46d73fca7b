"""The 80 % interval of a simulated total time: what hardware is expected to take.

`evidence.json` holds measured / simulated of public rows that the model's authors may look at. For a kernel of nki-library with enough of
them, the interval is what its own rows span. For any other kernel it follows from a model of the logarithms of all rows, which
`python -m validation.correlation CHECKOUTS --evidence` fits to them (validation/correlation/intervals.py). The logarithm of a row is the sum of

- effects of its kind: one that every row has, and one each for `EFFECTS` that it has;
- the error of its family of kernels, and that of the family on this chip and number of cores;
- the error of operations that were never compared with hardware, times the part of the time that rests on them;
- the row's own error, whose size depends on whether the Tensor Engine binds.

A kernel of the user is of a family that was not seen. So its interval has the uncertainty of the effects, and the size of each of the
other errors in full. These sizes come from rows that the model has been improved by, so they are too small for a kernel that nobody has
compared. Rows of kernels that nobody had compared when they were simulated first say how many times too small: `Fit.reach`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgspec

from neff_bench.simulator.timing.likeness import Likeness

EVIDENCE_FILE = Path(__file__).with_name("evidence.json")

EFFECTS = ("all", "NC-v2", "NC-v4", "LNC 2", "compiled")
"""Kinds of rows whose times may be off by an amount of their own. NC-v3 at LNC 1 with the current dialect has the first alone."""

LIBRARY = "aws-neuron/nki-library"
"""The repository whose kernels have intervals of their own: others run the same files."""

OWN_ROWS = 7
"""Rows that such a kernel needs. Between the least and the greatest of seven lies the next one with a chance of 6 in 8."""


class Row(NamedTuple):
    """One measured row. ratio: measured / simulated total time. first: the same when the row was simulated first, by a model that nobody had
    compared with its family; None where there is no such figure."""

    repository: str
    commit: str
    family: str
    target: str
    like: Likeness
    ratio: float
    first: float | None = None


class Fit(NamedTuple):
    """What the rows say, as logarithms. effects, covariance: of `EFFECTS`, mean and uncertainty. Standard deviations: kernel, of a
    family's error; uncompared, of the error of operations that were never compared; row, of a row's own where the Tensor Engine
    does not bind, and where it does. reach: for 50, 80 and 90 %, half of the interval in standard deviations of the sum, which holds so
    much of the rows at first sight."""

    effects: tuple[float, ...]
    covariance: tuple[tuple[float, ...], ...]
    kernel: float
    uncompared: float
    row: tuple[float, float]
    reach: tuple[float, float, float]


class Interval(NamedTuple):
    """low, high: of measured / simulated. rows, families: how many it was made from. first: how many of them have a figure at first sight.
    alike: rows of the same generation, number of cores and dialect among them, and their families. targets: chips of that generation
    with a measured row. kernel: of nki-library, whose own rows these are; empty where the kernel was never compared."""

    low: float
    high: float
    rows: int
    families: int
    first: int
    alike: tuple[int, int]
    targets: tuple[str, ...]
    kernel: str = ""


@cache
def interval(like: Likeness, kernel: str = "") -> Interval | None:
    """Of a row; None where no row of its generation was measured. kernel: that of nki-library which it is, of `library_kernels`."""
    rows, fit = evidence()
    targets = tuple(sorted({row.target for row in rows if row.like.generation == like.generation}))
    if not targets:
        return None
    own = rows_of(rows, like, kernel)
    if len(own) >= OWN_ROWS:
        low, high = span([row.ratio for row in own])
        return Interval(low, high, len(own), 1, 0, (len(own), 1), targets, kernel)
    alike = [row for row in rows if row.like[:3] == like[:3]]
    first = sum(row.first is not None for row in rows)
    low, high = ends(fit, like)
    return Interval(low, high, len(rows), _families(rows), first, (len(alike), _families(alike)), targets)


def library_kernels() -> frozenset[str]:
    """Kernels of nki-library that were measured."""
    return frozenset(row.family for row in evidence()[0] if row.repository == LIBRARY)


def rows_of(rows: Sequence[Row], like: Likeness, kernel: str) -> list[Row]:
    """Rows of a kernel of nki-library on this generation with as many cores."""
    return [row for row in rows if (row.repository, row.family, *row.like[:2]) == (LIBRARY, kernel, *like[:2])]


def span(ratios: Sequence[float]) -> tuple[float, float]:
    """Between which two of a kernel's ratios the next one lies with a chance of 80 %, of 75 % where there are seven: nothing is assumed
    but that rows of one kernel come in no order."""
    ordered = sorted(ratios)
    cut = max(1, (len(ordered) + 1) // 10)
    return ordered[cut - 1], ordered[-cut]


def ends(fit: Fit, like: Likeness, reach: int = 1) -> tuple[float, float]:
    """Lowest and highest measured / simulated. reach: which of `Fit.reach`."""
    has = effects_of(like)
    middle = sum(fit.effects[n] for n in has)
    variance = sum(fit.covariance[n][m] for n in has for m in has)
    variance += fit.kernel**2 + fit.row[like.tensor_busy] ** 2 + (fit.uncompared * like.uncompared) ** 2
    half = fit.reach[reach] * math.sqrt(variance)
    return math.exp(middle - half), math.exp(middle + half)


def effects_of(like: Likeness) -> list[int]:
    """Which of `EFFECTS` a row has."""
    has = (True, like.generation == 2, like.generation == 4, like.lnc == 2, like.compiled)
    return [number for number, it_has in enumerate(has) if it_has]


@cache
def evidence() -> tuple[tuple[Row, ...], Fit]:
    """All that was measured and may be looked at, and what was fitted to it."""
    known = json.loads(EVIDENCE_FILE.read_bytes())
    rows = tuple(
        Row(repository, commit, family, target, Likeness(*kind, *features), ratio, first)
        for repository, commit, family, target, kind, measured in known["rows"]
        for *features, ratio, first in measured
    )
    return rows, msgspec.convert([known["fit"][name] for name in Fit._fields], Fit)


def _families(rows: Sequence[Row]) -> int:
    return len({(row.repository, row.family) for row in rows})
