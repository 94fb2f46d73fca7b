"""What tiles cost: time per tile, padding, and the steps that the data show."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from neff_bench.experiments.latency import quantile
from neff_bench.experiments.results import Point
from neff_bench.experiments.workload import K_TILE, M_TILE, N_TILE

TILES = {"M": M_TILE, "K": K_TILE, "N": N_TILE}
NOISE_FACTOR = 3.0
SMALLEST_STEP = 0.05
"""Of the time before it: a smaller rise is no step, however quiet the data."""


@dataclass(frozen=True)
class Line:
    """Points that differ in one dimension only, by size. `fixed`: the other dimensions; `series`: see `Point`."""

    dimension: str
    fixed: tuple[tuple[str, int], ...]
    series: str
    points: tuple[Point, ...]

    @property
    def name(self) -> str:
        fixed = " ".join(f"{name}={size}" for name, size in self.fixed)
        return f"{self.dimension} at {fixed}" + (f" ({self.series})" if self.series else "")

    def sizes(self) -> list[int]:
        return [getattr(point.config, self.dimension) for point in self.points]


@dataclass(frozen=True)
class Step:
    """A rise of the time between two neighbours of a line beyond its trend and noise.

    `boundary`: the multiple of the tile that lies between them, None when the step is not at one.
    """

    line: Line
    low: int
    high: int
    rise_us: float
    rise_fraction: float
    boundary: int | None


@dataclass(frozen=True)
class Analysis:
    """`crossings`: neighbours with a tile boundary between them; `at_boundary`: those of them with a step."""

    lines: tuple[Line, ...]
    steps: tuple[Step, ...]
    crossings: int

    @property
    def at_boundary(self) -> int:
        return sum(step.boundary is not None for step in self.steps)


def tile_rows(points: Sequence[Point]) -> list[dict[str, Any]]:
    """One row per point. `ratio`: to the time of the largest one-tile matmul of the same series that is no larger in any
    dimension; None when there is none."""
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
                "time_per_tile_us": point.time_us / (m * k * n),
                "ratio": point.time_us / one.time_us if one else None,
                "padding_percent": 100 * config.padding,
            }
        )
    return rows


def analyse(points: Sequence[Point]) -> Analysis:
    """Lines of at least three points, and their steps."""
    lines = find_lines(points)
    steps: list[Step] = []
    crossings = 0
    for line in lines:
        steps += _steps(line)
        sizes = line.sizes()
        tile = TILES[line.dimension]
        crossings += sum(-(-low // tile) != -(-high // tile) for low, high in zip(sizes, sizes[1:]))
    return Analysis(tuple(lines), tuple(steps), crossings)


def find_lines(points: Sequence[Point], shortest: int = 3) -> list[Line]:
    """All groups of points that differ in one dimension; where a size occurs twice, the median counts."""
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
    times = [point.time_us for point in line.points]
    sizes = line.sizes()
    rises = [high - low for low, high in zip(times, times[1:])]
    gaps = [high - low for low, high in zip(sizes, sizes[1:])]
    slope = max(0.0, statistics.median(rise / gap for rise, gap in zip(rises, gaps)))
    beyond = [rise - slope * gap for rise, gap in zip(rises, gaps)]
    noise = _noise(line, beyond)
    tile = TILES[line.dimension]
    steps = []
    for place, extra in enumerate(beyond):
        low, high = sizes[place], sizes[place + 1]
        if extra > max(NOISE_FACTOR * noise, SMALLEST_STEP * times[place]):
            crossed = -(-low // tile) != -(-high // tile)
            boundary = -(-low // tile) * tile if crossed else None
            steps.append(Step(line, low, high, rises[place], rises[place] / times[place], boundary))
    return steps


def _noise(line: Line, beyond: Sequence[float]) -> float:
    """The standard deviation that the measurement itself reports, or else that of the quieter neighbours."""
    spreads = [point.spread_us for point in line.points if point.spread_us is not None]
    if len(spreads) == len(line.points):
        # p90 - p10 (and an IQR, less) of a normal distribution is 2.56 standard deviations.
        return statistics.median(spreads) / 2.56
    # A quarter of normal deviations is below 0.32 standard deviations; steps are in the other three quarters.
    return quantile([abs(rise) for rise in beyond], 0.25) / 0.32


def _median(points: Sequence[Point]) -> Point:
    return sorted(points, key=lambda point: point.time_us)[(len(points) - 1) // 2]


def _fits(small: Point, large: Point) -> bool:
    return all(getattr(small.config, name) <= getattr(large.config, name) for name in TILES)
