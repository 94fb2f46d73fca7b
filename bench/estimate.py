"""`neff_bench.estimate` beside the two commands, on random variants of a matmul of 1024 x 1024 x 1024.

    python bench/estimate.py equal --variants 100            # every metric of both, to the bit
    python bench/estimate.py cost --variants 10000 --sample 20   # CPU seconds of both, and memory while estimating

Variants differ in block and tile sizes, loop order, element type, chip and LNC. Exit code 1 when a metric differs.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

KERNEL = f"{Path(__file__).resolve().parent / 'matmul_variants.py'}:matmul"
SIZE = 1024
FLOPS = 2 * SIZE**3
BUILT = ("compile_time_s", "executions", "total_time_iqr_us")
"""Metrics of the build and of the executions: an estimate has neither."""


def variants(count: int, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Random variants: the keywords of `estimate` beside the kernel."""
    choose = random.Random(seed).choice
    for _ in range(count):
        dtype = choose(["bfloat16", "float16", "float32"])
        target, lnc = choose([("trn1", 1), ("inf2", 1), ("trn2", 1), ("trn2", 2), ("trn3", 1), ("trn3", 2)])
        yield {
            "inputs": dict.fromkeys(("lhs_t", "rhs"), ((SIZE, SIZE), dtype)),
            "arguments": {
                "block_m": choose([128, 256, 512, 1024]),
                "block_n": choose([512, 1024]),
                "block_k": choose([128, 256, 512, 1024]),
                "tile_n": choose([256, 512]),
                "order": choose(["mnk", "mkn", "nmk", "nkm", "kmn", "knm"]),
            },
            "target": target,
            "lnc": lnc,
        }


def rows_of_commands(chosen: list[dict[str, Any]], folder: Path, *options: str) -> list[dict[str, Any]]:
    """Return the rows of `generate-neffs` and `profile-neffs`, in the order of the variants. `options`: of both commands."""
    cases = [
        {
            "kernel": KERNEL,
            "implementation": "nki",
            "name": f"v{number:05d}",
            "inputs": {name: {"shape": list(shape), "dtype": dtype} for name, (shape, dtype) in one["inputs"].items()},
            "arguments": one["arguments"],
            "target": one["target"],
            "lnc": one["lnc"],
            "flops": str(FLOPS),
        }
        for number, one in enumerate(chosen)
    ]
    (folder / "shapes.yaml").write_text(json.dumps({"cases": cases}))  # JSON is YAML
    run = [sys.executable, "-m", "neff_bench"]
    generate = [*run, "generate", "--shapes", "shapes.yaml", "--out", "store", "--toolchain", "sim", *options]
    subprocess.run(generate, cwd=folder, check=True, stderr=subprocess.DEVNULL)
    profile = [*run, "profile", "store", "--format", "json", *options]
    printed = subprocess.run(profile, cwd=folder, check=True, capture_output=True).stdout
    return sorted(json.loads(printed), key=lambda row: row["kernel"])


def differences(estimated: dict[str, Any], row: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Return the metrics in which two rows differ."""
    from neff_bench.stage2_profile.metrics.rows import METRICS

    names = [name for name in METRICS if name not in BUILT]
    return {name: (estimated[name], row[name]) for name in names if estimated[name] != row[name]}


def equal(count: int) -> int:
    import neff_bench
    from neff_bench.stage2_profile.metrics.rows import METRICS, to_dict

    chosen = list(variants(count))
    with tempfile.TemporaryDirectory(prefix="estimate-") as scratch:
        rows = rows_of_commands(chosen, Path(scratch))
    wrong = 0
    for number, (one, row) in enumerate(zip(chosen, rows, strict=True)):
        found = differences(to_dict(neff_bench.estimate(KERNEL, flops=FLOPS, **one)), row)
        wrong += bool(found)
        if found:
            print(f"v{number:05d} {one}: {found}")
    print(f"{count - wrong} of {count} variants equal in all of {len(METRICS) - len(BUILT)} metrics")
    return 1 if wrong else 0


def cost(count: int, sample: int) -> int:
    import neff_bench

    commands_s = {}
    for options in ((), ("--cold",)):
        with tempfile.TemporaryDirectory(prefix="estimate-") as scratch:
            before = _cpu_s(resource.RUSAGE_CHILDREN)
            rows_of_commands(list(variants(sample)), Path(scratch), *options)
        name = " ".join(["the two commands", *options])
        commands_s[name] = (_cpu_s(resource.RUSAGE_CHILDREN) - before) / sample
        print(f"{name}: {commands_s[name]:.3f} s CPU a variant ({sample} variants in one call)", flush=True)
    start = time.process_time()
    for number, one in enumerate(variants(count), 1):
        neff_bench.estimate(KERNEL, flops=FLOPS, **one)
        if number in (count // 10, count // 2, count):
            each_s = (time.process_time() - start) / number
            ratios = ", ".join(f"1/{whole_s / each_s:.0f} of {name}" for name, whole_s in commands_s.items())
            memory = f"{_resident_mib():.1f} MiB resident"
            print(
                f"estimate, {number:>6} variants: {each_s * 1e3:.2f} ms CPU a variant, {ratios}, {memory}", flush=True
            )
    return 0


def _cpu_s(who: int) -> float:
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def _resident_mib() -> float:
    """Return the resident memory of this process, now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["equal", "cost"])
    parser.add_argument("--variants", type=int, default=100)
    parser.add_argument("--sample", type=int, default=20, help="variants that the commands run for their cost")
    given = parser.parse_args()
    return equal(given.variants) if given.what == "equal" else cost(given.variants, given.sample)


if __name__ == "__main__":
    sys.exit(main())
