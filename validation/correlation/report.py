"""Says what the comparison says: errors of the total by class, coverage of the intervals, active times, and the order of variants."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from neff_bench.simulator.timing import interval
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
    def simulated_us(self) -> float:
        """What the model says by the clock that the row was measured by."""
        return self.model.execution_us if self.row.label.clock == "execution" else self.model.total_us

    @property
    def evidence(self) -> interval.Row:
        """The row as the ranges know it."""
        row, ratio = self.row, self.measured_us / self.simulated_us
        return interval.Row(row.repository, row.family, row.target, row.lnc, row.label.clock, round(ratio, 3), row.name)


MODELS: tuple[tuple[str, Callable[[Compared], float]], ...] = (
    ("model", lambda one: one.simulated_us),
    ("roofline + 15 us", lambda one: one.model.roofline_us),
    ("busiest engine", lambda one: one.model.busiest_us),
)


def report(compared: Sequence[Compared]) -> Iterator[str]:
    """Lines of Markdown. A superseded row is in the last table alone, where the newer measurement of its case has a line too."""
    for name, test in (("Development rows", False), ("Test rows", True)):
        rows = [one for one in compared if one.row.is_test == test]
        newest = [one for one in rows if not one.row.superseded]
        if newest:
            yield from (f"## {name}", "")
            yield from _totals(newest)
            yield from _coverage(newest)
            yield from _active(newest)
            yield from _order(newest)
        if rows:
            yield from _each(rows)


def _totals(rows: Sequence[Compared]) -> Iterator[str]:
    yield "| class | rows | says | median | p10 / p90 | worst | within 5 / 10 / 20 % |"
    yield "|---|--:|---|--:|---|--:|---|"
    for name, chosen in [*_classes(rows), ("all", rows)]:
        for says, told in MODELS:
            errors = sorted(told(one) / one.measured_us - 1 for one in chosen)
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
    """Yield how many rows lie in the range that the other repositories' rows make."""
    comparable = [one.evidence for one in rows if one.model.comparable]
    held: dict[str, list[bool]] = {}
    for row in comparable:
        low, high = interval.pooled([other for other in interval.evidence() if other.repository != row.repository])
        held.setdefault(row.repository, []).append(low <= row.ratio <= high)
    yield "| 80 % range, made without the repository | rows | hold | share |"
    yield "|---|--:|--:|--:|"
    held["all"] = [hit for hits in held.values() for hit in hits]
    for name, hits in held.items():
        yield f"| {name} | {len(hits)} | {sum(hits)} | {sum(hits) / max(len(hits), 1):.2f} |"
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
        pairs, regrets = [], []
        for ones in ordered.values():
            for a, b in itertools.combinations(ones, 2):
                if max(a.measured_us, b.measured_us) > (1 + _DIFFERENT) * min(a.measured_us, b.measured_us):
                    right = (told(a) < told(b)) == (a.measured_us < b.measured_us)
                    pairs.append((right, max(told(a), told(b)) >= interval.sure_ratio() * min(told(a), told(b))))
            best = min(one.measured_us for one in ones)
            regrets.append(min(ones, key=lambda one: told(one)).measured_us / best - 1)
        if pairs:
            sure = [right for right, is_sure in pairs if is_sure]
            count = sum(right for right, _ in pairs)
            yield f"Order of variants, {says}: {count} of {len(pairs)} pairs right ({count / len(pairs):.2f}), of those called SURE {sum(sure)} of {len(sure)}; regret of its pick {100 * statistics.mean(regrets):.1f} % in the mean, {100 * max(regrets):.1f} % at worst."
    yield ""


def _each(rows: Sequence[Compared]) -> Iterator[str]:
    yield "| row | clock | release | model us | measured us | error % | roofline % | busiest % |"
    yield "|---|---|---|--:|--:|--:|--:|--:|"
    for one in rows:
        clock, release = one.row.label
        name = f"{one.row.repository}@{one.row.commit[:7]} {one.row.family} {one.row.name}"
        shown = f"{name} (superseded)" if one.row.superseded else name
        errors = " | ".join(f"{100 * (told(one) / one.measured_us - 1):+.1f}" for _, told in MODELS)
        yield f"| {shown} | {clock} | {release or 'not told'} | {one.simulated_us:.1f} | {one.measured_us:.1f} | {errors} |"
    yield ""
