"""Matrix products of awslabs/nki-autotune on trn2, LNC 1, current dialect: versions before those that it keeps. Studied rows.

All are 2048 x 2048 x 2048 in bfloat16. Their names hold the MFU, which is the FLOPs of the task over the least latency on the device and the
Tensor Engine's peak, as `autotune/runner/types.py` of that commit computes it; the time follows from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from neff_bench.doors.estimation import record_kernel
from neff_bench.simulator.nki.install import install
from neff_bench.simulator.program import Program
from validation.correlation.measured import Measured
from validation.correlation.origin import data, placed

SOURCE = "awslabs/nki-autotune"
PEAK_FLOPS = 2.4e9 * 2 * 128 * 128
"""Of bfloat16 by their clock and array."""


class Product(NamedTuple):
    """path: in kernel_library, without the MFU that ends it. matmuls: products that the task has."""

    commit: str
    path: str
    mfu_percent: float
    inputs: tuple[str, ...]
    matmuls: int = 1


PRODUCTS = (
    Product("1d9c2b9", "matmul/lhsT_rhs/kernel_31", 58.60, ("lhs_T", "rhs")),
    Product("1d9c2b9", "matmul/lhs_rhs/kernel_30", 60.21, ("lhs", "rhs")),
    Product("1d9c2b9", "matmul/lhs_rhsT/kernel_83", 61.73, ("lhs", "rhs_T")),
    Product("1d9c2b9", "matmul/lhsT_rhsT/kernel_53", 60.57, ("lhs_T", "rhs_T")),
    Product("1d9c2b9", "double_matmul/kernel_4", 54.73, ("Q", "K", "V"), 2),
    Product("b672385", "matmul/lhsT_rhs/kernel_manual", 79.05, ("lhsT", "rhs")),
    Product("160f940", "matmul/lhsT_rhs/kernel_from_manual_ir", 80.45, ("lhs_T", "rhs")),
)


def products(checkouts: Path) -> Iterator[Measured]:
    """Yield a row for each."""
    for one in PRODUCTS:
        path = f"kernel_library/{one.path}_{one.mfu_percent:.2f}mfu.py"
        source = data(checkouts / SOURCE, one.commit, path).decode()
        us = _us(one.mfu_percent, one.matmuls)
        task = one.path.rpartition("/")[0]
        program = partial(recorded, source, one)
        yield Measured(SOURCE, one.commit, "tuned_matmul", task, path, "trn2", 1, "nki", us, program, variants=True)


_PIPELINED = ("e55ed5d", "kernel_transforms.py", "kernel_15", 83.4)
"""Commit, whose message has the MFU in percent, file and kernel. Of the rungs below it the MFU is told as about 16 %, and most do not fit into PSUM."""


def pipelined(checkouts: Path) -> Iterator[Measured]:
    """Yield the last rung of a ladder of transformations, with two accumulators: one row."""
    commit, path, kernel, mfu_percent = _PIPELINED
    source = data(checkouts / SOURCE, commit, path).decode()
    yield Measured(
        SOURCE, commit, "pipelined_matmul", "pipelined_matmul", f"{path} {kernel}", "trn2", 1, "nki", _us(mfu_percent, 1),
        partial(_alone, source, kernel),
    )  # fmt: skip


def _alone(source: str, kernel: str) -> Program:
    """Return one kernel of a file that imports what is not public."""
    body = re.search(rf"@nki\.jit\ndef {kernel}\(.*?\n(?=@|\Z)", source, re.DOTALL)
    if body is None:
        raise ValueError(f"no {kernel}")
    install()
    path = placed(f"import nki\nimport nki.isa as nisa\nimport nki.language as nl\n\n\n{body[0]}", "kernel.py")
    return record_kernel(f"{path}:{kernel}", dict.fromkeys(("lhs_T", "rhs"), ((2048, 2048), "bfloat16")), "trn2", 1, {})


def _us(mfu_percent: float, matmuls: int) -> float:
    return 2 * 2048**3 * matmuls / (mfu_percent / 100 * PEAK_FLOPS) * 1e6


def recorded(source: str, product: Product) -> Program:
    """Return the file's kernel. Raises ValueError for a file without one."""
    kernel = re.search(r"@nki\.jit\ndef (\w+)\(", source)
    if kernel is None:
        raise ValueError(f"{product.path}: no kernel")
    install()
    inputs = dict.fromkeys(product.inputs, ((2048, 2048), "bfloat16"))
    return record_kernel(f"{placed(source, 'kernel.py')}:{kernel[1]}", inputs, "trn2", 1, {})
