"""What the comparison says: errors of the total by class, coverage of the intervals, active times, and the order of variants."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter

from neff_bench.simulator.timing import interval
from validation.correlation import intervals
from validation.correlation.first_sight import first_sight
from validation.correlation.measured import Measured
from validation.correlation.modelled import Modelled
from validation.correlation.nkibench import VARIANTS, halved

_DIFFERENT = 0.05
"""Variants that hardware tells apart by less are not ordered."""

_ACTIVE_SHARE = 0.05
"""An engine that is active for less of the total has no figure worth comparing: published shares are whole percents."""


@dataclass(frozen=True)
class Compared:
    """A measured row and what the model says of it."""

    row: Measured
    model: Modelled

    @property
    def factor(self) -> float:
        """What the row's own figures say must be applied to its printed latency."""
        return halved(self.row, dict(self.model.summary)) if self.row.repository == VARIANTS[0] else 1.0

    @property
    def measured_us(self) -> float:
        """Total time on hardware."""
        return self.row.total_us * self.factor

    @property
    def evidence(self) -> interval.Row:
        """The row as the intervals know it."""
        row, ratio = self.row, self.measured_us / self.model.total_us
        known = (row.repository, row.commit, row.family, row.target, self.model.like)
        return interval.Row(*known, round(ratio, 3), first_sight(row))


MODELS: tuple[tuple[str, Callable[[Modelled], float]], ...] = (
    ("model", lambda model: model.total_us),
    ("roofline + 15 us", lambda model: model.roofline_us),
    ("busiest engine", lambda model: model.busiest_us),
)


def report(compared: Sequence[Compared]) -> Iterator[str]:
    """Lines of Markdown."""
    for name, test in (("Development rows", False), ("Test rows", True)):
        rows = [one for one in compared if one.row.is_test == test]
        if rows:
            yield from (f"## {name}", "")
            yield from _totals(rows)
            yield from _coverage(rows)
            yield from _active(rows)
            yield from _order(rows)
            yield from _each(rows)


def _totals(rows: Sequence[Compared]) -> Iterator[str]:
    yield "| class | rows | says | median | p10 / p90 | worst | within 5 / 10 / 20 % |"
    yield "|---|--:|---|--:|---|--:|---|"
    for name, chosen in [*_classes(rows), ("all", rows)]:
        for says, told in MODELS:
            errors = sorted(told(one.model) / one.measured_us - 1 for one in chosen)
            yield f"| {name} | {len(chosen)} | {says} | {_figures(errors)} |"
    yield ""


def _classes(rows: Sequence[Compared]) -> list[tuple[str, list[Compared]]]:
    found: dict[str, list[Compared]] = {}
    for one in rows:
        found.setdefault(f"{one.row.repository} {one.row.family}, {one.row.target} LNC {one.row.lnc}", []).append(one)
    return list(found.items())


def _figures(errors: Sequence[float]) -> str:
    low, high = _at(errors, 0.1), _at(errors, 0.9)
    within = " / ".join(f"{sum(abs(e) <= limit for e in errors) / len(errors):.2f}" for limit in (0.05, 0.1, 0.2))
    worst = max(errors, key=abs)
    return (
        f"{100 * statistics.median(errors):+.1f} | {100 * low:+.1f} / {100 * high:+.1f} | {100 * worst:+.1f} | {within}"
    )


def _at(ordered: Sequence[float], share: float) -> float:
    return ordered[round(share * (len(ordered) - 1))]


def _coverage(rows: Sequence[Compared]) -> Iterator[str]:
    """Of test rows, by the interval that the row says. Development rows are judged at first sight, by what the other families and the other
    repositories say; those of nki-library's kernels, by what the kernel's other rows say."""
    if rows[0].row.is_test:
        yield from _held("test rows", [_said(one) for one in rows if "simulator_low_total_time" in one.model.summary])
        return
    evidence = [one.evidence for one in rows if one.model.comparable]
    for by in ("family", "repository"):
        judged = intervals.left_out(evidence, attrgetter(by))
        told = [(intervals.class_of(row), row.first, interval.ends(fit, row.like)) for row, fit in judged]
        yield from _held(f"at first sight, made without the row's {by}", [one for one in told if one[1] is not None])
    own = intervals.without_itself(evidence)
    yield from _held(
        "kernels of nki-library, made without the row",
        [(intervals.class_of(row), row.ratio, ends) for row, ends in own],
    )


_Told = tuple[str, float | None, tuple[float, float]]
"""Class, measured / simulated, and the interval of it."""


def _said(one: Compared) -> _Told:
    summary, simulated = one.model.summary, one.model.total_us * 1e-6
    low, high = summary["simulator_low_total_time"] / simulated, summary["simulator_high_total_time"] / simulated
    return intervals.class_of(one.evidence), one.measured_us / one.model.total_us, (low, high)


def _held(said: str, rows: Sequence[_Told]) -> Iterator[str]:
    classes: dict[str, list[_Told]] = {}
    for row in rows:
        classes.setdefault(row[0], []).append(row)
    if not rows:
        yield f"No row has an interval ({said})."
        return
    yield f"| 80 % intervals, {said} | rows | hold | share | width |"
    yield "|---|--:|--:|--:|--:|"
    for name, ones in [*classes.items(), ("all", rows)]:
        hits = sum(ratio is not None and low <= ratio <= high for _, ratio, (low, high) in ones)
        width = statistics.mean(high - low for _, _, (low, high) in ones)
        yield f"| {name} | {len(ones)} | {hits} | {hits / len(ones):.2f} | {100 * width:.0f} % |"
    yield ""


def _active(rows: Sequence[Compared]) -> Iterator[str]:
    yield "| active time | rows | median | p10 / p90 | worst | within 5 / 10 / 20 % |"
    yield "|---|--:|--:|---|--:|---|"
    for engine in ("tensor", "vector", "scalar", "dma"):
        errors = sorted(
            one.model.active_us[engine] / (one.row.active_us[engine] * one.factor) - 1
            for one in rows
            if one.row.active_us.get(engine, 0.0) > _ACTIVE_SHARE * one.row.total_us
        )
        if errors:
            yield f"| {engine} | {len(errors)} | {_figures(errors)} |"
    yield ""


def _order(rows: Sequence[Compared]) -> Iterator[str]:
    """Pairs of variants of one task that hardware tells apart, and what the pick of each model costs."""
    tasks: dict[str, list[Compared]] = {}
    for one in rows:
        if one.row.variants:
            tasks.setdefault(one.row.task, []).append(one)
    ordered = {task: ones for task, ones in tasks.items() if len(ones) > 1}
    for says, told in MODELS if ordered else ():
        right = pairs = 0
        regrets = []
        for ones in ordered.values():
            for a, b in itertools.combinations(ones, 2):
                if max(a.measured_us, b.measured_us) > (1 + _DIFFERENT) * min(a.measured_us, b.measured_us):
                    pairs += 1
                    right += (told(a.model) < told(b.model)) == (a.measured_us < b.measured_us)
            best = min(one.measured_us for one in ones)
            regrets.append(min(ones, key=lambda one: told(one.model)).measured_us / best - 1)
        if pairs:
            yield f"Order of variants, {says}: {right} of {pairs} pairs right ({right / pairs:.2f}); regret of its pick {100 * statistics.mean(regrets):.1f} % in the mean, {100 * max(regrets):.1f} % at worst."
    yield ""


def _each(rows: Sequence[Compared]) -> Iterator[str]:
    yield "| row | model us | measured us | error % | roofline % | busiest % |"
    yield "|---|--:|--:|--:|--:|--:|"
    for one in rows:
        errors = " | ".join(f"{100 * (told(one.model) / one.measured_us - 1):+.1f}" for _, told in MODELS)
        yield f"| {one.row.repository}@{one.row.commit[:7]} {one.row.family} {one.row.name} | {one.model.total_us:.1f} | {one.measured_us:.1f} | {errors} |"
    yield ""
