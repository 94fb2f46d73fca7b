"""Holds experiments on the host and on built kernels: latency, tiling, buckets, linear projections.

from neff_bench.experiments import MatmulConfig, NPUMatmulProfiler
profiler = NPUMatmulProfiler(use_neuron=True)
result = profiler.profile_single_matmul(MatmulConfig(M=1024, K=4096, N=4096), warmup=5, iterations=20)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from neff_bench.experiments.latency import NPUMatmulProfiler, ProfilingResult
    from neff_bench.experiments.workload import MatmulConfig, MlpConfig

__all__ = ["MatmulConfig", "MlpConfig", "NPUMatmulProfiler", "ProfilingResult"]


def __getattr__(name: str) -> Any:
    """Return an attribute that is imported when it is asked for: commands start faster when the package imports nothing before it is asked."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = "workload" if name.endswith("Config") else "latency"
    return getattr(importlib.import_module(f"neff_bench.experiments.{module}"), name)
