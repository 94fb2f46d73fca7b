"""Says what `neff-bench compare` does once its options are known."""

from __future__ import annotations

from pathlib import Path

from neff_bench.errors import DONE, FAILED, WrongCall
from neff_bench.stage2_profile.compare import baseline as baselines
from neff_bench.stage2_profile.compare.asked import CompareOptions
from neff_bench.stage2_profile.compare.baseline import Rows, load
from neff_bench.stage2_profile.compare.comparison import pair_cases, pair_implementations, pair_two
from neff_bench.stage2_profile.compare.gates import broken_rules, parse_rule
from neff_bench.stage2_profile.compare.report import answer
from neff_bench.stage2_profile.compare.verdict import Config, Pairing, first_failure, judge, summary
from neff_bench.terminal.output import PAGE, write_answer, write_bytes
from neff_bench.terminal.streams import error, notice


def compare_rows(options: CompareOptions) -> int:
    """Compare, print, judge and save; returns the exit code. Raises `WrongCall`."""
    asked, format_ = [parse_rule(rule) for rule in options.rules], options.format
    first, second = options.first, options.second
    if sum((second is not None, bool(options.between), options.baseline is not None)) > 1:
        raise WrongCall("B, --between and --baseline exclude each other")
    rows = load(first)
    if second is None and not options.between and options.baseline is None:
        if options.save is None or asked:
            raise WrongCall("nothing to compare with: name B, --between IMPL IMPL or --baseline FILE")
        return _saved(options.save, rows)
    if options.between:
        a, b = options.between
        pairing, notes = pair_implementations(rows.records, a, b, options.mixed), [f"Both in {rows.name}."]
    else:
        other = load(second) if second is not None else load(options.baseline or first)
        old, new = (rows, other) if second is not None else (other, rows)
        if old.single and new.single:
            pairing = pair_two(old.records[0], new.records[0], options.mixed)
        else:
            pairing = pair_cases(old.records, new.records, options.mixed)
        a, b, notes = old.name, new.name, about(old)
    check_common(pairing, a, b)
    broken = broken_rules(pairing, asked) if asked else []
    # Two implementations are not before and after, and rules of the user's take the place of the verdict.
    judged = [] if options.between or asked else judge(pairing, Config())
    found = answer(
        pairing, a, b, options.metrics, options.list_all, broken, [*(summary(judged) if judged else ()), *notes]
    )
    if format_ == PAGE and options.output is not None:
        from neff_bench.stage2_profile.compare.page import comparison_page

        before, after = (first, first) if options.between else (first, second) if second else (None, first)
        write_bytes(comparison_page(found, pairing, before, after), options.output)
    else:
        write_answer(found, format_, options.output)
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
    if pairing.pairs:
        return
    if pairing.refused:
        first = pairing.refused[0]
        raise WrongCall(
            f"{len(pairing.refused)} cases differ in what must agree, such as {first.label}: {first.mixed}; "
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
    notice(f"{len(rows.records)} {'row' if len(rows.records) == 1 else 'rows'} saved as {path}")
    return 0
