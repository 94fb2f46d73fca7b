"""Computes device and host latency of a workload without a device: our own kernel, simulated in this process, and the host model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from neff_bench.experiments.errors import ExperimentError
from neff_bench.experiments.host_model import host_latency
from neff_bench.experiments.latency import ProfilingResult, result_of
from neff_bench.experiments.nki_kernels import nki_kernel
from neff_bench.experiments.workload import Workload

KERNELS = {
    "matmul": ("neff_bench.stage1_generate.kernels.matmul_nki:matmul", ("lhs", "rhs")),
    "mlp": ("neff_bench.stage1_generate.kernels.mlp_nki:mlp", ("hidden", "gate_w", "up_w", "down_w")),
}
"""Kernel of a workload → our implementation in NKI, and the names of its inputs in the order of the workload's."""


class SimulatedProfiler:
    """As `NPUMatmulProfiler`, for a device that is not there. Each number is the model's; nothing is timed."""

    def __init__(self, target: str = "inf2", lnc: int = 1, nkilib: Path | None = None) -> None:
        self.target = target
        self.lnc = lnc
        self.nkilib = nkilib

    runs_nki = True
    """NKI kernels are all that is simulated here."""

    def profile_single_matmul(self, config: Workload, warmup: int = 0, iterations: int = 0) -> ProfilingResult:
        """Return the result of one `MatmulConfig` or `MlpConfig`, with `source` "simulated".

        `warmup` and `iterations` change nothing: a model has no first execution and no spread.
        Raises `ExperimentError` for a workload that cannot be compiled.
        """
        from neff_bench.doors.estimation import estimate, records_alike
        from neff_bench.errors import NeffBenchError

        entry, inputs, arguments = self._call(config)
        try:
            given: dict[str, Any] = {"target": self.target, "lnc": self.lnc, "arguments": arguments}
            row = estimate(entry, inputs, flops=config.flops, **given)
            alike = records_alike(entry, inputs, **given) if config.implementation else None
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
            # A program that is another one when it is recorded again has no key that a cache could know it by.
            compilations=None if alike is None else 0 if alike else iterations,
        )

    def _call(self, config: Workload) -> tuple[str, dict[str, Any], dict[str, Any]]:
        """Return the entry, inputs by parameter and further arguments of the kernel."""
        if config.implementation is None:
            entry, names = KERNELS[config.kernel]
            return entry, {name: (shape, config.dtype) for name, shape in zip(names, config.inputs)}, {}
        kernel = nki_kernel(config, self.lnc, self.nkilib)
        inputs = {name: (tensor.shape, tensor.dtype) for name, tensor in zip(kernel.names, kernel.tensors, strict=True)}
        return kernel.entry, inputs, kernel.arguments

    def failed(self, config: Workload, reason: str) -> ProfilingResult:
        """Return the result of a workload that has none."""
        about = {"backend": "sim", "device": f"{self.target} LNC {self.lnc}", "version": "", "source": "simulated"}
        return result_of(config, latency_ms=None, reason=reason, **about)
