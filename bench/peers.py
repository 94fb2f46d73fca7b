"""The executor beside jax's Pallas interpreter, and beside torch where it is: the same product in the same tiles.

    python bench/peers.py [--sizes 512 1024] [--limit 120]

Tiles of 128 x 128 x 512 (M, K, N) in bfloat16, summed in float32, for each CPU second: of an execution alone, the best of three.
Each runs in a process of its own, and is ended after the limit. Exit code 1 when a goal is missed.
"""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys
import time
from collections.abc import Callable

from goals import Goals

TILE_M, TILE_K, TILE_N = 128, 128, 512
ROUNDS = 3


def ours(size: int) -> Callable[[], object]:
    import ml_dtypes
    import numpy as np
    from executor import tiled_matmul

    from neff_bench.simulator.execution.execute import execute
    from neff_bench.simulator.nki.spec import InputSpec
    from neff_bench.simulator.nki.trace import Call, record

    specs = [InputSpec(name, (size, size), "bfloat16") for name in ("lhs_t", "rhs")]
    program = record(Call(tiled_matmul, "tiled_matmul", specs, outputs=("result",)), "trn2", 1)
    rng = np.random.default_rng(42)
    inputs = {spec.name: rng.standard_normal(spec.shape, np.float32).astype(ml_dtypes.bfloat16) for spec in specs}
    return lambda: execute(program, inputs)


def pallas(size: int) -> Callable[[], object]:
    import jax
    import jax.numpy as jnp
    from jax.experimental import pallas

    def tile(left, right, out):
        @pallas.when(pallas.program_id(2) == 0)
        def _():
            out[...] = jnp.zeros_like(out)

        out[...] += jnp.dot(left[...].T, right[...], preferred_element_type=jnp.float32)

    product = pallas.pallas_call(
        tile,
        grid=(size // TILE_M, size // TILE_N, size // TILE_K),
        in_specs=[
            pallas.BlockSpec((TILE_K, TILE_M), lambda m, n, k: (k, m)),
            pallas.BlockSpec((TILE_K, TILE_N), lambda m, n, k: (k, n)),
        ],
        out_specs=pallas.BlockSpec((TILE_M, TILE_N), lambda m, n, k: (m, n)),
        out_shape=jax.ShapeDtypeStruct((size, size), jnp.float32),
        interpret=True,
    )
    left, right = (jax.random.normal(jax.random.key(seed), (size, size), jnp.bfloat16) for seed in (1, 2))
    compiled = jax.jit(product)
    return lambda: compiled(left, right).block_until_ready()


def torch(size: int) -> Callable[[], object]:
    import torch

    left, right = (torch.randn(size, size).to(torch.bfloat16) for _ in range(2))

    def product() -> object:
        result = torch.zeros(size, size)
        for m in range(0, size, TILE_M):
            for n in range(0, size, TILE_N):
                for k in range(0, size, TILE_K):
                    stationary, moving = left[k : k + TILE_K, m : m + TILE_M], right[k : k + TILE_K, n : n + TILE_N]
                    result[m : m + TILE_M, n : n + TILE_N] += stationary.T @ moving
        return result

    return product


PEERS = {"ours": ours, "pallas": pallas, "torch": torch}
PACKAGE = {"pallas": "jax", "torch": "torch"}
GOALS = {"pallas": 1.0, "torch": 0.1}
"""How fast we are to be beside each; torch runs no kernels, and is what the tiles cost a CPU."""


def one(name: str, size: int) -> None:
    """Print the tiles for each CPU second."""
    product = PEERS[name](size)
    product()
    seconds = []
    for _ in range(ROUNDS):
        start = time.process_time()
        product()
        seconds.append(time.process_time() - start)
    print(size**3 / (TILE_M * TILE_K * TILE_N) / min(seconds))


def measured(name: str, size: int, limit_s: float) -> float | None:
    """Tiles for each CPU second; None where it did not end in time."""
    try:
        done = subprocess.run(
            [sys.executable, __file__, "--one", name, "--sizes", str(size)],
            stdout=subprocess.PIPE,
            text=True,
            timeout=limit_s,
            check=True,
        )
    except subprocess.TimeoutExpired:
        return None
    return float(done.stdout)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[512, 1024], help="M = K = N, multiples of 512")
    parser.add_argument("--limit", type=float, default=120, help="seconds for each")
    parser.add_argument("--one", choices=PEERS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        one(options.one, options.sizes[0])
        return 0
    goals = Goals()
    there = [name for name in PEERS if importlib.util.find_spec(PACKAGE.get(name, "numpy"))]
    for size in options.sizes:
        found = {name: measured(name, size, options.limit) for name in there}
        told = (f"{name} {'-' if rate is None else f'{rate:,.0f}'}" for name, rate in found.items())
        print(f"{size}^3, tiles for each CPU second: {', '.join(told)}", flush=True)
        for peer, limit in GOALS.items():
            if peer not in there:
                goals.not_compared(f"{size}^3 beside {peer}", PACKAGE[peer])
            else:
                ratio = (found["ours"] or 0.0) / (found[peer] or 1e-9)
                goals.at_least(limit, f"{size}^3 executed", ratio, peer)
    return goals.exit_code()


if __name__ == "__main__":
    sys.exit(main())
