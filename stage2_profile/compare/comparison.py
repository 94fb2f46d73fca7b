"""Two sets of rows side by side: ratios, winners, noise, and gates for a continuous build. Pure functions on row records
(the dictionaries of `profile-neffs --format json`)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from neff_bench.stage2_profile.errors import WrongCall

Record = Mapping[str, Any]
Better = Literal["lower", "higher", "unchanged"]
Verdict = Literal["better", "worse", "same", "changed", "noise"]

TIMES = (
    "total_time_us",
    "total_active_time_us",
    "tensor_active_us",
    "vector_active_us",
    "scalar_active_us",
    "gpsimd_active_us",
    "sync_active_us",
    "dma_active_us",
    "compile_time_s",
)
RATES = ("mfu_percent", "mfu_estimated_percent")
COUNTERS = (
    "model_flops",
    "hardware_flops",
    "matmul_instruction_count",
    "hbm_read_bytes",
    "hbm_write_bytes",
    "tensor_instruction_count",
    "vector_instruction_count",
    "scalar_instruction_count",
    "gpsimd_instruction_count",
    "sync_instruction_count",
    "dma_packet_count",
)
BETTER: dict[str, Better] = {
    **dict.fromkeys(TIMES, "lower"),
    **dict.fromkeys(RATES, "higher"),
    **dict.fromkeys(COUNTERS, "unchanged"),
}
"""Metric → which way is better; a counter is a fact of the program, so any change of it is worth a look."""

SAME = 1e-9
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
    """One metric of one pair. `ratio`: b / a. `verdict`: of b against a. `noise_us`: the larger IQR of the two medians."""

    label: str
    metric: str
    a: float | None
    b: float | None
    ratio: float | None
    verdict: Verdict | None
    noise_us: float | None = None


@dataclass(frozen=True)
class Rule:
    """Fail when `metric` gets worse (a counter: changes) by more than `percent`."""

    metric: str
    percent: float


def parse_rule(text: str) -> Rule:
    """`total_time_us:5%` → a rule. Raises `WrongCall`."""
    match = re.fullmatch(r"(\w+):(\d+(?:\.\d+)?)%?", text)
    if match is None:
        raise WrongCall(f"--fail-if {text!r}: expected METRIC:PERCENT%, such as total_time_us:5%")
    if match[1] not in BETTER:
        raise WrongCall(f"--fail-if {text!r}: unknown metric {match[1]!r} (known: {', '.join(BETTER)})")
    return Rule(match[1], float(match[2]))


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
        loose=lambda row: (row.get("kernel") or row["case"], row.get("implementation"), dims(row), row.get("dtype")),
        mixed=mixed,
    )


def pair_implementations(rows: Sequence[Record], a: str, b: str, mixed: bool) -> Pairing:
    """Rows of two implementations of the same kernel, shape and dtype. Raises `WrongCall` for one that is not there."""
    for name in (a, b):
        if not any(row.get("implementation") == name for row in rows):
            known = sorted({row["implementation"] for row in rows if row.get("implementation")})
            raise WrongCall(f"--between: no row of implementation {name!r} (there are: {', '.join(known) or 'none'})")

    def shape(row: Record) -> tuple[Any, ...]:
        return (row["kernel"], dims(row), row["dtype"])

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
            pair = Pair(label(row, other), row, other, what_is_mixed(row, other))
            (pairing.pairs if mixed or not pair.mixed else pairing.refused).append(pair)
        rest_a = unmatched
    pairing.only_a.extend(rest_a)
    pairing.only_b.extend(rest_b)
    return pairing


def what_is_mixed(a: Record, b: Record) -> str:
    """`lnc 2 against 1`, or empty. A row without numbers has no source to disagree about."""
    return ", ".join(
        f"{name} {a[name]} against {b[name]}"
        for name in MUST_AGREE
        if a.get(name) is not None and b.get(name) is not None and a[name] != b[name]
    )


def label(row: Record, other: Record) -> str:
    """A short name for people: kernel, implementation where both have the same, shape, dtype, target and LNC."""
    if row.get("kernel") is None:
        return str(row["case"])
    kernel = row["kernel"]
    if row["implementation"] == other["implementation"]:
        kernel = f"{kernel} {row['implementation']}"
    shape = " ".join(f"{name}{size}" for name, size in dims(row))
    return f"{kernel} {shape} {row['dtype']} {row['target']}/{row['lnc']}"


def differences(pair: Pair) -> list[Difference]:
    """Every metric that one side has at least."""
    found = []
    for metric, better in BETTER.items():
        a, b = pair.a.get(metric), pair.b.get(metric)
        if a is None and b is None:
            continue
        noise = None
        if metric == "total_time_us":
            iqrs = [row.get("total_time_iqr_us") for row in (pair.a, pair.b)]
            noise = max((iqr for iqr in iqrs if iqr is not None), default=None)
        ratio = b / a if a and b is not None else None
        found.append(Difference(pair.label, metric, a, b, ratio, _verdict(a, b, better, noise), noise))
    return found


def _verdict(a: float | None, b: float | None, better: Better, noise: float | None) -> Verdict | None:
    if a is None or b is None:
        return None
    if abs(b - a) <= SAME * max(abs(a), abs(b)):
        return "same"
    if noise is not None and abs(b - a) <= noise:
        return "noise"
    if better == "unchanged":
        return "changed"
    return "better" if (b < a) == (better == "lower") else "worse"


def broken_rules(pairing: Pairing, rules: Iterable[Rule]) -> list[str]:
    """One line for each rule that a case breaks; a case that got lost, failed or lost the metric breaks it too."""
    lines = [f"{row['case']}: not there any more" for row in pairing.only_a]
    lines += [f"{pair.label}: not compared ({pair.mixed})" for pair in pairing.refused]
    for pair in pairing.pairs:
        if pair.a.get("status") == "profiled" and pair.b.get("status") != "profiled":
            lines.append(f"{pair.label}: {pair.b.get('reason') or pair.b.get('status')}")
            continue
        if pair.a.get("check") == "passed" and pair.b.get("check") != "passed":
            lines.append(f"{pair.label}: check {pair.b.get('check')}, was passed")
        for rule in rules:
            lines += _broken(pair, rule)
    return lines


def _broken(pair: Pair, rule: Rule) -> list[str]:
    a, b = pair.a.get(rule.metric), pair.b.get(rule.metric)
    if a is None and b is None:
        return []
    if a is None or b is None:
        return [f"{pair.label}: {rule.metric} is known on one side only"]
    if a == 0:
        change = 0.0 if b == 0 else math.inf
    else:
        change = 100 * (b - a) / abs(a)
    bad = {"lower": change, "higher": -change, "unchanged": abs(change)}[BETTER[rule.metric]]
    if bad <= rule.percent + 100 * SAME:
        return []
    return [f"{pair.label}: {rule.metric} {a:.12g} -> {b:.12g} ({change:+.2f} %, allowed {rule.percent:g} %)"]


def geometric_mean(ratios: Sequence[float]) -> float | None:
    """None for no ratios."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None
