"""Writes a comparison as an answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Any

from neff_bench.stage2_profile.compare.asked import CompareOptions
from neff_bench.stage2_profile.compare.comparison import COMPARED, Difference, differences, geometric_mean
from neff_bench.stage2_profile.compare.verdict import VERDICTS, Pairing
from neff_bench.stage2_profile.metrics.exactness import exact_part
from neff_bench.stage2_profile.metrics.metric import Metric
from neff_bench.stage2_profile.metrics.rows import BAD
from neff_bench.terminal.answer import Answer, Column, Grid, many

ALWAYS = ("total_time_us", "total_active_time_us", "mfu_percent")
FIELDS = ("case", "metric", "a", "b", "ratio", "ratio_low", "ratio_high", "verdict", "winner")
MAX_NAMED = 10


def answer(pairing: Pairing, grid: Grid) -> Answer:
    """Return all metrics for programs, and the table for people."""
    return Answer([_record(each) for pair in pairing.pairs for each in differences(pair)], FIELDS, [grid])


def table(
    pairing: Pairing,
    a: str,
    b: str,
    options: CompareOptions,
    notes: Sequence[str],
    letter: str = "B",
) -> Grid:
    """Return what differs of the totals and counters, or of what the options name.

    What is the same is a count, unless the options ask for it. `letter`: what the other side is called.
    """
    list_all = options.list_all
    found = [difference for pair in pairing.pairs for difference in differences(pair)]
    columns = (
        Column("case", wraps=True),
        Column("metric"),
        Column("A", right=True),
        Column(letter, right=True),
        Column(f"{letter}/A", right=True),
        Column(f"{letter} is"),
    )
    asked = [difference for difference in found if _asked(difference, options.metrics, list_all)]
    same = [] if list_all else [difference for difference in asked if difference.verdict == "same"]
    lines, last = [], None
    for difference in asked:
        if list_all or difference.verdict != "same":
            lines.append(_line(difference, "" if difference.label == last else difference.label, letter))
            last = difference.label
    counted = [f"{len(same)} of {len(asked)} values are the same; --all lists them."] if same else []
    return Grid(
        columns,
        lines,
        [f"A: {a}. {letter}: {b}.", *counted, *summary(pairing, found, letter), *notes],
    )


def metrics_answer(metrics: Iterable[Metric]) -> Answer:
    """Return what metrics of a row are: unit, which way is better, whether a simulated value is exact, the column, and the meaning."""
    heads = ("metric", "unit", "better", "simulated", "column", "meaning")
    lines = [
        [
            each.name,
            each.unit,
            each.better or "-",
            "exact" if each.exact else "estimated" if each.source else "measured",
            each.head + (", %" if each.share else ""),
            each.meaning,
        ]
        for each in metrics
    ]
    records = [dict(zip(heads, line)) for line in lines]
    return Answer(records, heads, [Grid([Column(head, wraps=head == "meaning") for head in heads], lines)])


def _asked(difference: Difference, metrics: Sequence[str], list_all: bool) -> bool:
    if metrics:
        return any(fnmatchcase(difference.metric, glob) for glob in metrics)
    return list_all or difference.metric in ALWAYS or COMPARED[difference.metric].exact


def summary(pairing: Pairing, found: Sequence[Difference], letter: str) -> list[str]:
    """Return the whole in a few sentences."""
    totals = [difference for difference in found if difference.metric == "total_time_us" and difference.ratio]
    lines = []
    mean = geometric_mean([difference.ratio for difference in totals if difference.ratio])
    if mean is not None:
        counts = Counter(difference.verdict for difference in totals)
        parts = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])
        of = many(len(totals), "case") + (", geometric mean" if len(totals) > 1 else "")
        lines.append(f"{letter} takes {mean:.4f} times the total time of A ({of}; by total time alone: {parts}).")
    if all(pair.a.get("source") == pair.b.get("source") == "simulated" for pair in pairing.pairs) and pairing.pairs:
        stated = {row.get("time_error") for pair in pairing.pairs for row in (pair.a, pair.b)}
        errors = sorted({str(pair.b.get("time_error")) for pair in pairing.pairs if pair.b.get("time_error")})
        apart = " or ".join(errors).replace(" on hardware", "") or "as much as nobody knows"
        lines.append(
            f"SIMULATED: {exact_part(stated)}. Hardware's time of each case differs from the simulated one by {apart}."
            f" Whether hardware has A and {letter} in the same order: neff-bench explain SURE."
        )
        models = {(pair.a.get("model"), pair.b.get("model")) for pair in pairing.pairs}
        lines += [
            f"The times of A and {letter} come from different models ({one}, {other})."
            for one, other in sorted(models, key=str)
            if one != other
        ]
    elif any(difference.ratio_interval is None for difference in totals):
        lines.append(
            "Noise is not known where a case has one profiled execution; profile-neffs --captures 10 measures it."
        )
    lines += [f"Mixed: {pair.label}: {pair.mixed}." for pair in pairing.pairs if pair.mixed]
    lines += _named(
        "Not compared, because of",
        [f"{pair.label} ({pair.mixed})" for pair in pairing.refused],
        " --mixed compares them.",
    )
    lines += _named("Only in A:", [row["case"] for row in pairing.only_a])
    lines += _named(f"Only in {letter}:", [row["case"] for row in pairing.only_b])
    sides: dict[str, list[str]] = {}
    for pair in pairing.pairs:
        for side, row in (("A", pair.a), (letter, pair.b)):
            if row.get("status") != "profiled" or row.get("check") in BAD:
                words = (row["case"], f"{row.get('status')}, check {row.get('check') or '-'}", row.get("reason"))
                sides.setdefault(": ".join(filter(None, words)), []).append(side)
    return lines + [f"{' and '.join(of)}: {told}" for told, of in sides.items()]


def _named(head: str, names: Sequence[str], tail: str = "") -> list[str]:
    if not names:
        return []
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return [f"{head} {'; '.join(names[:MAX_NAMED])}{more}.{tail}"]


def _line(difference: Difference, label: str, letter: str) -> list[str]:
    verdict: str = difference.verdict or "changed"
    if difference.verdict == "cannot tell" and difference.ratio_interval is not None:
        low, high = difference.ratio_interval
        verdict += f" ({letter}/A from {low:.2f} to {high:.2f})"
    ratio = "-" if difference.ratio is None else f"{difference.ratio:.4f}"
    return [label, difference.metric, _number(difference.a), _number(difference.b), ratio, verdict]


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return str(value) if isinstance(value, int) else f"{value:.3f}"


def _record(difference: Difference) -> dict[str, Any]:
    low, high = difference.ratio_interval or (None, None)
    numbers = (difference.a, difference.b, difference.ratio, low, high)
    winner = {"better": "b", "worse": "a"}.get(difference.verdict or "")
    return dict(zip(FIELDS, (difference.label, difference.metric, *numbers, difference.verdict, winner)))
