"""Holds rules for a continuous build: when a comparison fails it. They judge exact numbers by the percentage that is allowed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from neff_bench.errors import WrongCall
from neff_bench.stage2_profile.compare.comparison import COMPARED
from neff_bench.stage2_profile.compare.verdict import SAME, Pair, Pairing, change_percent


@dataclass(frozen=True)
class Rule:
    """Fail when `metric` gets worse by more than `percent`; `both_ways`: when it changes by more."""

    metric: str
    percent: float
    both_ways: bool = False


def parse_rule(text: str) -> Rule:
    """Read a rule: `total_time_us:5%`, or `hbm_read_bytes:=0%` for any change. Raises `WrongCall`."""
    match = re.fullmatch(r"(\w+):(=?)(\d+(?:\.\d+)?)%?", text)
    if match is None:
        raise WrongCall(
            f"--fail-if {text!r}: expected METRIC:PERCENT% (worse by more) or METRIC:=PERCENT% (changed by more), "
            "such as total_time_us:5%"
        )
    if match[1] not in COMPARED:
        raise WrongCall(f"--fail-if {text!r}: unknown metric {match[1]!r} (known: {', '.join(COMPARED)})")
    return Rule(match[1], float(match[3]), bool(match[2]))


def broken_rules(pairing: Pairing, rules: Iterable[Rule]) -> list[str]:
    """Return one line for each rule that a case breaks; a case that got lost, failed or lost the metric breaks it too."""
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
    change = change_percent(a, b)
    better = COMPARED[rule.metric].better
    if rule.both_ways or better == "either":
        bad, allowed = abs(change), f"allowed ±{rule.percent:g} %"
    else:
        bad, allowed = change if better == "lower" else -change, f"allowed {rule.percent:g} %"
    if bad <= rule.percent + 100 * SAME:
        return []
    return [f"{pair.label}: {rule.metric} {a:.12g} -> {b:.12g} ({change:+.2f} %, {allowed})"]
