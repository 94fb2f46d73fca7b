"""Says what `neff-bench compare` does once its options are known."""

from __future__ import annotations

from pathlib import Path

from neff_bench.errors import DONE, FAILED, WrongCall
from neff_bench.stage2_profile.compare import baseline as baselines
from neff_bench.stage2_profile.compare.asked import LETTERS, CompareOptions
from neff_bench.stage2_profile.compare.baseline import Rows, load
from neff_bench.stage2_profile.compare.comparison import pair_cases, pair_implementations, pair_two
from neff_bench.stage2_profile.compare.gates import broken_rules, parse_rule
from neff_bench.stage2_profile.compare.report import answer, table
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
        pairings = [(rows.name, other.name, _paired(rows, other, options.mixed)) for other in others]
        notes = about(rows)
    else:
        old = load(options.baseline or first)
        pairings, notes = [(old.name, rows.name, _paired(old, rows, options.mixed))], about(old)
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


def _paired(old: Rows, new: Rows, mixed: bool) -> Pairing:
    if old.single and new.single:
        return pair_two(old.records[0], new.records[0], mixed)
    return pair_cases(old.records, new.records, mixed)


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
