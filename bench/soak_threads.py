"""Threads that call the package all at once: every answer equals the one that the main thread gave alone.

    python bench/soak_threads.py [--threads 8] [--calls 2400]

Kernels of both dialects, right and wrong ones, are estimated from files of one name; bundles are read and compared, and one call in
forty builds and profiles a kernel. Threads take turns every microsecond. Prints one JSON object; exit code 1 when an answer differs.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import neff_bench
from neff_bench.errors import NeffBenchError
from neff_bench.stage1_generate import options
from neff_bench.stage2_profile.metrics.rows import METRICS

Call = Callable[[], Any]
SWITCH_S = 1e-6

COPY = """
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def copy(x, times):
    print("copies", times)
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for _ in range(times):
        tile = nl.ndarray((128, 512 * WIDTH), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile[0:128, 0:512], src=x)
        nisa.tensor_copy(dst=tile[0:128, 0:256], src=tile[0:128, 256:512])
        nisa.dma_copy(dst=out, src=tile[0:128, 0:512])
    return out
"""
OLD = """
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def grid(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    half = nl.arange(SIZE)[None, :] + nl.program_id(0) * SIZE
    rows = nl.arange(128)[:, None]
    nl.store(out[rows, half], nl.exp(nl.load(x[rows, half])))
    return out


entry = grid[2]
"""


def estimates(work: Path) -> list[Call]:
    """Return one call for each kernel and shape."""
    calls: list[Call] = []
    for number, width in enumerate((1, 2, 4, 1000)):  # the last one is too large for SBUF
        file = work / str(number) / "kernel.py"
        file.parent.mkdir()
        file.write_text(COPY.replace("WIDTH", str(width)), encoding="utf-8")
        for times in (1, 3, 8):
            calls.append(_estimate(f"{file}:copy", {"x": ((128, 512), "bfloat16")}, {"times": times}))
        old = work / str(number) / "old.py"
        old.write_text(OLD.replace("SIZE", str(64 * width)), encoding="utf-8")
        calls.append(_estimate(f"{old}:entry", {"x": ((128, 128 * width), "float32")}, {}))
    matmul = f"{Path(__file__).parent / 'matmul_variants.py'}:matmul"
    square = dict.fromkeys(("lhs_t", "rhs"), ((1024, 1024), "bfloat16"))
    return [*calls, _estimate(matmul, square, {"block_k": 512}, lnc=2), _estimate(matmul, square, {"order": "nkm"})]


def _estimate(kernel: str, inputs: dict[str, Any], arguments: dict[str, Any], lnc: int = 1) -> Call:
    return lambda: _numbers(neff_bench.estimate(kernel, inputs, arguments=arguments, lnc=lnc))


def _numbers(row: neff_bench.Row) -> dict[str, Any]:
    """Return what of a row does not depend on how long the build took."""
    return {name: getattr(row, name) for name in (*METRICS, "status", "check", "reason") if name != "compile_time_s"}


def files(work: Path) -> list[Call]:
    """Return two bundles that are made, read and compared."""
    kernel, stores = f"{work / '0' / 'kernel.py'}:copy", [work / "before", work / "after"]
    for times, store in enumerate(stores, 1):
        neff_bench.profile(kernel, {"x": ((128, 512), "bfloat16")}, arguments={"times": times}, store=store)
    ntff = next(stores[0].glob("*/profiles/*/*.ntff"))
    neff = next(stores[0].glob("*/file.neff"))
    return [
        lambda: neff_bench.read_ntff(ntff),
        lambda: neff_bench.read_neff(neff),
        lambda: neff_bench.read_summary(next(stores[0].glob("*/profiles/*/summary-1.json"))),
        lambda: neff_bench.compare(*stores),
    ]


def profiled(work: Path) -> Call:
    """Return a kernel that is built, run and viewed anew."""
    kernel = f"{work / '1' / 'kernel.py'}:copy"
    return lambda: _numbers(neff_bench.profile(kernel, {"x": ((128, 512), "bfloat16")}, arguments={"times": 2}))


def answer(call: Call) -> str:
    """Return what a call gives, or why it fails, as text."""
    try:
        return repr(call())
    except NeffBenchError as error:
        return f"{type(error).__name__}: {error}"


def soak(work: Path, threads: int, count: int) -> dict[str, Any]:
    """Call from many threads. `wrong`: how often which kind of call gave another answer."""
    calls = [*estimates(work), *files(work), profiled(work)]
    expected = [answer(call) for call in calls]
    chance = random.Random(0)
    chosen = [len(calls) - 1 if n % 40 == 39 else chance.randrange(len(calls) - 1) for n in range(count)]
    out = sys.stdout
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_S)
    try:
        with ThreadPoolExecutor(threads) as pool:
            found = list(pool.map(lambda number: answer(calls[number]), chosen))
    finally:
        sys.setswitchinterval(before)
    wrong = Counter(number for number, text in zip(chosen, found, strict=True) if text != expected[number])
    examples = [[expected[n][:300], text[:300]] for n, text in zip(chosen, found, strict=True) if text != expected[n]]
    return {
        "calls": count,
        "different": len(set(expected)),
        "wrong": dict(wrong),
        "examples": examples[:3],
        "stdout_is_back": sys.stdout is out,
    }


def main() -> int:
    """Returns the exit code."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--calls", type=int, default=2400)
    given = parser.parse_args()
    if "libasan" in os.environ.get(
        "LD_PRELOAD", ""
    ):  # AddressSanitizer reserves 20 TiB, so no worker starts below a limit
        options.Options = partial(options.Options, memory_gib=2**20)  # type: ignore[misc]
    with tempfile.TemporaryDirectory() as work:
        found = soak(Path(work), given.threads, given.calls)
    print(json.dumps(found, indent=2))
    return bool(found["wrong"]) or not found["stdout_is_back"]


if __name__ == "__main__":
    sys.exit(main())
