"""`nki.baremetal`, `benchmark`, `profile`, `trace` while no script is run: decorators that leave a kernel a kernel.

`neff-bench run` puts the calls of `neff_bench.simulator.nki.host` in their places.
"""

from __future__ import annotations

from typing import Any

from neff_bench.simulator.nki.beta.jit import jit


def decorator(kernel: Any = None, **options: Any) -> Any:
    """`@nki.baremetal`, `nki.baremetal(kernel)`, `nki.benchmark(warmup=5, iters=10)(kernel)`: the kernel itself."""
    return jit if kernel is None else jit(kernel)


baremetal = benchmark = profile = trace = decorator


def simulate_kernel(kernel: Any, *args: Any, **kwargs: Any) -> Any:
    """The kernel's results on numpy arrays."""
    from neff_bench.simulator.nki.simulate import simulate

    return simulate(kernel)(*args, **kwargs)
