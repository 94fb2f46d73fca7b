"""Names figures of a profile that no device can have: a wrong counter, a wrong rate, or a damaged file. It also names a time that is
mostly the wait of a first execution."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from neff_bench.parsers.summary import Summary

if TYPE_CHECKING:
    from neff_bench.parsers.neff import Neff

ENGINES = ("tensor", "scalar", "vector", "gpsimd", "sync")
OF_A_PEAK = ("mfu_estimated", "mfu_hlo_estimated", "mfu_inst_estimated", "hfu_estimated", "mbu_estimated")
OF_THE_TIME = (*(f"{engine}_engine_active_time" for engine in ENGINES), "dma_active_time", "total_active_time")

COUNTS_PASSES = ("hfu_estimated",)
"""float32 takes four passes of the PE, and hardware FLOPs count them all."""
PEAK_FACTOR = 4
"""A rate above the stated peak by less may be that of another dtype: tools differ in which peak they take."""
TIME_TOLERANCE = 0.02
"""Tools from 2.29 on count up to 0.6 % more in one of the two times."""

LOST = 0.02
"""The share of instructions that may be missing: profilers drop some, up to 0.05 % in public traces."""
REPLACED, ADDED = 4, 1000
"""A loader replaces an instruction by at most so many, and adds at most so many to those of an engine. 127 public traces have up to 77 more on a core."""

LEAST_ACTIVE = 0.05
"""The least active share of the total time: first executions lie far below it, later ones far above (docs/model.md)."""


def impossible(summary: Summary, most: float) -> tuple[str, ...]:
    """Return one sentence for each figure that cannot be. `most`: how much of the stated peak a kernel may reach, whose dtype may be a faster one."""
    total_s = summary.total_time_s
    found = ["total_time is 0 s"] if total_s is not None and total_s <= 0 else []
    for name in OF_A_PEAK:
        share = getattr(summary, f"{name}_fraction")
        limit = PEAK_FACTOR if name in COUNTS_PASSES else most
        if share is not None and share > limit * (1 + TIME_TOLERANCE):
            found.append(f"{name}_percent is {share:.0%} of the peak, which no device reaches")
    for name in OF_THE_TIME:
        time_s = getattr(summary, f"{name}_s")
        if total_s and time_s is not None and time_s > total_s * (1 + TIME_TOLERANCE):
            found.append(f"{name} is {time_s:g} s, longer than the total_time of {total_s:g} s")
    return tuple(found)


def beside_program(summary: Summary, program: Mapping[str, int], loaded: Mapping[str, int]) -> tuple[str, ...]:
    """Return one sentence for each engine that ran less than its stream in the NEFF has, or more than was loaded for it. `program`: instructions by
    engine, of streams without branches. `loaded`: the same with those of the loader, where a trace holds them."""
    found = []
    for engine, count in program.items():
        ran = getattr(summary, f"{engine}_engine_instruction_count")
        there, where = loaded.get(engine, count), "trace" if engine in loaded else "NEFF"
        most = there * (1 + LOST) if engine in loaded else REPLACED * count + ADDED
        if ran is not None and ran < count * (1 - LOST):
            found.append(f"{engine}_engine_instruction_count is {ran}, the NEFF has {count} instructions for it")
        elif ran is not None and ran > most:
            found.append(f"{engine}_engine_instruction_count is {ran}, the {where} has {there} instructions for it")
    return tuple(found)


def straight(neff: Neff) -> dict[str, int]:
    """Return the instructions by engine, of the streams in which each one runs."""
    return {name: engine.instruction_count for name, engine in neff.engines.items() if not engine.branch_count}


def active_s(summary: Summary) -> float | None:
    """Return how long the engines and the DMAs worked, summed, so that overlaps count twice; None for a summary that does not say."""
    times = [getattr(summary, f"{name}_s") for name in OF_THE_TIME[:-1]]
    return sum(filter(None, times)) if any(times) else summary.total_active_time_s


def first_execution(total_s: float | None, active_s: float | None) -> str | None:
    """Return what there is to say of a time that is mostly the wait of a first execution; None for any other, or an unknown one.
    `active_s`: how long the engines and the DMAs worked, summed."""
    if not total_s or active_s is None or active_s >= total_s * LEAST_ACTIVE:
        return None
    # The sum counts overlaps twice, so it is only an upper bound of the active time.
    times = f"engines and DMAs are active for at most {math.ceil(active_s * 1e6)} of {total_s * 1e6:.0f} us"
    return f"{times}: this looks like a first (cold) execution; capture a later one, as profile-neffs does (--num-exec 2 --profile-nth-exec 2)"
