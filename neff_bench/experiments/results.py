"""Reads files of matmul times: what `neff-bench latency` or `profile-neffs` wrote, as CSV or JSON."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neff_bench.experiments.errors import BadResults
from neff_bench.experiments.workload import MatmulConfig

METRICS = {"latency_ms": 1e3, "total_time_us": 1.0, "device_us": 1.0}
"""Column -> microseconds in one unit of it. The first that a file has is taken where none is asked for."""
SERIES = ("implementation", "backend", "dtype", "target", "lnc", "source", "threads")
"""Columns that tell apart rows which are not to be compared with each other."""

P90_P10, IQR = 2.563, 1.349
"""Widths of a normal distribution in standard deviations."""


@dataclass(frozen=True)
class Point:
    """One matmul and its time. `noise_us`: the standard deviation that the samples show, 0 for a simulated time, None when
    the file says nothing of it. `series`: what else was the same for comparable points."""

    config: MatmulConfig
    time_us: float
    noise_us: float | None
    series: str


@dataclass(frozen=True)
class Results:
    """Says what a file of results has: its points, the metric of their latencies, and where they come from."""

    points: tuple[Point, ...]
    metric: str
    source: str
    """"measured", "simulated", both, or "" where the file does not say."""


def read_results(path: Path, metric: str | None = None) -> Results:
    """Return the matmuls in a file; rows of other kernels and failed rows are left out."""
    rows = _rows(path)
    if not rows:
        raise BadResults(f"{path}: no rows; expected the output of neff-bench latency or profile-neffs")
    known = set().union(*(row.keys() for _, row in rows))
    chosen = metric or next((name for name in METRICS if name in known), None)
    for name in ("M", "K", "N", chosen or "latency_ms"):
        if name not in known:
            found = ", ".join(sorted(known)[:12])
            raise BadResults(f"{path}: column {name} is missing; found {found}")
    if chosen not in METRICS:
        raise BadResults(f"{path}: column {chosen} is no time; expected one of {', '.join(METRICS)}")
    points = []
    for place, row in rows:
        if row.get("M") in (None, "") or row.get(chosen) in (None, ""):
            continue
        points.append(_point(f"{path}: {place}", row, chosen))
    if not points:
        raise BadResults(f"{path}: no row holds a matmul with {chosen}")
    sources = sorted({str(row["source"]) for _, row in rows if row.get("source")})
    return Results(tuple(points), chosen, " and ".join(sources))


def read_text(path: Path) -> str:
    """Return the text of a file. Raises `BadResults`."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise BadResults(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise BadResults(f"{path}: not text: byte {error.start} is not UTF-8") from None


def _rows(path: Path) -> list[tuple[str, Mapping[str, Any]]]:
    """Return (where, row) of each row."""
    text = read_text(path)
    if path.suffix.lower() == ".json" or text.lstrip().startswith("["):
        import orjson

        try:
            rows = orjson.loads(text)
        except orjson.JSONDecodeError as error:
            raise BadResults(f"{path}: not JSON: {error}") from None
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise BadResults(f"{path}: expected a JSON list of rows")
        return [(f"row {number}", row) for number, row in enumerate(rows, 1)]
    reader = csv.DictReader(io.StringIO(text))
    try:
        return [(f"line {reader.line_num}", row) for row in reader]
    except csv.Error as error:
        raise BadResults(f"{path}: line {reader.line_num}: not CSV: {error}") from None


def _point(where: str, row: Mapping[str, Any], metric: str) -> Point:
    sizes = [_number(where, row, name) for name in ("M", "K", "N")]
    for name, size in zip(("M", "K", "N"), sizes):
        if size < 1 or size != int(size):
            raise BadResults(f"{where}: {name} is {row[name]}; expected a whole number of at least 1")
    time = _number(where, row, metric)
    if time <= 0:
        raise BadResults(f"{where}: {metric} is {row[metric]}; expected a time above 0")
    series = " ".join(f"{_shown(name, row[name])}" for name in SERIES if row.get(name) not in (None, ""))
    m, k, n = map(int, sizes)
    return Point(MatmulConfig(m, k, n), time * METRICS[metric], _noise_us(where, row, metric), series)


def _noise_us(where: str, row: Mapping[str, Any], metric: str) -> float | None:
    if row.get("source") == "simulated":
        return 0.0
    if metric == "latency_ms" and row.get("p10_ms") not in (None, "") and row.get("p90_ms") not in (None, ""):
        return 1e3 * abs(_number(where, row, "p90_ms") - _number(where, row, "p10_ms")) / P90_P10
    if metric == "total_time_us" and row.get("total_time_iqr_us") not in (None, ""):
        return abs(_number(where, row, "total_time_iqr_us")) / IQR
    return None


def _shown(name: str, value: Any) -> str:
    return f"{name}{value}" if name in ("lnc", "threads") else str(value)


def _number(where: str, row: Mapping[str, Any], name: str) -> float:
    try:
        value = float(row[name])
    except (TypeError, ValueError):
        raise BadResults(f"{where}: {name} is {row[name]!r}; expected a number") from None
    if not math.isfinite(value):
        raise BadResults(f"{where}: {name} is {row[name]!r}; expected a finite number")
    return value
