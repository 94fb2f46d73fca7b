"""Says what would make a kernel faster: findings with their evidence and a guess of what each saves.

The rules are those of AWS's guides for NKI kernels (aws-neuron-sdk, nki/deep-dives and nki/guides/architecture). The gain is the time that the work
of a finding spends on the critical path, as far as the advice saves it; without a critical path the time in which nothing else runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from neff_bench.parsers.event_rows import Timeline
from neff_bench.viewer.advice.dma import RULES as DMA_RULES
from neff_bench.viewer.advice.engines import RULES as ENGINE_RULES
from neff_bench.viewer.advice.engines import WIDTH_RULES
from neff_bench.viewer.advice.facts import NS_PER_US, Facts, total_us
from neff_bench.viewer.advice.facts import Advice as Advice
from neff_bench.viewer.advice.shapes import RULES as SHAPE_RULES
from neff_bench.viewer.critical_path import BOUNDS, PathStep, path_totals

GAIN_SHARE_MIN = 0.02
"""The least share of the total time that is worth saying."""
HELD_SHARE = 0.75
"""Ours: a gain of less than this of the time that the bound takes on the critical path is little."""
BETTER = {
    BOUNDS["latency"]: "less latency",
    BOUNDS["issue"]: "a faster issue of DMAs",
    **dict.fromkeys((BOUNDS["dma"], BOUNDS["hbm"], BOUNDS["dma_wait"]), "faster DMAs"),
}
"""What would mend each bound that is not an engine."""
SAID_US = 0.05
"""A smaller gain of a constant would be printed as 0.0."""


def advise(timeline: Timeline, path: Sequence[PathStep] | None = None) -> tuple[Advice, ...]:
    """Return the findings for a timeline, the largest gain first. `linked` ones are judged along their critical path (`path`, where it is known already)."""
    facts = Facts(timeline, path)
    of_dmas_us, of_engines_us = (facts.idle_us, facts.dma_idle_us) if facts.path else (math.inf, math.inf)
    limits = ((DMA_RULES, of_dmas_us), ((*ENGINE_RULES, *SHAPE_RULES), of_engines_us), (WIDTH_RULES, math.inf))
    found = [_limited(advice, most_us) for rules, most_us in limits for rule in rules for advice in rule(facts)]
    found = [one for one in found if one.gain_us is None or one.gain_us >= GAIN_SHARE_MIN * facts.total_us]
    return tuple(sorted(found, key=lambda advice: -(advice.gain_us or 0.0)))


def _limited(advice: Advice, most_us: float) -> Advice:
    """Return the advice with a gain of at most so much."""
    return advice if advice.gain_us is None else replace(advice, gain_us=min(advice.gain_us, most_us))


def held_up(timeline: Timeline, path: Sequence[PathStep]) -> str:
    """Return how little it saves to mend what bounds the kernel alone, where something else is busy nearly as long; "" elsewhere."""
    bound, bound_ns = next(iter(path_totals(path).items()), ("", 0.0))
    if not bound:
        return ""
    facts = Facts(timeline, path)
    busy = {what: us for what, us, bounds in _busy(facts) if bound not in bounds}
    what = max(busy, key=busy.__getitem__, default="")
    saves_us = facts.path_us - busy.get(what, 0.0)
    if saves_us >= HELD_SHARE * bound_ns / NS_PER_US:
        return ""
    return f"{BETTER.get(bound, f'a faster {bound}')} alone would save at most {saves_us:.1f} us: {what.format(f'{100 * busy[what] / facts.path_us:.0f} %')}"


def _busy(facts: Facts) -> Iterator[tuple[str, float, tuple[str, ...]]]:
    """Yield what can be busy during the path, how long it is, and the bounds that are the same."""
    moving = (BOUNDS["dma"], BOUNDS["hbm"], BOUNDS["dma_wait"])
    yield "a DMA engine moves data for {} of the path", facts.path_us - facts.dma_idle_us, moving
    for (_, engine), (taken_us, issue_us) in facts.taken_us.items():
        if 2 * issue_us > taken_us:
            yield f"{engine} is busy for {{}} of the path, mostly with the issue of DMAs", taken_us, (BOUNDS["issue"],)
        else:
            yield f"{engine} is busy for {{}} of the path", taken_us, (engine,)


def sensitivity(timeline: Timeline) -> tuple[Advice, ...]:
    """Return for a simulated timeline what each constant of the chip, better by a factor of two, would gain, the most first; empty elsewhere."""
    total = total_us(timeline)
    found = [
        Advice(f"{row.constant} {row.change}", f"{row.total_time_us:.1f} us (simulated)", total - row.total_time_us, row.constant)
        for row in timeline.sensitivity
        if total - row.total_time_us >= SAID_US
    ]  # fmt: skip
    return tuple(sorted(found, key=lambda advice: -(advice.gain_us or 0.0)))
