"""Instructions a second of the timing model, from 10^3 to 10^6 machine instructions: assembling (program to machine code with
dependencies), the schedule, and the profile's summary. The cost per instruction should stay flat.
Exit code 1 when one costs more than its goal.

    python bench/scheduler.py [--largest 1000000]
"""

from __future__ import annotations

import argparse
import heapq
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

from goals import Goals

TILES_K = 8


def tiled(program: Any, products: int) -> Any:
    """Return a GEMM of 128 x 512 tiles: loads, `TILES_K` matmuls, an eviction and a store for each product.
    `program`: the module of programs."""
    Access, Buffer, Instruction, Program = (
        getattr(program, name) for name in ("Access", "Buffer", "Instruction", "Program")
    )
    buffers = [Buffer("a", "hbm", (128, 128), "bfloat16", "input"), Buffer("b", "hbm", (128, 512), "bfloat16", "input"),
               Buffer("out", "hbm", (products * 128, 512), "bfloat16", "output")]  # fmt: skip
    tile = ((128, 128), (1, 128))
    wide = ((512, 128), (1, 512))
    instructions: list[Instruction] = []
    for product in range(products):
        base = len(buffers)
        buffers += [
            Buffer("p", "psum", (128, 512), "float32", "internal", 0, b"", 2048 * (product % 8)),
            Buffer("r", "sbuf", (128, 512), "bfloat16", "internal", 0, b"", 1024 * (product % 4)),
        ]
        psum, result = Access(base, 0, wide, "float32"), Access(base + 1, 0, wide, "bfloat16")
        for k in range(TILES_K):
            slot = (product * TILES_K + k) % 16
            buffers += [
                Buffer("l", "sbuf", (128, 128), "bfloat16", "internal", 0, b"", 8192 + 256 * slot),
                Buffer("m", "sbuf", (128, 512), "bfloat16", "internal", 0, b"", 16384 + 1024 * slot),
            ]
            left = Access(len(buffers) - 2, 0, tile, "bfloat16")
            moving = Access(len(buffers) - 1, 0, wide, "bfloat16")
            instructions += [
                Instruction("dma_copy", "sync", {"dst": left}, {"src": Access(0, 0, tile, "bfloat16")}, {}),
                Instruction("dma_copy", "sync", {"dst": moving}, {"src": Access(1, 0, wide, "bfloat16")}, {}),
                Instruction("nc_matmul", "tensor", {"dst": psum}, {"stationary": left, "moving": moving}, {}),
            ]
        out = Access(2, product * 128 * 512, wide, "bfloat16")
        instructions += [
            Instruction("tensor_copy", "vector", {"dst": result}, {"src": psum}, {}),
            Instruction("dma_copy", "sync", {"dst": out}, {"src": result}, {}),
        ]
    return Program("bench", "trn2", 1, tuple(buffers), (0, 1), (2,), (tuple(instructions),))


def timed(work: Callable) -> tuple[Any, float]:
    """Return the result and the seconds of processor time: other processes do not count."""
    begin = time.process_time()
    result = work()
    return result, time.process_time() - begin


def heap(count: int) -> None:
    """As many events through a heap as there are instructions: the least that a scheduler in Python does."""
    events: list[tuple[int, int]] = []
    for number in range(count):
        heapq.heappush(events, (number * 7919 % 1009, number))
        if len(events) > 64:
            heapq.heappop(events)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=1_000_000, help="machine instructions of the last row")
    options = parser.parse_args()

    from neff_bench.simulator import native, program
    from neff_bench.simulator.compiler.code.assembler import assemble
    from neff_bench.simulator.timing.counters import summarise
    from neff_bench.simulator.timing.schedule import schedule
    from neff_bench.simulator.timing.timeline import timeline_of

    print("core:", "compiled" if native.library() is not None else "plain Python (nothing was compiled)")
    schedule(tiled(program, 2))
    print(f"{'machine instructions':>22}{'assemble/s':>14}{'schedule/s':>14}{'summary/s':>14}{'process MiB':>13}")
    size, goals = 1000, Goals()
    while size <= options.largest:
        one = tiled(program, max(size // (TILES_K * 5 + 4), 1))
        codes, assembled = timed(lambda: assemble(one))
        done, scheduled = timed(lambda: schedule(one, codes=codes))
        _, summed = timed(lambda: summarise(one, done, timeline_of(done)))
        n = len(codes[0])
        _, least = timed(lambda: heap(n))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{n:>22,}{n / assembled:>14,.0f}{n / scheduled:>14,.0f}{n / summed:>14,.0f}{peak:>13,.0f}", flush=True)
        if size > 1000:  # below, what does not grow with the program decides
            for what, seconds, limit in (
                ("assembled", assembled, 4),
                ("scheduled", scheduled, 2),
                ("summed up", summed, 4),
            ):
                goals.at_most(
                    limit, f"{n:,} machine instructions {what}", seconds / least, "as many events through heapq"
                )
        size *= 10
    return goals.exit_code()


if __name__ == "__main__":
    sys.exit(main())
