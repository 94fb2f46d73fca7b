"""Says what a host waits for one call of a compiled model, from the time that the device takes: launch, transfers, device.

    host = launch + bytes of the inputs x INPUT + bytes of the outputs x OUTPUT + device

The three constants are least squares on relative errors over half of the public host latencies that docs/model.md names (Evidence); the error is that
of the other half. Each of those calls waits for the one before. So nothing is known of a queue, and the model has none.
"""

from __future__ import annotations

from dataclasses import dataclass

from neff_bench.chips.dtypes import SIZE_BYTES
from neff_bench.experiments.workload import Workload

LAUNCH_MS = 0.272
INPUT_MS_PER_BYTE = 0.0191e-6
OUTPUT_MS_PER_BYTE = 0.0865e-6
MEASURED_INPUT_BYTES, MEASURED_OUTPUT_BYTES = 5_250_000, 8_400_000
"""The largest of the matmuls that the constants come from."""

ERROR = "-8 to +7 % in 9 of 10 (628 matmuls, float16, inf2; worst -27 and +20 %)"


@dataclass(frozen=True)
class HostLatency:
    """One call, in milliseconds. `error`: stated, of `total_ms`."""

    launch_ms: float
    transfer_ms: float
    device_ms: float
    error: str

    @property
    def total_ms(self) -> float:
        """The call as the host sees it, in milliseconds."""
        return self.launch_ms + self.transfer_ms + self.device_ms


def host_latency(workload: Workload, device_us: float, target: str) -> HostLatency:
    """Return the latency of a workload whose device time is known. All operands are inputs, as in the measured calls."""
    item = SIZE_BYTES[workload.dtype]
    inputs = item * sum(_elements(shape) for shape in workload.inputs)
    outputs = item * _elements(workload.output)
    transfer_ms = inputs * INPUT_MS_PER_BYTE + outputs * OUTPUT_MS_PER_BYTE
    if target != "inf2":
        error = f"not measured on {target}: constants of inf2"
    elif inputs > MEASURED_INPUT_BYTES or outputs > MEASURED_OUTPUT_BYTES:
        error = "not measured: larger transfers than those of the constants"
    else:
        error = ERROR
    return HostLatency(LAUNCH_MS, transfer_ms, device_us / 1e3, error)


def _elements(shape: tuple[int, ...]) -> int:
    product = 1
    for size in shape:
        product *= size
    return product
