"""Says how fast the recorder is: instructions a second for programs of 10^3 to 10^6 instructions, on one core, shapes only.

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
from collections.abc import Callable
from typing import Any

from goals import Goals

SIZES = (1_000, 10_000, 100_000, 1_000_000)
TIMES = 3.0
"""What recording may cost beside objects alone."""


def kernel(nisa: Any, nl: Any, blocks: int) -> Callable[..., Any]:
    """Return a kernel of about 20 instructions a block: 16 matmuls over sliced tiles, 2 loads, a copy and a store."""

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


def inputs(spec: Callable[..., Any]) -> list[Any]:
    """Those of the kernel. `spec`: InputSpec."""
    return [spec("left", (128, 16, 128), "bfloat16"), spec("right", (128, 16, 512), "bfloat16")]


def objects(instructions: int) -> list[Any]:
    """Make what a recorder in Python has to make at least: an object for each instruction and for each of its three operands."""
    from neff_bench.simulator.program import Access, Instruction

    pattern = ((512, 128), (1, 512))
    return [
        Instruction("nc_matmul", "tensor", {"dst": Access(0, number, pattern, "float32")},
                    {"stationary": Access(1, number, pattern, "bfloat16"), "moving": Access(2, number, pattern, "bfloat16")}, {})
        for number in range(instructions)
    ]  # fmt: skip


def measure(instructions: int) -> None:
    """Print one row, and what it costs beside objects alone."""
    from neff_bench.simulator.nki import isa, language
    from neff_bench.simulator.nki.spec import InputSpec
    from neff_bench.simulator.nki.trace import Call, input_tensor, record
    from neff_bench.simulator.recording.recorder import recording

    given = inputs(InputSpec)
    function = kernel(isa, language, max(1, instructions // 20))
    alone, whole, least = [], [], []
    for _ in range(max(2, 100_000 // instructions)):
        with recording("trn2") as now:
            tensors = {one.name: input_tensor(now, one) for one in given}
            alone.append(cpu_s(lambda: function(**tensors)))
            count = len(now.instructions)
        del now
        whole.append(cpu_s(lambda: record(Call(function, "matmuls", given), "trn2", 1)))
    peak_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in whole:
        least.append(cpu_s(lambda: objects(count)))
    rates = "".join(f"{min(times) / count * 1e6:>14.2f} {count / min(times):>14,.0f}" for times in (alone, whole))
    ratio = min(whole) / min(least)
    print(f"{count:>12,} {rates} {peak_kib / 1024:>10,.0f} {ratio:>8.2f} {peak_kib * 1024 / count:>8.0f}", flush=True)


def cpu_s(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=SIZES[-1], help="largest program, in instructions")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        measure(given.one)
        return 0
    heads = ("kernel us each", "a second", "checked us", "a second", "peak MiB", "objects", "bytes")
    print(f"{'instructions':>12} " + " ".join(f"{head:>{w}}" for head, w in zip(heads, (14, 14, 13, 14, 10, 8, 8))))
    goals = Goals()
    for size in SIZES:
        if size <= given.largest:
            argv = [sys.executable, __file__, "--one", str(size)]
            row = subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True).stdout
            print(row.rstrip())
            goals.at_most(TIMES, f"{size:,} instructions recorded", float(row.split()[-2]), "their objects alone")
    return goals.exit_code()


if __name__ == "__main__":
    sys.exit(main())
