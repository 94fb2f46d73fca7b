"""Holds what runs a kernel that a script calls on arrays: `launcher`, which host.py sets, or nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from neff_bench.simulator.errors import KernelError

launcher: Callable[[Any, Any, Any, int | None], Any] | None = None
"""(function, args, kwargs, lnc) -> the kernel's result; `lnc` None where the kernel was launched without a grid."""


def call(function: Any, args: Any, kwargs: Any, lnc: int | None) -> Any:
    """Return the result of a kernel that is called outside of a recording. Raises KernelError when no launcher is set."""
    if launcher is None:
        raise KernelError(
            f"{function.__name__}: a kernel is launched on a device; start the script with `neff-bench run`, "
            "use nki.simulate, or compile the kernel with neuron-sim"
        )
    return launcher(function, args, kwargs, lnc)
