"""Leads from what traces show to constants of a chip, each with a 95 % interval, and only where the traces say something.

A constant is the median over traces of each trace's own mean. The interval comes from drawing whole traces again where there are enough of them,
since the instructions of one trace share its surroundings; else from drawing single measurements.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import TypeVar

from neff_bench.chips import Chip
from neff_bench.chips.calibration import POSTAMBLE, PREAMBLE, Estimate
from neff_bench.simulator.calibration.samples import Samples, Spacing

_T = TypeVar("_T")

FEWEST_SAMPLES = 8
FEWEST_TRACES = 4
"""From here on whole traces are drawn again; of fewer, single measurements are."""
WIDEST = 0.2
"""An interval wider than this share of its value says too little."""
WIDEST_NS = 10.0
"""No interval is too wide that is narrower than this."""
DRAWS = 400
LEAST_SIZE_RATIO = 4
"""Between the smallest and the largest DMA packet, for a bandwidth to be told from a fixed cost."""

FITTED, AGREES, FEW, WIDE = "fitted", "agrees with the model", "too few measurements", "too uncertain"


@dataclass(frozen=True)
class Finding:
    """`verdict`: FITTED for what replaces the model's constant; otherwise why the model's stays. `low`, `high`: None where too few."""

    estimate: Estimate
    verdict: str


def fit(traces: Sequence[Samples], spacings: Sequence[Sequence[Spacing]], chip: Chip) -> list[Finding]:
    """Return what all traces together say. `traces`, `spacings`: of each trace."""
    names = sorted({name for trace in traces for name in trace})
    findings = {name: _finding(name, [trace.get(name, []) for trace in traces], chip) for name in names}
    _without_latency(findings, traces, chip)
    return [*findings.values(), *_packets(spacings, chip)]


def model_value(name: str, chip: Chip) -> float:
    """Return what the model has in the place of an estimate."""
    if name == POSTAMBLE:
        return chip.overheads.postamble_ns
    return chip.overheads.preamble_ns if name.startswith(PREAMBLE) else float(getattr(chip, name))


def _finding(name: str, groups: Sequence[Sequence[float]], chip: Chip) -> Finding:
    """Return the interval of a mean. `groups`: the values of each trace."""
    return _judged(name, [list(group) for group in groups if group], _middle, chip)


def _judged(
    name: str, told: Sequence[Sequence[_T]], answer: Callable[[Sequence[Sequence[_T]]], float], chip: Chip
) -> Finding:
    """Judge what an answer says of the values that traces told."""
    count = sum(map(len, told))
    estimate = Estimate(name, answer(told), *_interval(told, answer), model_value(name, chip), count, len(told))
    if estimate.samples < FEWEST_SAMPLES and estimate.traces < FEWEST_TRACES:
        return Finding(estimate, FEW)
    if estimate.low == estimate.model == estimate.high:
        return Finding(estimate, AGREES)
    width = estimate.high - estimate.low
    if estimate.value <= 0 or width > max(WIDEST * estimate.value, WIDEST_NS):
        return Finding(estimate, WIDE)
    return Finding(estimate, AGREES if estimate.low <= estimate.model <= estimate.high else FITTED)


def _without_latency(findings: dict[str, Finding], traces: Sequence[Samples], chip: Chip) -> None:
    """Correct what a pointer adds, which was measured together with Vector's latency: take off what that changed."""
    latency = findings.get("vector_latency_ns")
    if "vector_pointer_ns" in findings and latency is not None and latency.verdict == FITTED:
        changed = latency.estimate.value - latency.estimate.model
        groups = [[value - changed for value in trace.get("vector_pointer_ns", [])] for trace in traces]
        findings["vector_pointer_ns"] = _finding("vector_pointer_ns", groups, chip)


def _middle(groups: Sequence[Sequence[float]]) -> float:
    return median(fmean(group) for group in groups)


def _interval(groups: Sequence[Sequence[_T]], answer: Callable[[Sequence[Sequence[_T]]], float]) -> tuple[float, float]:
    """Return the 95 % interval of an answer over the values of traces."""
    chance = random.Random(0)
    drawn = []
    for _ in range(DRAWS):
        if len(groups) >= FEWEST_TRACES:
            drawn.append(answer(chance.choices(groups, k=len(groups))))
        else:
            drawn.append(answer([chance.choices(group, k=len(group)) for group in groups]))
    drawn.sort()
    return drawn[round(0.025 * (DRAWS - 1))], drawn[round(0.975 * (DRAWS - 1))]


def _packets(spacings: Sequence[Sequence[Spacing]], chip: Chip) -> list[Finding]:
    """Return the fixed cost of a packet and the bandwidth of a DMA engine, from packets of several sizes."""
    told = [list(group) for group in spacings if group]
    sizes = {size for group in told for size, _ in group}
    if not sizes or max(sizes) < LEAST_SIZE_RATIO * min(sizes):
        return []
    found = [
        _judged("dma_packet_ns", told, lambda groups: _line(groups)[0], chip),
        _judged("dma_engine_bandwidth", told, lambda groups: _line(groups)[1], chip),
    ]
    # One line: its two numbers go together.
    whole = all(finding.verdict in (FITTED, AGREES) for finding in found)
    changed = any(finding.verdict == FITTED for finding in found)
    verdict = (FITTED if changed else AGREES) if whole else WIDE
    return [Finding(finding.estimate, verdict) for finding in found]


def _line(groups: Sequence[Sequence[Spacing]]) -> tuple[float, float]:
    """Return the fixed ns and bytes/ns: the line with the least relative squares through the median spacing of each size."""
    by_size: Mapping[int, list[float]] = defaultdict(list)
    for group in groups:
        for size, spacing in group:
            by_size[size].append(spacing)
    points = [(size, median(values), len(values)) for size, values in by_size.items()]
    weights = [count / spacing**2 for _, spacing, count in points]
    total = sum(weights)
    x = sum(w * size for w, (size, _, _) in zip(weights, points)) / total
    y = sum(w * spacing for w, (_, spacing, _) in zip(weights, points)) / total
    across = sum(w * (size - x) * (spacing - y) for w, (size, spacing, _) in zip(weights, points))
    along = sum(w * (size - x) ** 2 for w, (size, _, _) in zip(weights, points))
    if across <= 0 or along <= 0:
        return y, float("inf")
    slope = across / along
    return y - slope * x, 1 / slope
