"""Says whether what a tool says of a kernel can be true."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from neff_bench.chips.dtypes import RATE
from neff_bench.parsers.plausibility import TIME_TOLERANCE, beside_program, impossible

if TYPE_CHECKING:
    from neff_bench.parsers.summary import Summary

SPREAD_MAX = 4.0
"""Between the totals of executions of one capture. Hardware repeats itself within some percent; the first execution waits and is left out."""
SAME = (
    "matmul_instruction_count",
    *(f"{engine}_engine_instruction_count" for engine in ("tensor", "vector", "scalar", "gpsimd", "sync")),
)
"""Counts that are of the program, and not of one execution."""


def suspicions(
    executions: Sequence[tuple[int, Summary]],
    numbers: Mapping[str, Any],
    dtype: str,
    program: Mapping[str, int],
    loaded: Mapping[str, int],
) -> tuple[str, ...]:
    """Return one sentence for each figure that cannot be; none for a plausible row. `executions`: of one rank, each with its number.
    `numbers`: of the row. `program`, `loaded`: see `beside_program`."""
    fastest = max(1.0, RATE.get(dtype, 1.0))
    found = [doubt for _, summary in executions for doubt in impossible(summary, fastest)]
    found += [doubt for _, summary in executions for doubt in beside_program(summary, program, loaded)]
    if not executions:
        found += of_numbers(numbers)
    mfu = numbers.get("mfu_percent")
    if mfu is not None and mfu > 100 * (1 + TIME_TOLERANCE):
        found.append(f"MFU is {mfu:.0f} % of the peak of {numbers['mfu_peak_tflops']:.0f} TFLOPS")
    later = [(number, summary) for number, summary in executions if number > 1]
    totals = {number: summary.total_time_s for number, summary in later if summary.total_time_s}
    if totals and max(totals.values()) > SPREAD_MAX * min(totals.values()):
        slow, fast = max(totals, key=totals.__getitem__), min(totals, key=totals.__getitem__)
        found.append(f"execution {slow} took {totals[slow]:g} s, execution {fast} {totals[fast]:g} s")
    for name in SAME:
        counts = {number: count for number, summary in later if (count := getattr(summary, name)) is not None}
        if len(set(counts.values())) > 1:
            (one, first), *rest = counts.items()
            other, second = next((number, count) for number, count in rest if count != first)
            found.append(f"{name} is {first} in execution {one} and {second} in execution {other}")
    return tuple(dict.fromkeys(found))


def beside_traces(executions: Sequence[tuple[int, Summary]], traced: Mapping[int, Sequence[float]]) -> list[str]:
    """Return one sentence for each summary whose time is not that of its trace. `traced`: the times that the traces of an execution
    state, one for each rank."""
    return [
        f"total_time is {summary.total_time_s:g} s, the trace of execution {number} says {traced[number][0]:g} s"
        for number, summary in executions
        if summary.total_time_s is not None and traced.get(number)
        if all(abs(summary.total_time_s - time_s) > TIME_TOLERANCE * time_s for time_s in traced[number])
    ]


def of_numbers(numbers: Mapping[str, Any]) -> list[str]:
    """Judge numbers that our own reader took from a trace, as `impossible` does those of tools."""
    total_us = numbers.get("total_time_us")
    if total_us is None:
        return []
    if total_us <= 0:
        return ["the trace has a total time of 0 us"]
    return [
        f"{name} is {value:g}, longer than the total time of {total_us:g} us"
        for name, value in numbers.items()
        if name.endswith("_active_us") and value is not None and value > total_us * (1 + TIME_TOLERANCE)
    ]
