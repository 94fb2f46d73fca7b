"""How fast the recorder is: instructions a second for programs of 10^3 to 10^6 instructions, on one core, shapes only.

    python bench/recorder.py [--largest 1000000]

Each row is a process of its own that records a blocked matmul (views, PSUM tiles, matmuls, copies, transfers) of about
so many instructions: time of the kernel alone, then with the checks of memory and the program's tables (the best of 2
runs, of more where they are short), and peak memory.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time

SIZES = (1_000, 10_000, 100_000, 1_000_000)


def kernel(blocks: int):
    """A kernel of about 20 instructions a block: 16 matmuls over sliced tiles, 2 loads, a copy and a store."""
    from neff_bench.simulator.nki import isa as nisa
    from neff_bench.simulator.nki import language as nl

    def matmuls(left, right):
        out = nl.ndarray((128, 512), left.dtype, buffer=nl.shared_hbm)
        for _ in range(blocks):
            stationary = nl.ndarray((128, 16, 128), left.dtype)
            moving = nl.ndarray((128, 16, 512), right.dtype)
            nisa.dma_copy(dst=stationary, src=left)
            nisa.dma_copy(dst=moving, src=right)
            total = nl.ndarray((128, 512), nl.float32, buffer=nl.psum)
            for k in range(16):
                nisa.nc_matmul(dst=total, stationary=stationary[0:128, k, 0:128], moving=moving[0:128, k, 0:512])
            result = nl.ndarray((128, 512), left.dtype)
            nisa.tensor_copy(dst=result, src=total)
            nisa.dma_copy(dst=out, src=result)
        return out

    return matmuls


def measure(instructions: int) -> None:
    """Print one row."""
    from neff_bench.simulator.nki.spec import InputSpec
    from neff_bench.simulator.nki.trace import input_tensor, record
    from neff_bench.simulator.recording.recorder import recording

    inputs = [InputSpec("left", (128, 16, 128), "bfloat16"), InputSpec("right", (128, 16, 512), "bfloat16")]
    function = kernel(max(1, instructions // 20))
    alone = whole = float("inf")
    for _ in range(max(2, 100_000 // instructions)):
        with recording("trn2") as now:
            tensors = {given.name: input_tensor(now, given) for given in inputs}
            start = time.process_time()
            function(**tensors)
            alone = min(alone, time.process_time() - start)
            count = len(now.instructions)
        del now
        start = time.process_time()
        record(function, "matmuls", inputs, {}, (), "trn2", 1)
        whole = min(whole, time.process_time() - start)
    mebibytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{count:>12,} {alone / count * 1e6:>14.2f} {count / alone:>14,.0f} {whole / count * 1e6:>14.2f}"
        f" {count / whole:>14,.0f} {mebibytes:>10,.0f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=SIZES[-1], help="largest program, in instructions")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        measure(given.one)
        return
    print(
        f"{'instructions':>12} {'kernel us each':>14} {'a second':>14} {'checked us':>14} {'a second':>14} {'peak MiB':>10}",
        flush=True,
    )
    for size in SIZES:
        if size <= given.largest:
            subprocess.run([sys.executable, __file__, "--one", str(size)], check=True)


if __name__ == "__main__":
    main()
