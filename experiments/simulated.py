"""Device and host latency of a workload without a device: our own kernel, simulated in this process, and the host model."""

from __future__ import annotations

from neff_bench.experiments.errors import ExperimentError
from neff_bench.experiments.host_model import host_latency
from neff_bench.experiments.latency import ProfilingResult, result_of
from neff_bench.experiments.workload import Workload

KERNELS = {
    "matmul": ("neff_bench.stage1_generate.kernels.matmul_nki:matmul", ("lhs", "rhs")),
    "mlp": ("neff_bench.stage1_generate.kernels.mlp_nki:mlp", ("hidden", "gate_w", "up_w", "down_w")),
}
"""Kernel of a workload → our implementation in NKI, and the names of its inputs in the order of the workload's."""


class SimulatedProfiler:
    """As `NPUMatmulProfiler`, for a device that is not there. Each number is the model's; nothing is timed."""

    def __init__(self, target: str = "inf2", lnc: int = 1) -> None:
        self.target = target
        self.lnc = lnc

    def profile_single_matmul(self, config: Workload, warmup: int = 0, iterations: int = 0) -> ProfilingResult:
        """The result of one `MatmulConfig` or `MlpConfig`, with `source` "simulated".

        `warmup` and `iterations` change nothing: a model has no first execution and no spread.
        Raises `ExperimentError` for a workload that cannot be compiled.
        """
        from neff_bench import estimate
        from neff_bench.terminal.errors import NeffBenchError

        entry, names = KERNELS[config.kernel]
        inputs = {name: (shape, config.dtype) for name, shape in zip(names, config.inputs)}
        try:
            row = estimate(entry, inputs, target=self.target, lnc=self.lnc, flops=config.flops)
        except NeffBenchError as error:
            raise ExperimentError(f"{config}: {' '.join(str(error).split())}") from error
        if row.total_time_us is None:
            raise ExperimentError(f"{config}: the simulator gave no time")
        host = host_latency(config, row.total_time_us, self.target)
        return result_of(
            config,
            latency_ms=host.total_ms,
            backend="sim",
            device=f"{self.target} LNC {self.lnc}",
            version=row.model or "",
            source="simulated",
            device_us=row.total_time_us,
            device_error=row.time_error,
            launch_ms=host.launch_ms,
            transfer_ms=host.transfer_ms,
            latency_error=host.error,
        )

    def failed(self, config: Workload, reason: str) -> ProfilingResult:
        """The result of a workload that has none."""
        about = {"backend": "sim", "device": f"{self.target} LNC {self.lnc}", "version": "", "source": "simulated"}
        return result_of(config, latency_ms=None, reason=reason, **about)
