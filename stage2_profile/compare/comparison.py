"""Compares two sets of rows: pairs, ratios and verdicts. Pure functions on row records (the dictionaries of
`profile-neffs --format json`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from neff_bench.errors import WrongCall
from neff_bench.stage2_profile.compare.verdict import Pair, Pairing, Record, Verdict, interval, verdict_of
from neff_bench.stage2_profile.metrics.rows import METRICS

if TYPE_CHECKING:
    from neff_bench.stage2_profile.compare.baseline import Rows

_ORDER = ("us", "s", "percent")
COMPARED = {
    metric.name: metric
    for metric in sorted(
        (metric for metric in METRICS.values() if metric.better is not None),
        key=lambda metric: _ORDER.index(metric.unit) if metric.unit in _ORDER else len(_ORDER),
    )
}
"""The metrics that have a better direction (or `either`): times first, then rates, then what is counted."""

MUST_AGREE = ("target", "lnc", "source", "clock")


@dataclass(frozen=True, slots=True)
class Difference:
    """One metric of one pair. `ratio`: b / a, and the interval in which it lies, None where that is not known. `verdict`: of b
    against a (see verdict.py), None for a figure of the case itself, of which neither direction is better."""

    label: str
    metric: str
    a: float | None
    b: float | None
    ratio: float | None
    ratio_interval: tuple[float, float] | None
    verdict: Verdict | None


def dims(record: Record) -> tuple[tuple[str, int], ...]:
    """Return the dimensions of a row record, in the order in which the name of its case has them: the keys of an object have none."""
    case = str(record["case"])
    return tuple(sorted((record.get("dims") or {}).items(), key=lambda dim: (case.find(f"_{dim[0]}{dim[1]}"), dim[0])))


def _shape(row: Record) -> frozenset[tuple[str, int]] | str | None:
    """Return what is equal of two rows of one shape: their dimensions, or the shapes in words where these have no names."""
    return frozenset(dims(row)) or row.get("shapes")


def pair_rows(a: Rows, b: Rows, mixed: bool) -> Pairing:
    """Return two single profiles as a pair, whatever their names; of anything else, those of the same case."""
    if a.single and b.single:
        return pair_two(a.records[0], b.records[0], mixed)
    return pair_cases(a.records, b.records, mixed)


def pair_cases(a: Sequence[Record], b: Sequence[Record], mixed: bool) -> Pairing:
    """Return the rows of the same case by name; of the rest those that are the same kernel, implementation, shape and dtype."""
    return _pair(
        a,
        b,
        exact=lambda row: row["case"],
        loose=lambda row: (
            *(row.get("kernel") or row["case"], row.get("implementation"), _shape(row), row.get("dtype")),
            *(row.get("ranks"), row.get("rank")),
        ),
        mixed=mixed,
    )


def pair_two(row: Record, other: Record, mixed: bool) -> Pairing:
    """Return two rows as a pair, whatever they are called."""
    pair = Pair(label(row, other), row, other, what_is_mixed(row, other))
    return Pairing([pair]) if mixed or not pair.mixed else Pairing(refused=[pair])


def pair_implementations(rows: Sequence[Record], a: str, b: str, mixed: bool) -> Pairing:
    """Return the rows of two implementations of the same kernel, shape and dtype. Raises `WrongCall` for one that is not there."""
    for name in (a, b):
        if not any(row.get("implementation") == name for row in rows):
            known = sorted({row["implementation"] for row in rows if row.get("implementation")})
            raise WrongCall(f"--between: no row of implementation {name!r} (there are: {', '.join(known) or 'none'})")

    def same(row: Record) -> tuple[Any, ...]:
        return (row["kernel"], _shape(row), row["dtype"], row.get("ranks"), row.get("rank"))

    return _pair(
        [row for row in rows if row.get("implementation") == a],
        [row for row in rows if row.get("implementation") == b],
        exact=lambda row: (*same(row), row["target"], row["lnc"], *_variant(row)),
        loose=same,
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
    """Return `lnc 2 against 1`, or empty. A row without numbers has no source to disagree about."""
    return ", ".join(
        f"{name} {a[name]} against {b[name]}"
        for name in MUST_AGREE
        if a.get(name) is not None and b.get(name) is not None and a[name] != b[name]
    )


def label(row: Record, other: Record) -> str:
    """Return a short name for people, with the implementation where both have the same."""
    if row.get("kernel") is None or (row["kernel"], _shape(row)) != (other.get("kernel"), _shape(other)):
        return str(row["case"]) if row["case"] == other["case"] else f"{row['case']} / {other['case']}"
    return label_of(row if row["implementation"] == other["implementation"] else {**row, "implementation": None})


def label_of(row: Record) -> str:
    """Return a short name for people: kernel, implementation, shape, dtype, target and LNC, and what else tells its case from others."""
    if row.get("kernel") is None:
        return str(row["case"])
    shape = " ".join(f"{name}{size}" for name, size in dims(row)) or row.get("shapes")
    chip = f"{row.get('target')}/{row.get('lnc')}{of_ranks(row)}"
    words = (row["kernel"], row.get("implementation"), shape, row.get("dtype"), chip, *_variant(row))
    return " ".join(str(word) for word in words if word)


def _variant(row: Record) -> list[str]:
    """Return what the name of a case says behind its LNC of its flags and its seed."""
    words = str(row["case"]).partition(f"_lnc{row.get('lnc')}_")[2].split("_")
    return [word for word in words if word.startswith(("flags", "seed"))]


def of_ranks(row: Record) -> str:
    """Return ` 4 ranks` or ` rank 2 of 4`, nothing for a case of one."""
    if row.get("ranks") is None:
        return ""
    return f" {row['ranks']} ranks" if row.get("rank") is None else f" rank {row['rank']} of {row['ranks']}"


def differences(pair: Pair) -> list[Difference]:
    """Return every metric that one side has at least."""
    found = []
    for name, metric in COMPARED.items():
        a, b = pair.a.get(name), pair.b.get(name)
        if a is None and b is None:
            continue
        verdict = None if metric.better == "either" and a != b else verdict_of(pair.a, pair.b, name)[0]
        ratio = b / a if a and b is not None else None
        found.append(Difference(pair.label, name, a, b, ratio, _ratio_interval(pair, name) if ratio else None, verdict))
    return found


def _ratio_interval(pair: Pair, name: str) -> tuple[float, float] | None:
    a, b = interval(pair.a, pair.b, name), interval(pair.b, pair.a, name)
    return (b[0] / a[1], b[1] / a[0] if a[0] else math.inf) if a and b and a[1] else None


def geometric_mean(ratios: Sequence[float]) -> float | None:
    """Return the geometric mean; None for no ratios."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None
