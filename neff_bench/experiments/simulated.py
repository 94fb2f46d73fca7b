"""Computes device and host latency of a workload without a device: our own kernel, simulated in this process, and the host model."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

from neff_bench.chips.dtypes import SIZE_BYTES
from neff_bench.experiments.errors import ExperimentError
from neff_bench.experiments.latency import ProfilingResult, result_of
from neff_bench.experiments.nki_kernels import nki_kernel
from neff_bench.experiments.workload import Workload

LAUNCH_MS = 0.272
INPUT_MS_PER_BYTE = 0.0191e-6
OUTPUT_MS_PER_BYTE = 0.0865e-6
MEASURED_INPUT_BYTES, MEASURED_OUTPUT_BYTES = 5_250_000, 8_400_000
"""The largest of the matmuls that the constants come from."""

ERROR = "-8 to +7 % in 9 of 10 (628 matmuls, float16, inf2; worst -27 and +20 %)"


def transfers(workload: Workload, target: str) -> tuple[float, str]:
    """Return how long the transfers of a call take in ms, and the stated error of launch + transfers + device (docs/model.md)."""
    item = SIZE_BYTES[workload.dtype]
    inputs = item * sum(math.prod(shape) for shape in workload.inputs)
    outputs = item * math.prod(workload.output)
    transfer_ms = inputs * INPUT_MS_PER_BYTE + outputs * OUTPUT_MS_PER_BYTE
    if target != "inf2":
        error = f"not measured on {target}: constants of inf2"
    elif inputs > MEASURED_INPUT_BYTES or outputs > MEASURED_OUTPUT_BYTES:
        error = "not measured: larger transfers than those of the constants"
    else:
        error = ERROR
    return transfer_ms, error


class SimulatedProfiler:
    """As `NPUMatmulProfiler`, for a device that is not there. Each number is the model's; nothing is timed."""

    def __init__(self, target: str = "inf2", lnc: int = 1, nkilib: Path | None = None) -> None:
        self.target = target
        self.lnc = lnc
        self.nkilib = nkilib

    runs_nki = True
    """NKI kernels are all that is simulated here."""

    def profile_single_matmul(self, config: Workload, warmup: int = 0, iterations: int = 0) -> ProfilingResult:
        """Return the result of one workload, with `source` "simulated". `warmup` and `iterations` change nothing: a model has no spread."""
        from neff_bench.doors.estimation import estimate, records_alike
        from neff_bench.errors import NeffBenchError

        kernel = nki_kernel(replace(config, implementation=config.implementation or "nki"), self.lnc, self.nkilib)
        inputs = {name: (tensor.shape, tensor.dtype) for name, tensor in zip(kernel.names, kernel.tensors, strict=True)}
        try:
            given: dict[str, Any] = {"target": self.target, "lnc": self.lnc, "arguments": kernel.arguments}
            row = estimate(kernel.entry, inputs, flops=config.flops, **given)
            alike = records_alike(kernel.entry, inputs, **given) if config.implementation else None
        except NeffBenchError as error:
            raise ExperimentError(f"{config}: {' '.join(str(error).split())}") from error
        if row.total_time_us is None:
            raise ExperimentError(f"{config}: the simulator gave no time")
        transfer_ms, latency_error = transfers(config, self.target)
        return result_of(
            config,
            latency_ms=LAUNCH_MS + transfer_ms + row.total_time_us / 1e3,
            backend="sim",
            device=f"{self.target} LNC {self.lnc}",
            version=row.model or "",
            source="simulated",
            device_us=row.total_time_us,
            device_error=row.time_error,
            launch_ms=LAUNCH_MS,
            transfer_ms=transfer_ms,
            latency_error=latency_error,
            # A program that is another one when it is recorded again has no key that a cache could know it by.
            compilations=None if alike is None else 0 if alike else iterations,
        )

    def failed(self, config: Workload, reason: str) -> ProfilingResult:
        """Return the result of a workload that has none."""
        about = {"backend": "sim", "device": f"{self.target} LNC {self.lnc}", "version": "", "source": "simulated"}
        return result_of(config, latency_ms=None, reason=reason, **about)
