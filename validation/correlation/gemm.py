"""The GEMM of SemiAnalysisAI/InferenceX on trn3, LNC 2: 38 shapes, and the same kernel's later snapshots."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from neff_bench.simulator.nki.spec import InputSpec
from neff_bench.simulator.nki.trace import Call, record
from neff_bench.simulator.program import Program
from validation.correlation.measured import Measured
from validation.gemm import GEMMS, LATER_GEMMS, kernel_of, measured

SOURCE = ("SemiAnalysisAI/InferenceX", "e60b2ca493043365a9b20feda6aea79505be3bfc")
MOST_WORK = 2**36
"""M x K x N of the largest GEMM that is recorded: beyond, one row takes minutes."""
_ACTIVE = {"tensor": "tensor_engine_active_time", "dma": "dma_active_time"}


def gemms(checkouts: Path) -> Iterator[Measured]:
    """Medians of the profiles of a shape; a shape that both sets have is one row, the later."""
    checkout = checkouts / SOURCE[0]
    found = {**measured(checkout, GEMMS), **measured(checkout, LATER_GEMMS)}
    for (m, k, n), figures in sorted(found.items()):
        if m * k * n > MOST_WORK:
            continue
        active = {name: figures[key] * 1e6 for name, key in _ACTIVE.items() if key in figures}
        program = partial(_recorded, checkout, m, k, n)
        total = figures["total_time"] * 1e6
        yield Measured(*SOURCE, "gemm", "gemm", f"{m}x{k}x{n}", "trn3", 2, "nki", total, program, active)


def _recorded(checkout: Path, m: int, k: int, n: int) -> Program:
    inputs = (InputSpec("lhsT", (k, m), "bfloat16"), InputSpec("rhs", (k, n), "bfloat16"))
    return record(Call(kernel_of(checkout), "gemm", inputs, outputs=("out",)), "trn3", 2)
