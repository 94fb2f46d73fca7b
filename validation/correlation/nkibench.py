"""NKIBench tasks (github zhang677/AccelOpt): its own kernels on trn1, and the variants of Jerry2423/kda-for-trainium on trn2.

A latency of kda-for-trainium is half of the profile's total time, except where `WHOLE` says else: 402.72 MB at an MBU of 39.79 %
of 716 GB/s take 1413 us where "0.696 ms" is printed. It is a median of times of which every other one is empty: three runs of
matmul_add_rmsnorm (workspaces/matmul_add_rmsnorm/candidates.jsonl) have a least time of 0.0098 ms, a median of 0.7727, a mean of 0.7733 and a
90th percentile of 1.5373. Where a row has an MFU of 5 % or more, its own share decides.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from neff_bench.doors.estimation import record_kernel
from neff_bench.simulator.compiler.code.descriptors import made_at_compile_time
from neff_bench.simulator.nki.install import install
from neff_bench.simulator.program import Program
from validation.correlation.measured import Measured
from validation.wild.cases.accelopt import reference_module

VARIANTS = ("Jerry2423/kda-for-trainium", "90770f2aaa14af45141fdb16d3cf9891f3255507")
TASKS = ("zhang677/AccelOpt", "47e29a7")
WHOLE = frozenset({"silu_v2_k3", "silu_v2_pingpong"})
"""Rows whose latency is the whole total: its Scalar share gives the Scalar time of their siblings, not half of it."""

STEMS = {
    "adamw": "adamw_M10944_N2048",
    "add_rmsnorm_matmul": "add_rmsnorm_matmul_M4096_N2048_K1024",
    "bmm": "bmm_B16_M4096_K64_N4096",
    "bmm_softmax": "bmm_softmax_B16_K64_M4096_N4096",
    "gqa_full": "gqa_full_B1_N4096_QH16_KH8_D128",
    "lora": "lora_M4096_N12288_K5120_R128",
    "mamba": "mamba_M7168_C256_S16",
    "matmul": "matmul_M4096_N12288_K5120",
    "matmul_add_rmsnorm": "matmul_add_rmsnorm_M4096_N2048_K2048",
    "rmsnorm_matmul": "rmsnorm_matmul_M4096_N2048_K1024",
    "rope_single_freq_apply": "rope_single_freq_apply_B1_H64_N4096_D128",
    "silu": "silu_M4096_N7168",
    "swiglu": "swiglu_M4096_N3072_K1024",
    "transpose_matmul": "transpose_matmul_M4096_K2048_N10944",
}
_SHARES = {"tensor": "PE_pct", "vector": "Vec_pct", "scalar": "Scl_pct", "dma": "DMA_pct"}
_PEAK = 78.6432e12
_HALF_UNTIL, _WHOLE_FROM = 0.575, 0.71
"""Ratios of total times by MFU to twice the latency. Those of rows with float32 alone are 0.95 to 1.07."""


def variants(checkouts: Path) -> Iterator[Measured]:
    """Yield the rows of kda-for-trainium, trn2, LNC 1, that passed its check."""
    checkout, tasks = checkouts / VARIANTS[0], checkouts / TASKS[0]
    for family, stem in STEMS.items():
        for line in (checkout / "workspaces" / family / "candidates.jsonl").read_text().splitlines():
            row = json.loads(line)
            if row.get("passed") and row.get("latency_ms"):
                path = checkout / "workspaces" / family / row["candidate"]
                figures = {key: float(v) for key, v in (row.get("metrics") or {}).items() if isinstance(v, int | float)}
                total = row["latency_ms"] * 1e3 * (1 if row["id"] in WHOLE else 2)
                active = {name: figures[key] * total / 100 for name, key in _SHARES.items() if key in figures}
                program = partial(recorded, path, tasks, stem, "trn2")
                yield Measured(
                    *VARIANTS, family, stem, row["id"], "trn2", 1, "beta", total, program, active, figures, variants=True
                )  # fmt: skip


def tasks(checkouts: Path) -> Iterator[Measured]:
    """AccelOpt's own profiles, trn1, one core."""
    checkout = checkouts / TASKS[0]
    with (checkout / "experiments/full_complete_local/profile_results.csv").open() as file:
        for row in csv.DictReader(file):
            profile = json.loads(row["profile"])
            family = row["problem"]
            stem = STEMS.get(family)
            if stem is None:
                continue
            total = profile["latency"] * 1e3
            active = {
                name: profile[f"{name}_engine_active_time_percent"] * total for name in ("vector", "scalar", "gpsimd")
            }
            path = checkout / "NKIBench" / "kernels" / f"{stem}_0.py"
            program = partial(recorded, path, checkout, stem, "trn1")
            yield Measured(*TASKS, family, stem, f"{stem}_0", "trn1", 1, "beta", total, program, active)


def recorded(path: Path, checkout: Path, stem: str, target: str) -> Program:
    """Return the kernel compiled with `--disable-dge` as both repositories do."""
    return made_at_compile_time(traced(path, checkout, stem, target))


def traced(path: Path, checkout: Path, stem: str, target: str) -> Program:
    """Return the kernel on inputs of its task's shapes."""
    install()
    given = inputs(checkout, stem)
    parameters = re.search(r"def kernel\(([^)]*)\)", path.read_text(), re.DOTALL)
    if parameters is None:
        raise ValueError(f"{path}: no kernel")
    names = [part.split(":")[0].split("=")[0].strip() for part in parameters[1].split(",") if part.strip()]
    pairs = list(zip(names, given, strict=False))
    shapes = {name: (value.shape, str(value.dtype)) for name, value in pairs if isinstance(value, np.ndarray)}
    numbers = {name: value for name, value in pairs if name not in shapes}
    return record_kernel(f"{path}:kernel", shapes, target, 1, numbers)


def inputs(checkout: Path, stem: str) -> list[Any]:
    """Arrays of the task's shapes; their values are zeros, since no time depends on them."""

    def zeros(*args: Any, size: Any = None, **_: Any) -> Any:
        return np.zeros(size if size is not None else args)

    random = dict.fromkeys(("normal", "uniform", "randn", "rand", "random"), zeros)
    benchmark = reference_module(checkout, f"NKIBench/kernels/{stem}_0.py")
    with mock.patch.multiple(np.random, **random):
        return list(benchmark.transform_to_nki_inputs(benchmark.get_inputs()))


def halved(row: Measured, summary: dict[str, Any]) -> float:
    """Return what the latency of a row times this is its total time, by the FLOPs of its program and its MFU; 1 where it says nothing.

    The profiler's MFU is of two cores for bfloat16, so a ratio of 1 to 2 says nothing else. One between the half and the whole is of a
    latency that contradicts its own profile, which then counts: matmul_v2_b16 prints 26.2 ms, less than the PE needs for its float32 products.
    """
    mfu = row.figures.get("MFU_pct", 0.0) / 100
    if mfu < 0.05:
        return 1.0
    flops = summary["hardware_flops"] - summary["transpose_flops"]
    ratio = flops / (mfu * _PEAK) / (row.total_us * 1e-6)
    if ratio >= _WHOLE_FROM:
        return 1.0
    return 0.5 if ratio < _HALF_UNTIL else ratio
