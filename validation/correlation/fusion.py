"""The attention kernels of trainium-kernel-fusion, old dialect, trn2: their public profiles, which the compiler's merging was written with.

The profiles are of logical cores of two, of which the second is idle.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from neff_bench.simulator.nki.load import trace_kernel
from neff_bench.simulator.nki.spec import InputSpec, KernelSpec
from neff_bench.simulator.program import Program
from validation.correlation.measured import Measured
from validation.idle import beside_idle_core

SOURCE = ("allenkchau/trainium-kernel-fusion", "d709ddf1")
_ENGINES = ("tensor", "vector", "scalar")


def attention(checkouts: Path) -> Iterator[Measured]:
    """Fused and not, both dtypes and lengths."""
    checkout = checkouts / SOURCE[0]
    for kind in ("baseline", "fused"):
        for dtype, short in (("bfloat16", "bf16"), ("float32", "fp32")):
            for length in (512, 1024):
                name = f"{kind}_{short}_s{length}"
                summary = profile(checkout, name)["summary"][0]
                active = {engine: summary[f"{engine}_engine_active_time"] * 1e6 for engine in _ENGINES}
                active["dma"] = summary["dma_active_time"] * 1e6
                program = partial(recorded, kernel(checkout, kind, dtype, length))
                total = summary["total_time"] * 1e6
                yield Measured(*SOURCE, f"{kind}_attention", name, name, "trn2", 2, "beta", total, program, active)


def recorded(spec: KernelSpec) -> Program:
    """Return the kernel on the first core of a logical core of two."""
    return beside_idle_core(trace_kernel(spec, "trn2", 1))


def profile(checkout: Path, name: str) -> dict[str, Any]:
    """Return the profile of `fused_bf16_s512` or another. Raises FileNotFoundError."""
    folder = checkout / "profiling" / "artifacts" / name / "json_reports"
    for path in folder.glob("*profile_full.json"):
        found: dict[str, Any] = json.loads(path.read_bytes())
        return found
    raise FileNotFoundError(folder)


def kernel(checkout: Path, kind: str, dtype: str, length: int) -> KernelSpec:
    """Return one of the eight, with its inputs."""
    inputs = tuple(InputSpec(f"{letter}_ref", (128, length), dtype) for letter in "qkv")
    return KernelSpec(f"{checkout}/kernels/{kind}/attention.py:{kind}_attention", inputs)
