"""What could be missing from the model: a cost for each of something that programs have, fitted on one family of kernels and judged on
the others.

A structure belongs in the model only if a cost that one family asks for makes the other families' times better too.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence

from neff_bench.simulator.program import ENGINES
from validation.correlation.report import Compared

CANDIDATES: dict[str, Callable[[Compared], float]] = {
    "constant, LNC 1": lambda one: one.row.lnc == 1,
    "constant, LNC 2": lambda one: one.row.lnc == 2,
    "share of the kernel's time, LNC 2": lambda one: _on_two_cores(one, one.model.total_us - _fixed_us(one)),
    "instruction": lambda one: _instructions(one),
    "instruction, LNC 2": lambda one: _on_two_cores(one, _instructions(one)),
    "semaphore update": lambda one: _of_core(one, "event_count"),
    "packet of software descriptors": lambda one: _of_core(one, "software_dynamic_dma_packet_count"),
    "packet of software descriptors, LNC 2": lambda one: _on_two_cores(
        one, _of_core(one, "software_dynamic_dma_packet_count")
    ),
    "1000 bytes of HBM, LNC 2": lambda one: _on_two_cores(
        one, (_of_core(one, "hbm_read_bytes") + _of_core(one, "hbm_write_bytes")) / 1000
    ),
}
"""How many of something a row has on one core, on average; of each, a time is fitted."""


def judged(compared: Sequence[Compared]) -> Iterator[str]:
    """A table: for each candidate and each family that has it, the fitted time and by how much the mean size of the error changes."""
    families: dict[str, list[Compared]] = {}
    for one in compared:
        families.setdefault(one.row.family, []).append(one)
    yield "| of each | fitted on | ns | " + " | ".join(families) + " |"
    yield "|---|---|--:|" + "--:|" * len(families)
    yield "| mean size of the error, % | | | " + " | ".join(
        f"{100 * _error(rows):.1f}" for rows in families.values()
    ) + " |"  # fmt: skip
    for name, count in CANDIDATES.items():
        for family, rows in families.items():
            each_us = _fitted(rows, count)
            if each_us is not None:
                changes = (100 * (_error(of_one, count, each_us) - _error(of_one)) for of_one in families.values())
                yield f"| {name} | {family} | {1000 * each_us:.1f} | " + " | ".join(f"{c:+.1f}" for c in changes) + " |"


def _fitted(rows: Sequence[Compared], count: Callable[[Compared], float]) -> float | None:
    """The time of each, in us, with the least sum of sizes of relative errors; None where no row has any."""
    points = [(count(one) / one.measured_us, 1 - one.model.total_us / one.measured_us) for one in rows]
    slopes = sorted((missing / many, many) for many, missing in points if many)
    half, below = sum(weight for _, weight in slopes) / 2, 0.0
    for slope, weight in slopes:
        below += weight
        if below >= half:
            return slope
    return None


def _error(rows: Sequence[Compared], count: Callable[[Compared], float] | None = None, each_us: float = 0.0) -> float:
    """Mean size of the relative error of the total time."""
    more = [each_us * count(one) if count else 0.0 for one in rows]
    return statistics.fmean(
        abs((one.model.total_us + us) / one.measured_us - 1) for one, us in zip(rows, more, strict=True)
    )


def _of_core(one: Compared, counter: str) -> float:
    """A summary leaves out the counters of a kind of descriptors that the program has none of."""
    return float(one.model.summary.get(counter, 0)) / one.row.lnc


def _instructions(one: Compared) -> float:
    return sum(_of_core(one, f"{engine}_engine_instruction_count") for engine in ENGINES)


def _on_two_cores(one: Compared, many: float) -> float:
    return many if one.row.lnc == 2 else 0.0


def _fixed_us(one: Compared) -> float:
    return float(one.model.summary["simulator_fixed_overhead_time"]) * 1e6
