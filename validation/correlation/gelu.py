"""Fused products with GELU of trainium-kernel-fusion: trn2, old dialect, on a logical core of two, of which the second is idle.

A row is the 50th percentile of `nki.benchmark` on the NeuronCore over 20 runs, in whole microseconds, from a report of March 2026 at five shapes in
two dtypes. The repository measured its attention kernels in both ways: such a percentile is 4 to 9 us below the `total_time` of the profile, which
counts for the shortest rows. The unfused kernels are left out: their figure is a sum of two launches.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from neff_bench.simulator.nki.load import trace_kernel
from neff_bench.simulator.nki.spec import InputSpec, KernelSpec
from neff_bench.simulator.program import Program
from validation.correlation.fusion import SOURCE
from validation.correlation.measured import Measured
from validation.correlation.origin import data, placed, silenced
from validation.idle import beside_idle_core

_REPORT = "profiling/reports/mlp_latency_throughput_20260310T172309Z.csv"
_KERNELS = "kernels/fused/mlp.py"
_DTYPES = {"fp32": "float32", "bf16": "bfloat16"}


class Fused(NamedTuple):
    """gelu: pwl for the engine's table, taylor for a polynomial in a tanh. m, k, n: rows, contraction, columns."""

    gelu: str
    m: int
    k: int
    n: int
    dtype: str
    us: float


def kernels(checkouts: Path) -> Iterator[Measured]:
    """Yield a row for each fused kernel of the report."""
    checkout = checkouts / SOURCE[0]
    source = data(checkout, SOURCE[1], _KERNELS).decode()
    for one in reported(data(checkout, SOURCE[1], _REPORT).decode()):
        task = f"gelu_matmul {one.m}x{one.k}x{one.n} {one.dtype}"
        name = f"{one.gelu} MxKxN {one.m}x{one.k}x{one.n} {one.dtype}"
        yield Measured(
            *SOURCE, "gelu_matmul", task, name, "trn2", 2, "beta", one.us, partial(recorded, source, one), variants=True, new=True
        )  # fmt: skip


def reported(report: str) -> Iterator[Fused]:
    """Yield the fused kernels of a report. Raises KeyError for one without the columns that are read, or for a dtype it never had."""
    for line in csv.DictReader(io.StringIO(report)):
        gelu = line["kernel"].removeprefix("fused_")
        if gelu != line["kernel"]:
            shape = (int(line[axis]) for axis in "MKN")
            yield Fused(gelu, *shape, _DTYPES[line["dtype"]], float(line["p50_us"]))


def recorded(source: str, one: Fused) -> Program:
    """Return the kernel as its benchmark calls it, on the first core of a logical core of two."""
    shapes = {"lhsT": (one.k, one.m), "rhs": (one.k, one.n), "bias": (1, one.n)}
    inputs = tuple(InputSpec(name, shape, one.dtype) for name, shape in shapes.items())
    with silenced():
        return beside_idle_core(
            trace_kernel(KernelSpec(f"{placed(source, 'mlp.py')}:fused_mlp_{one.gelu}", inputs), "trn2", 1)
        )
