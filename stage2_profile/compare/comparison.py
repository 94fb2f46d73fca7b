"""Two sets of rows side by side: pairs, ratios and verdicts. Pure functions on row records (the dictionaries of
`profile-neffs --format json`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from neff_bench.errors import WrongCall
from neff_bench.stage2_profile.capture.runs import UNTRACED
from neff_bench.stage2_profile.compare.verdict import (
    Record,
    Uncertainty,
    Verdict,
    device_ratio,
    noise_us,
    uncertainty,
    verdict,
)
from neff_bench.stage2_profile.metrics.rows import METRICS

_ORDER = ("us", "s", "percent")
COMPARED = {
    metric.name: metric
    for metric in sorted(
        (metric for metric in METRICS.values() if metric.better is not None),
        key=lambda metric: _ORDER.index(metric.unit) if metric.unit in _ORDER else len(_ORDER),
    )
}
"""The metrics that have a better direction (or `either`): times first, then rates, then what is counted."""

MUST_AGREE = ("target", "lnc", "source")


@dataclass(frozen=True)
class Pair:
    """One case on both sides. `mixed`: what of MUST_AGREE differs, as text."""

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


@dataclass(frozen=True)
class Difference:
    """One metric of one pair. `ratio`: b / a; `on_device`: the interval in which it lies there, None where that is not known.
    `verdict`: of b against a (see verdict.py). `noise_us`: the larger IQR of the two totals."""

    label: str
    metric: str
    a: float | None
    b: float | None
    ratio: float | None
    on_device: tuple[float, float] | None
    verdict: Verdict | None
    noise_us: float | None = None


def dims(record: Record) -> tuple[tuple[str, int], ...]:
    """The dimensions of a row record: the whole numbers between `implementation` and `dtype`."""
    keys = list(record)
    if "implementation" not in keys or "dtype" not in keys:
        return ()
    between = keys[keys.index("implementation") + 1 : keys.index("dtype")]
    return tuple((key, record[key]) for key in between if record[key] is not None)


def pair_cases(a: Sequence[Record], b: Sequence[Record], mixed: bool) -> Pairing:
    """Rows of the same case by name; of the rest those that are the same kernel, implementation, shape and dtype."""
    return _pair(
        a,
        b,
        exact=lambda row: row["case"],
        loose=lambda row: (
            *(row.get("kernel") or row["case"], row.get("implementation"), dims(row), row.get("dtype")),
            *(row.get("ranks"), row.get("rank")),
        ),
        mixed=mixed,
    )


def pair_two(row: Record, other: Record, mixed: bool) -> Pairing:
    """Two rows as a pair, whatever they are called."""
    pair = Pair(label(row, other), row, other, what_is_mixed(row, other))
    return Pairing([pair]) if mixed or not pair.mixed else Pairing(refused=[pair])


def pair_implementations(rows: Sequence[Record], a: str, b: str, mixed: bool) -> Pairing:
    """Rows of two implementations of the same kernel, shape and dtype. Raises `WrongCall` for one that is not there."""
    for name in (a, b):
        if not any(row.get("implementation") == name for row in rows):
            known = sorted({row["implementation"] for row in rows if row.get("implementation")})
            raise WrongCall(f"--between: no row of implementation {name!r} (there are: {', '.join(known) or 'none'})")

    def shape(row: Record) -> tuple[Any, ...]:
        return (row["kernel"], dims(row), row["dtype"], row.get("ranks"), row.get("rank"))

    return _pair(
        [row for row in rows if row.get("implementation") == a],
        [row for row in rows if row.get("implementation") == b],
        exact=lambda row: (*shape(row), row["target"], row["lnc"]),
        loose=shape,
        mixed=mixed,
    )


def _pair(
    a: Sequence[Record],
    b: Sequence[Record],
    *,
    exact: Callable[[Record], Any],
    loose: Callable[[Record], Any],
    mixed: bool,
) -> Pairing:
    pairing = Pairing()
    rest_a, rest_b = list(a), list(b)
    for key in (exact, loose):
        candidates: dict[Any, list[Record]] = {}
        for row in rest_b:
            candidates.setdefault(key(row), []).append(row)
        unmatched = []
        for row in rest_a:
            found = candidates.get(key(row))
            if not found:
                unmatched.append(row)
                continue
            other = found.pop(0)
            rest_b.remove(other)
            one = pair_two(row, other, mixed)
            pairing.pairs.extend(one.pairs)
            pairing.refused.extend(one.refused)
        rest_a = unmatched
    pairing.only_a.extend(rest_a)
    pairing.only_b.extend(rest_b)
    return pairing


def what_is_mixed(a: Record, b: Record) -> str:
    """`lnc 2 against 1`, or empty. A row without numbers has no source to disagree about. nrtpy times other events than the
    profiler does."""
    said = [
        f"{name} {a[name]} against {b[name]}"
        for name in MUST_AGREE
        if a.get(name) is not None and b.get(name) is not None and a[name] != b[name]
    ]
    if _is_nrtpy(a) != _is_nrtpy(b):
        said.append(f"tool {a.get('tool')} against {b.get('tool')}")
    return ", ".join(said)


def _is_nrtpy(row: Record) -> bool:
    return str(row.get("tool")).startswith(f"{UNTRACED} ")


def label(row: Record, other: Record) -> str:
    """A short name for people: kernel, implementation where both have the same, shape, dtype, target and LNC."""
    if row.get("kernel") is None or (row["kernel"], dims(row)) != (other.get("kernel"), dims(other)):
        return str(row["case"]) if row["case"] == other["case"] else f"{row['case']} / {other['case']}"
    kernel = row["kernel"]
    if row["implementation"] == other["implementation"]:
        kernel = f"{kernel} {row['implementation']}"
    shape = " ".join(f"{name}{size}" for name, size in dims(row))
    return f"{kernel} {shape} {row['dtype']} {row['target']}/{row['lnc']}{of_ranks(row)}"


def of_ranks(row: Record) -> str:
    """` 4 ranks` or ` rank 2 of 4`, nothing for a case of one."""
    if row.get("ranks") is None:
        return ""
    return f" {row['ranks']} ranks" if row.get("rank") is None else f" rank {row['rank']} of {row['ranks']}"


def differences(pair: Pair) -> list[Difference]:
    """Every metric that one side has at least."""
    times = uncertainty(pair.a, pair.b)
    found = []
    for name, metric in COMPARED.items():
        a, b, better = pair.a.get(name), pair.b.get(name), metric.better
        if a is None and b is None:
            continue
        uncertain = Uncertainty() if metric.exact else times
        ratio = b / a if a and b is not None else None
        interval = device_ratio(ratio, better, uncertain) if ratio and uncertain else None
        noise = noise_us(pair.a, pair.b) if name == "total_time_us" else None
        found.append(Difference(pair.label, name, a, b, ratio, interval, verdict(a, b, better, uncertain), noise))
    return found


def geometric_mean(ratios: Sequence[float]) -> float | None:
    """None for no ratios."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None
