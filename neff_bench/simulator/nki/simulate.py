"""Runs a kernel on arrays, as `nki.simulate`. Tensors that do not fit are a CapacityWarning, and an error when the kernel is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from neff_bench.simulator.nki.jit import Kernel, body


class Simulated:
    """A kernel that takes arrays and returns arrays; `kernel[lnc]` sets the cores."""

    def __init__(self, function: Callable[..., Any], lnc: int = 1) -> None:
        self.function = function
        self.lnc = lnc

    def __getitem__(self, lnc: Any) -> Simulated:
        return Simulated(self.function, Kernel(self.function)[lnc].lnc)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the kernel on arrays."""
        from neff_bench.simulator.nki.launch import launch

        return launch(self.function, args, kwargs, self.lnc, fits=False).result


def simulate(kernel: Any) -> Simulated:
    """Return a CPU-simulated version of a kernel, decorated or plain."""
    return Simulated(body(kernel), kernel.lnc if isinstance(kernel, Kernel) else 1)


def simulate_kernel(kernel: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the kernel's results on numpy arrays, as the old dialect asks for them."""
    return simulate(kernel)(*args, **kwargs)
