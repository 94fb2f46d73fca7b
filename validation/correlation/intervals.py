"""Fits the model that the intervals of simulated times follow from, and judges it on rows that it was not fitted to.

`neff_bench.simulator.timing.interval` says what the model is. Here are its priors: an effect, and a family's error, is of the size
of a tenth before a row is looked at; that of a generation, whose constants are in part those of another, is as large as the error of
operations that were never compared with hardware. Each class (a family on one chip, at one LNC) has rows that spread by an amount of
its own, drawn around the mean of the classes: a class with few rows borrows its spread from the others. The posterior is drawn by
Gibbs sampling: normal distributions for the effects, a grid for each standard deviation.

What operations that were never compared may be off by comes from `comparisons.json`, not from rows: those of attention and
rmsnorm_quant are in the families' errors already, so an interval counts them twice there rather than not at all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from neff_bench.simulator.costs.comparisons import comparisons
from neff_bench.simulator.timing.interval import EFFECTS, LIBRARY, OWN_ROWS, Fit, Row, effects_of, ends, rows_of, span

_A_TENTH = 0.1
"""Standard deviation of an effect before rows are looked at; scale of that of families. Half of it takes two or three points from
the coverage of rows whose family was left out."""

_START = 0.08
"""Spread of a class's rows in the first step of the chain; of no weight in the result."""

_CLASSES_DIFFER = 0.5
"""Scale of the standard deviation, over classes, of the logarithm of their rows' spread; and of what a busy Tensor Engine does to it."""

_DRAWS, _FORGOTTEN = 2000, 500
"""Steps of the chain that count, and those before them."""

_GRID = np.exp(np.linspace(math.log(0.002), 0.0, 120))
_SLOPES = np.linspace(-2.0, 2.0, 81)
"""Values of a standard deviation, and of what is added to its logarithm, that are drawn from."""

LEVELS = (0.5, 0.8, 0.9)
"""Shares of rows that `Fit.reach` is made for."""


class _Design(NamedTuple):
    """Of n rows: logs [n]; matrix [n, effects + families + classes]; level [columns]: 0 effects, 1 families, 2 classes; of [n]: the
    number of a row's class; busy [n]: 1 where the Tensor Engine binds."""

    logs: np.ndarray
    matrix: np.ndarray
    level: np.ndarray
    of: np.ndarray
    busy: np.ndarray


class _Draw(NamedTuple):
    """effects [effects]; kernel: variance of families and classes; typical: log of a class's spread; busy: what is added to it where the
    Tensor Engine binds."""

    effects: np.ndarray
    kernel: float
    typical: float
    busy: float


def fitted(rows: Sequence[Row]) -> Fit:
    """To these rows; the same rows give the same fit."""
    draws = list(_draws(_designed(rows)))
    effects = np.array([draw.effects for draw in draws])
    own = np.array([(draw.typical, draw.typical + draw.busy) for draw in draws])
    fit = Fit(
        tuple(effects.mean(0).round(4).tolist()),
        tuple(map(tuple, np.cov(effects.T).round(6).tolist())),
        round(math.sqrt(np.mean([draw.kernel for draw in draws])), 4),
        round(first_errors(), 4),
        tuple(np.exp(np.median(own, axis=0)).round(4).tolist()),
        (1.0, 1.0, 1.0),
    )
    return fit._replace(reach=_reach(fit, rows))


def first_errors() -> float:
    """Root mean square of the logarithms of modelled / measured in comparisons.json: what an operation that was never compared may be off by."""
    logs = [math.log1p(one.median_error) for of_row in comparisons().values() for one in of_row]
    return math.sqrt(sum(log * log for log in logs) / len(logs))


def left_out(rows: Sequence[Row], by: Callable[[Row], str]) -> list[tuple[Row, Fit]]:
    """Each row with what is fitted to the rows of other families or repositories; without those of a generation that no other has."""
    found = []
    for name in sorted({by(row) for row in rows}):
        others = [row for row in rows if by(row) != name]
        generations = {row.like.generation for row in others}
        own = [row for row in rows if by(row) == name and row.like.generation in generations]
        if own:
            fit = fitted(others)
            found += [(row, fit) for row in own]
    return found


def without_itself(rows: Sequence[Row]) -> list[tuple[Row, tuple[float, float]]]:
    """Each row of a kernel of nki-library that has an interval of its own, with what the kernel's other rows say."""
    found = []
    for row in rows:
        others = [other for other in rows_of(rows, row.like, row.family) if other is not row]
        if row.repository == LIBRARY and len(others) + 1 >= OWN_ROWS:
            found.append((row, span([other.ratio for other in others])))
    return found


def class_of(row: Row) -> str:
    """A family of kernels on one chip, at one LNC."""
    return f"{row.family}, {row.target} LNC {row.like.lnc}"


def _designed(rows: Sequence[Row]) -> _Design:
    families = [f"{row.repository} {row.family}" for row in rows]
    classes = [f"{row.repository} {class_of(row)}" for row in rows]
    effects = np.array([[number in effects_of(row.like) for number in range(len(EFFECTS))] for row in rows], float)
    of_family, of_class = _indicators(families), _indicators(classes)
    blocks = (effects, of_family, of_class)
    return _Design(
        np.log([row.ratio for row in rows]),
        np.hstack(blocks),
        np.repeat(range(len(blocks)), [block.shape[1] for block in blocks]),
        of_class.argmax(1),
        np.array([row.like.tensor_busy for row in rows], float),
    )


def _indicators(names: Sequence[str]) -> np.ndarray:
    return np.array([[name == one for one in sorted(set(names))] for name in names], float)


def _draws(design: _Design) -> Iterator[_Draw]:
    random = np.random.default_rng(0)
    logs, matrix, level, of, busy = design
    # Rows of a class have the same line of the matrix, so sums over them are enough.
    kinds, kind = np.unique(matrix, axis=0, return_inverse=True)
    count = np.bincount(of)
    spread = np.full(len(count), math.log(_START))  # of each class's rows, as a logarithm
    typical, slope, differ = spread[0], 0.0, _CLASSES_DIFFER
    of_effects = np.where([name.startswith("NC-") for name in EFFECTS], first_errors(), _A_TENTH)
    deviation = np.full(3, _A_TENTH)  # of each level
    for number in range(_FORGOTTEN + _DRAWS):
        weight = np.exp(-2 * (spread[of] + slope * busy))
        sizes = np.concatenate([of_effects, deviation[level[level > 0]]])
        precision = (kinds.T * np.bincount(kind, weight)) @ kinds + np.diag(sizes**-2)
        root = np.linalg.cholesky(precision)
        middle = np.linalg.solve(root.T, np.linalg.solve(root, kinds.T @ np.bincount(kind, weight * logs)))
        effects = middle + np.linalg.solve(root.T, random.standard_normal(len(middle)))
        for of_level in (1, 2):
            size = _normal(effects[level == of_level]) - _GRID**2 / 2 / _A_TENTH**2
            deviation[of_level] = _GRID[_chosen(size, random)]
        squares = (logs - matrix @ effects) ** 2
        narrowed = squares * np.exp(-2 * slope * busy)
        fits = -np.outer(count, np.log(_GRID)) - np.outer(np.bincount(of, narrowed), _GRID**-2.0) / 2
        fits -= (np.log(_GRID) - typical) ** 2 / 2 / differ**2
        spread = np.log(_GRID)[_chosen(fits, random)]
        rest = (squares * np.exp(-2 * spread[of]))[busy > 0].sum()
        fits = -busy.sum() * _SLOPES - rest * np.exp(-2 * _SLOPES) / 2 - _SLOPES**2 / 2 / _CLASSES_DIFFER**2
        slope = float(_SLOPES[_chosen(fits, random)])
        typical = random.normal(spread.mean(), differ / math.sqrt(len(spread)))
        fits = _normal(spread - typical) - _GRID**2 / 2 / _CLASSES_DIFFER**2
        differ = float(_GRID[_chosen(fits, random)])
        if number >= _FORGOTTEN:
            yield _Draw(effects[level == 0], float((deviation[1:3] ** 2).sum()), typical, slope)


def _normal(values: np.ndarray) -> np.ndarray:
    """Logarithm of the likelihood of each standard deviation of the grid, for values around zero; the grid's steps are logarithms."""
    return -(len(values) - 1) * np.log(_GRID) - (values @ values) / 2 / _GRID**2


def _chosen(logs: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """An index of the last axis, with these unnormalised logarithms of its probability."""
    return (logs + random.gumbel(size=logs.shape)).argmax(-1)


def _reach(fit: Fit, rows: Sequence[Row]) -> tuple[float, float, float]:
    """How many of the fit's standard deviations hold `LEVELS` of the rows at first sight. Each family on a chip weighs the same: which family
    a kernel is of decides more than which row. Without such rows, those of a normal distribution."""
    of_class: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        if row.first is not None:
            low, high = ends(fit._replace(reach=(1.0, 1.0, 1.0)), row.like)
            off = abs(2 * math.log(row.first) - math.log(low * high)) / math.log(high / low)
            of_class.setdefault((row.family, row.target), []).append(off)
    if not of_class:
        half, most, nearly_all = (round(NormalDist().inv_cdf((1 + level) / 2), 3) for level in LEVELS)
        return half, most, nearly_all
    weighted = sorted((off, 1 / len(offs) / len(of_class)) for offs in of_class.values() for off in offs)
    held = np.cumsum([weight for _, weight in weighted])
    half, most, nearly_all = (round(weighted[int(np.searchsorted(held, level - 1e-9))][0], 3) for level in LEVELS)
    return half, most, nearly_all
