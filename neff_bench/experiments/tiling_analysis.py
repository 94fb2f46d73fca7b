"""Says what tiles cost: time per tile, padding, and the steps that the data show."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from neff_bench.experiments.results import Point
from neff_bench.experiments.workload import K_TILE, M_TILE, N_TILE

TILES = {"M": M_TILE, "K": K_TILE, "N": N_TILE}
NOISE_FACTOR = 5.0
"""Standard deviations of a difference that no noise reaches, in all neighbours of a hundred lines (one in 10^6 each)."""
FEWEST_RISES = 6
"""Rises from which a line without samples shows its own noise."""
SMALLEST_STEP = 0.05
SMALLEST_EXACT_STEP = 0.01
"""The least rise, as a share of the time before it: a smaller one is no step, however quiet the data. A simulated time has no noise, but small bends."""


@dataclass(frozen=True)
class Line:
    """Points that differ in one dimension only, by size. `fixed`: the other dimensions; `series`: see `Point`."""

    dimension: str
    fixed: tuple[tuple[str, int], ...]
    series: str
    points: tuple[Point, ...]

    @property
    def name(self) -> str:
        """What changes in this series, and what stays."""
        fixed = " ".join(f"{name}={size}" for name, size in self.fixed)
        return f"{self.dimension} at {fixed}" + (f" ({self.series})" if self.series else "")

    def sizes(self) -> list[int]:
        """Return the sizes of the dimension that changes, in order."""
        return [getattr(point.config, self.dimension) for point in self.points]


@dataclass(frozen=True)
class Step:
    """A rise of the time between two neighbours of a line beyond its trend and noise. `boundary`: the multiple of the tile between them, or None."""

    line: Line
    low: int
    high: int
    rise_us: float
    rise_fraction: float
    boundary: int | None


@dataclass(frozen=True)
class Analysis:
    """`crossings`: neighbours with a tile boundary between them; `at_boundary`: those of them with a step. `unknown`: lines
    of too few points to tell a step from noise that nobody measured."""

    lines: tuple[Line, ...]
    steps: tuple[Step, ...]
    crossings: int
    unknown: int = 0

    @property
    def at_boundary(self) -> int:
        """How many steps lie at a boundary of the hardware's tiles."""
        return sum(step.boundary is not None for step in self.steps)


def tile_rows(points: Sequence[Point]) -> list[dict[str, Any]]:
    """Return one row per point. `ratio`: to the time of the largest one-tile matmul of the same series that is no larger in any
    dimension; `expected_us`: that time for each tile, which would be right without fixed costs; None when there is none."""
    ones = [point for point in points if math.prod(point.config.tiles) == 1]
    rows = []
    for point in points:
        config = point.config
        m, k, n = config.tiles
        one = max(
            (p for p in ones if p.series == point.series and _fits(p, point)),
            key=lambda p: p.config.flops,
            default=None,
        )
        rows.append(
            {
                "series": point.series or None,
                "M": config.M,
                "K": config.K,
                "N": config.N,
                "tiles_M": m,
                "tiles_K": k,
                "tiles_N": n,
                "total_tiles": m * k * n,
                "time_us": point.time_us,
                "expected_us": one.time_us * m * k * n if one else None,
                "time_per_tile_us": point.time_us / (m * k * n),
                "ratio": point.time_us / one.time_us if one else None,
                "padding_percent": 100 * config.padding,
            }
        )
    return rows


def analyse(points: Sequence[Point]) -> Analysis:
    """Return lines of at least three points, and their steps."""
    lines = find_lines(points)
    steps: list[Step] = []
    crossings = 0
    for line in lines:
        steps += _steps(line)
        sizes = line.sizes()
        tile = TILES[line.dimension]
        crossings += sum(-(-low // tile) != -(-high // tile) for low, high in itertools.pairwise(sizes))
    return Analysis(
        tuple(lines), tuple(steps), crossings, sum(_noise(line, _beyond_trend(line)) is None for line in lines)
    )


def find_lines(points: Sequence[Point], shortest: int = 3) -> list[Line]:
    """Return all groups of points that differ in one dimension; where a size occurs twice, the median counts."""
    lines = []
    for dimension in TILES:
        others = tuple(name for name in TILES if name != dimension)
        groups: dict[tuple[Any, ...], dict[int, list[Point]]] = {}
        for point in points:
            key = (point.series, *(getattr(point.config, name) for name in others))
            groups.setdefault(key, {}).setdefault(getattr(point.config, dimension), []).append(point)
        for (series, *fixed), sizes in groups.items():
            if len(sizes) >= shortest:
                chosen = tuple(_median(sizes[size]) for size in sorted(sizes))
                lines.append(Line(dimension, tuple(zip(others, fixed)), series, chosen))
    return lines


def _steps(line: Line) -> list[Step]:
    times, sizes = [point.time_us for point in line.points], line.sizes()
    beyond = _beyond_trend(line)
    noise = _noise(line, beyond)
    if noise is None:
        return []
    tile = TILES[line.dimension]
    steps = []
    for place, extra in enumerate(beyond):
        low, high = sizes[place], sizes[place + 1]
        boundaries = -(-high // tile) - -(-low // tile)
        least = (SMALLEST_STEP if noise[place] else SMALLEST_EXACT_STEP) * times[place]
        if boundaries < 2 and extra > max(NOISE_FACTOR * noise[place], least):
            boundary = -(-low // tile) * tile if boundaries else None
            rise = times[place + 1] - times[place]
            steps.append(Step(line, low, high, rise, rise / times[place], boundary))
    return steps


def _beyond_trend(line: Line) -> list[float]:
    """Return the rises between neighbours less what the trend of the whole line gives their distance (Theil-Sen: the median slope over
    all pairs of points, which a step between close neighbours hardly moves)."""
    times, sizes = [point.time_us for point in line.points], line.sizes()
    pairs = itertools.combinations(zip(sizes, times), 2)
    slope = max(0.0, statistics.median((late - early) / (high - low) for (low, early), (high, late) in pairs))
    return [
        late - early - slope * (high - low)
        for (low, high), (early, late) in zip(itertools.pairwise(sizes), itertools.pairwise(times))
    ]


def _noise(line: Line, beyond: Sequence[float]) -> list[float] | None:
    """Return the standard deviation of each rise that noise alone gives: from the samples of the two points, no less than the line's median, else
    from the rises themselves; None when neither tells it."""
    samples = [point.noise_us for point in line.points]
    known = [noise for noise in samples if noise is not None]
    if len(known) == len(samples):
        usual = statistics.median(known)
        each = [max(noise, usual) for noise in known]
        return [math.hypot(low, high) for low, high in itertools.pairwise(each)]
    if len(beyond) < FEWEST_RISES:
        return None
    # Up to half of the rises may be steps. The median size of normal deviations is 0.674 of their standard deviation, and of
    # few of them it is less than that now and then.
    middle = statistics.median(beyond)
    usual = statistics.median(abs(rise - middle) for rise in beyond) / 0.674 * (1 + 2 * FEWEST_RISES / len(beyond))
    return [usual] * len(beyond)


def _median(points: Sequence[Point]) -> Point:
    return sorted(points, key=lambda point: point.time_us)[(len(points) - 1) // 2]


def _fits(small: Point, large: Point) -> bool:
    return all(getattr(small.config, name) <= getattr(large.config, name) for name in TILES)
