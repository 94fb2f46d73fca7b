"""Says which rows of the table were ever compared with hardware: what `python -m validation.compared` counted in public measurements."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import NamedTuple

from neff_bench.simulator.costs.table import Row

FILE = Path(__file__).with_name("comparisons.json")

INSTRUCTIONS, PACKETS, ACTIVE = "instructions", "packets", "kernels"
"""What was compared: how long single instructions last, how far apart DMA packets are, how long an engine is active in a kernel
that spends most of it on this row."""


class Comparison(NamedTuple):
    """`number` of `what` in `where`. of: dtypes and memories. Errors: modelled / measured - 1, the median and the one that
    lies farthest out."""

    what: str
    number: int
    where: str
    of: tuple[str, ...]
    median_error: float
    worst_error: float


@cache
def comparisons() -> dict[tuple[int, tuple[str, ...]], tuple[Comparison, ...]]:
    """Return the comparisons by generation and key of a row; a row that was never compared has none."""
    found: dict[tuple[int, tuple[str, ...]], tuple[Comparison, ...]] = {}
    for generation, key, what, number, where, of, median, worst in json.loads(FILE.read_bytes())["rows"]:
        at = generation, tuple(key)
        found[at] = (*found.get(at, ()), Comparison(what, number, where, tuple(of), median, worst))
    return found


def compared_with(generation: int, row: Row) -> tuple[Comparison, ...]:
    """Return what a row was compared with; empty for nothing."""
    return comparisons().get((generation, row.key), ())
