"""CPU time of an executed 2048^3 bfloat16 product against numpy's float32 product of the same size.

    python bench/executor.py [--size 2048] [--repeat 5]

The program is recorded from the tiled kernel below; recording is not part of the time. Prints the best of the repeats, in CPU
seconds. Exit code 1 when the goal is missed.
"""

from __future__ import annotations

import argparse
import sys
import time
import tracemalloc
from collections.abc import Callable

import ml_dtypes
import numpy as np
from goals import Goals

from neff_bench.simulator.execution.execute import execute
from neff_bench.simulator.nki.install import install
from neff_bench.simulator.nki.spec import InputSpec
from neff_bench.simulator.nki.trace import Call, record

install()

import nki.isa as nisa  # noqa: E402
import nki.language as nl  # noqa: E402

TILE_M, TILE_K, TILE_N = 128, 128, 512


def tiled_matmul(lhs_t, rhs):
    """rhs tiles stay in SBUF for a column of results; lhs_t tiles are loaded for each."""
    contraction, rows = lhs_t.shape
    columns = rhs.shape[1]
    result = nl.ndarray((rows, columns), dtype=lhs_t.dtype, buffer=nl.shared_hbm)
    for n in range(0, columns, TILE_N):
        moving = []
        for k in range(0, contraction, TILE_K):
            tile = nl.ndarray((TILE_K, TILE_N), dtype=rhs.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=tile, src=rhs[k : k + TILE_K, n : n + TILE_N])
            moving.append(tile)
        for m in range(0, rows, TILE_M):
            product = nl.ndarray((TILE_M, TILE_N), dtype=nl.float32, buffer=nl.psum)
            for i, k in enumerate(range(0, contraction, TILE_K)):
                stationary = nl.ndarray((TILE_K, TILE_M), dtype=lhs_t.dtype, buffer=nl.sbuf)
                nisa.dma_copy(dst=stationary, src=lhs_t[k : k + TILE_K, m : m + TILE_M])
                nisa.nc_matmul(dst=product, stationary=stationary, moving=moving[i])
            rounded = nl.ndarray((TILE_M, TILE_N), dtype=lhs_t.dtype, buffer=nl.sbuf)
            nisa.tensor_copy(dst=rounded, src=product)
            nisa.dma_copy(dst=result[m : m + TILE_M, n : n + TILE_N], src=rounded)
    return result


def best(function: Callable[[], object], repeat: int) -> float:
    times = []
    for _ in range(repeat):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=2048, help="M = K = N, a multiple of 512")
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    size = options.size
    specs = [InputSpec("lhs_t", (size, size), "bfloat16"), InputSpec("rhs", (size, size), "bfloat16")]
    program = record(Call(tiled_matmul, "tiled_matmul", specs, outputs=("result",)), "trn2", 1)
    rng = np.random.default_rng(42)
    inputs = {spec.name: rng.standard_normal(spec.shape, np.float32).astype(ml_dtypes.bfloat16) for spec in specs}
    wide = {name: array.astype(np.float32) for name, array in inputs.items()}
    result = execute(program, inputs)["result"].astype(np.float32)
    expected = wide["lhs_t"].T @ wide["rhs"]
    error = float(np.linalg.norm(result - expected) / np.linalg.norm(expected))
    numpy_s = best(lambda: wide["lhs_t"].T @ wide["rhs"], options.repeat)
    executor_s = best(lambda: execute(program, inputs), options.repeat)
    tracemalloc.start()
    execute(program, inputs)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tensor_bytes = sum(array.nbytes for array in inputs.values()) + size * size * 2
    print(f"{size}^3 bfloat16, {len(program.cores[0])} instructions, relative error {error:.1e}")
    print(f"numpy float32 {numpy_s:.3f} s CPU, executor {executor_s:.3f} s CPU")
    goals = Goals()
    goals.at_most(3, f"{size}^3 executed", executor_s / numpy_s, "numpy's float32 product")
    goals.at_most(8, f"peak memory of {size}^3", peak_bytes / tensor_bytes, "its tensors")
    return goals.exit_code()


if __name__ == "__main__":
    sys.exit(main())
