"""The work that the gate measures. Prints the CPU seconds of one piece of it, the least of several times.

python bench/workloads.py decode_attention
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

REPEATS = 5
SHAPES = """
defaults: {target: trn2, lnc: 2, dtype: bfloat16}
cases:
  - {kernel: matmul, implementation: nki, M: [128, 256, 384], K: 256, N: 512}
"""


def end_to_end() -> float:
    """Three small cases from a shapes file to a table, both commands with all that they start."""
    with tempfile.TemporaryDirectory() as folder:
        shapes, store = Path(folder, "shapes.yaml"), Path(folder, "store")
        shapes.write_text(SHAPES)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        for words in (
            ["stage1_generate.cli", "--shapes", str(shapes), "--out", str(store), "--toolchain", "sim"],
            ["stage2_profile.cli", str(store)],
        ):
            subprocess.run(
                [sys.executable, "-m", f"neff_bench.{words[0]}", *words[1:]], check=True, capture_output=True
            )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _decode_attention():
    """One tile of 128 x 16384 that is written in pieces, read in pieces and read whole, as the cache of a decode step is."""
    from neff_bench.simulator.program import Access, Buffer, Instruction, Program

    pieces, width = 256, 64
    buffers = (
        Buffer("kv", "hbm", (128, pieces * width), "bfloat16", "input"),
        Buffer("out", "hbm", (128, width), "float32", "output"),
        Buffer("cache", "sbuf", (128, pieces * width), "bfloat16", "internal", 0, b"", 0),
        Buffer("sum", "psum", (128, width), "float32", "internal", 0, b"", 0),
        Buffer("row", "sbuf", (128, width), "float32", "internal", 0, b"", 2 * pieces * width),
    )
    whole, piece = ((pieces * width, 128), (1, pieces * width)), ((pieces * width, 128), (1, width))
    small = ((width, 128), (1, width))
    instructions = [Instruction("memset", "gpsimd", {"dst": Access(2, 0, whole, "bfloat16")}, {}, {"value": 0.0})]
    for number in range(pieces):
        part = Access(2, number * width, piece, "bfloat16")
        source = Access(0, number * width, piece, "bfloat16")
        instructions.append(Instruction("dma_copy", "sync", {"dst": part}, {"src": source}, {}))
        stationary = Access(2, (number // 2) * width, ((pieces * width, 128), (1, 64)), "bfloat16")
        operands = {"stationary": stationary, "moving": part}
        instructions.append(Instruction("nc_matmul", "tensor", {"dst": Access(3, 0, ((width, 64), (1, width)), "float32")}, operands, {}))  # fmt: skip
        if number % 32 == 31:
            row = Access(4, 0, small, "float32")
            everything = Access(2, 0, whole, "bfloat16")
            instructions.append(Instruction("tensor_reduce", "vector", {"dst": Access(4, 0, ((width, 128), (1, 1)), "float32")}, {"data": everything}, {"op": "add", "axis": 1}))  # fmt: skip
            instructions.append(Instruction("dma_copy", "sync", {"dst": Access(1, 0, small, "float32")}, {"src": row}, {}))  # fmt: skip
    return Program("decode", "trn2", 1, buffers, (0,), (1,), (tuple(instructions),))


def decode_attention() -> float:
    """Machine code and schedule of a program with one large access among many small ones."""
    from neff_bench.simulator.timing.schedule import schedule

    program = _decode_attention()
    return _cpu_s(lambda: schedule(program))


def output_check() -> float:
    """Outputs of 2 x 8 million elements compared with their reference."""
    import numpy as np

    from neff_bench.stage2_profile.metrics.check import compare_files

    with tempfile.TemporaryDirectory() as folder:
        one, other = Path(folder, "one"), Path(folder, "other")
        for path in (one, other):
            path.write_bytes(np.linspace(-1, 1, 1 << 23, dtype=np.float32).tobytes())
        return _cpu_s(lambda: compare_files(one, other, "float32", (1e-2, 1e-2)))


def profile_json() -> float:
    """The whole-profile JSON of a program with 10,000 machine instructions."""
    import orjson

    from neff_bench.simulator.files.profile import full_profile
    from neff_bench.simulator.timing.schedule import schedule
    from neff_bench.simulator.timing.timeline import timeline_of

    program = _decode_attention()
    timed = schedule(program)
    neff = SimpleNamespace(program=program, uuid=bytes(16), hash=bytes(16), name="file.neff", data_size=0)
    timeline = timeline_of(timed)
    return _cpu_s(lambda: orjson.dumps(full_profile(neff, timed, timeline, (0,), "file.neff", "profile.ntff")))


def _planted() -> float:
    """CPU seconds that are burnt on purpose, to see that the gate notices."""
    wanted = float(os.environ.get("GATE_PLANTED_S", "0"))
    return _cpu_s(
        lambda: [None for _ in iter(lambda end=time.process_time() + wanted: time.process_time() > end, True)]
    )


def _cpu_s(work: Callable[[], object]) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before


WORKLOADS = {function.__name__: function for function in (end_to_end, decode_attention, output_check, profile_json)}


def main() -> None:
    work = WORKLOADS[sys.argv[1]]
    print(min(work() + _planted() for _ in range(1 if work is end_to_end else REPEATS)))


if __name__ == "__main__":
    main()
