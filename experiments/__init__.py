"""Experiments on the host and on built kernels: latency, tiling, buckets, linear projections.

from experiments import MatmulConfig, NPUMatmulProfiler
profiler = NPUMatmulProfiler(use_neuron=True)
result = profiler.profile_single_matmul(MatmulConfig(M=1024, K=4096, N=4096), warmup=5, iterations=20)
"""

from experiments.latency import NPUMatmulProfiler, ProfilingResult
from experiments.workload import MatmulConfig, MlpConfig

__all__ = ["MatmulConfig", "MlpConfig", "NPUMatmulProfiler", "ProfilingResult"]
