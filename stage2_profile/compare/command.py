"""Says what `neff-bench compare` does once its options are known."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from neff_bench.errors import DONE, FAILED, WrongCall
from neff_bench.stage2_profile.compare import baseline as baselines
from neff_bench.stage2_profile.compare.asked import LETTERS, CompareOptions
from neff_bench.stage2_profile.compare.baseline import Rows, load
from neff_bench.stage2_profile.compare.comparison import COMPARED, pair_implementations, pair_rows
from neff_bench.stage2_profile.compare.report import answer, table
from neff_bench.stage2_profile.compare.verdict import (
    SAME,
    Config,
    Pair,
    Pairing,
    change_percent,
    first_failure,
    judge,
    summary,
)
from neff_bench.terminal.answer import many
from neff_bench.terminal.output import PAGE, write_answer, write_bytes
from neff_bench.terminal.streams import error, notice


def compare_rows(options: CompareOptions) -> int:
    """Compare, print, judge and save; returns the exit code. Raises `WrongCall`."""
    asked, format_ = [parse_rule(rule) for rule in options.rules], options.format
    first, second = options.first, options.second
    if sum((second is not None, bool(options.between), options.baseline is not None)) > 1:
        raise WrongCall("B, --between and --baseline exclude each other")
    rows = load(first)
    # One store alone can only become a baseline.
    if second is None and not options.between and options.baseline is None:
        if options.save is None or asked:
            raise WrongCall("nothing to compare with: name B, --between IMPL IMPL or --baseline FILE")
        return _saved(options.save, rows)
    if options.more and (format_ != PAGE or len(options.more) > len(LETTERS) - 1):
        raise WrongCall(f"two are compared, or up to {len(LETTERS) + 1} on a page: --output diff.html")
    if options.between:
        a, b = options.between
        pairings = [(a, b, pair_implementations(rows.records, a, b, options.mixed))]
        notes = [f"Both in {rows.name}."]
    elif second is not None:
        others = [load(path) for path in (second, *options.more)]
        pairings = [(rows.name, other.name, pair_rows(rows, other, options.mixed)) for other in others]
        notes = about(rows)
    else:
        old = load(options.baseline or first)
        pairings, notes = [(old.name, rows.name, pair_rows(old, rows, options.mixed))], about(old)
    grids, broken, judged = [], [], []
    for letter, (a, b, pairing) in zip(LETTERS, pairings):
        check_common(pairing, a, b)
        breaks = broken_rules(pairing, asked) if asked else []
        # Two implementations are no change, and rules of --fail-if decide alone: then nothing else is judged.
        verdicts = [] if options.between or asked else judge(pairing, Config())
        said = [*([summary(verdicts)] if verdicts else ()), *notes, *(f"FAILED: {line}" for line in breaks)]
        grids.append(table(pairing, a, b, options, said, letter))
        broken += breaks
        judged += verdicts
    if format_ == PAGE and options.output is not None:
        from neff_bench.stage2_profile.compare.page import comparison_page

        before = first if second or options.between else None
        after = (second, *options.more) if second else (first,)
        write_bytes(comparison_page(grids, [pairing for *_, pairing in pairings], before, after), options.output)
    else:
        write_answer(answer(pairings[0][-1], grids[0]), format_, options.output)
    # A baseline is saved only where nothing got worse.
    if broken:
        error(f"{len(broken)} broken, the first: {broken[0]}")
        return FAILED
    worse = first_failure(judged)
    if worse is not None:
        error(worse)
        return FAILED
    return _saved(options.save, rows) if options.save is not None else DONE


def check_common(pairing: Pairing, a: str, b: str) -> None:
    """Check that some pair can be compared. Raises `WrongCall` with the reason when none can."""
    for name, rows in ((a, [pair.a for pair in pairing.pairs]), (b, [pair.b for pair in pairing.pairs])):
        if rows and all(row.get("status") in ("unprofiled", "captured") for row in rows):
            raise WrongCall(f"{name} is not profiled yet; run: profile-neffs {name}")
    if pairing.pairs:
        return
    if pairing.refused:
        first = pairing.refused[0]
        raise WrongCall(
            f"{many(len(pairing.refused), 'case')} cannot be compared, such as {first.label}: {first.mixed}; "
            "--mixed compares them all the same"
        )
    example = pairing.only_a[0]["case"] if pairing.only_a else "nothing"
    other = pairing.only_b[0]["case"] if pairing.only_b else "nothing"
    raise WrongCall(f"no case in common: {a} has {example}, {b} has {other}")


def about(rows: Rows) -> list[str]:
    """Return the environment of a baseline in one sentence."""
    environment = rows.environment
    if not environment:
        return []
    tools = ", ".join([*environment.get("tools", []), *(f"model {name}" for name in environment.get("models", []))])
    return [
        f"Baseline of {environment.get('created')}: {tools or 'no tool'}; neff-bench {environment.get('neff_bench')}, "
        f"Python {environment.get('python')}, {environment.get('platform')}."
    ]


def _saved(path: Path, rows: Rows) -> int:
    baselines.save(path, rows.records)
    notice(f"{many(len(rows.records), 'row')} saved as {path}")
    return 0


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
