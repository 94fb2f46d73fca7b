"""Is this tree slower than a pinned older build? For CI on machines that are never quiet.

    python bench/gate.py                       # beside the commit in bench/gate.base
    python bench/gate.py --base HEAD~3 --only decode_attention
    python bench/gate.py --base HEAD --plant 10    # burn 10 % on purpose: it has to fail

Both trees run the same work in turns, and CPU time is compared pair by pair, so that what else the machine does hits both.
Where the processor counts instructions for us (`perf stat`), these are compared instead. Pairs are added until the 95 %
confidence interval of the median ratio lies on one side of the limit. Exit code 1: some work is slower than the limit.
"""

from __future__ import annotations

import argparse
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from workloads import WORKLOADS

ROOT = Path(__file__).resolve().parent.parent
BASE = Path(__file__).with_name("gate.base")
LIMIT = 1.05
"""Ratio of new to old from which work is slower: half of the 10 % that must be noticed."""
PAIRS_MIN, PAIRS_MAX = 7, 41


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", default=BASE.read_text().split()[0], help="commit to compare with")
    parser.add_argument("--only", choices=sorted(WORKLOADS), action="append", help="may be repeated")
    parser.add_argument(
        "--plant", type=float, default=0.0, metavar="PERCENT", help="make the new tree slower on purpose"
    )
    options = parser.parse_args()
    counts = counts_instructions()
    print(f"compares {'instructions' if counts else 'CPU time'} with {options.base}; the limit is {LIMIT:.2f}")
    slow = []
    with tempfile.TemporaryDirectory(prefix="gate-") as folder:
        base = Path(folder, "base")
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", str(base), options.base], cwd=ROOT, check=True)
        try:
            for name in options.only or WORKLOADS:
                ratio, low, high, pairs = compared(name, base, counts, options.plant / 100)
                verdict = "slower" if ratio > LIMIT else "good"
                slow += [name] if ratio > LIMIT else []
                print(f"{name:18s} {ratio:6.3f}   95 % {low:.3f} to {high:.3f}   {pairs} pairs   {verdict}", flush=True)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(base)], cwd=ROOT, check=True)
    return 1 if slow else 0


def compared(name: str, base: Path, counts: bool, planted: float) -> tuple[float, float, float, int]:
    """Median ratio of new to old, its confidence interval, and the number of pairs that it took."""
    ratios: list[float] = []
    extra_s = planted * run(name, base, False) if planted else 0.0
    run(name, ROOT, counts)  # both have their byte code and their files in memory
    while True:
        order = [(base, 0.0), (ROOT, extra_s)]
        if len(ratios) % 2:
            order.reverse()
        cost = {tree: run(name, tree, counts, plant_s) for tree, plant_s in order}
        ratios.append(cost[ROOT] / cost[base])
        if len(ratios) >= PAIRS_MIN:
            low, high = interval(ratios)
            if low > LIMIT or high < LIMIT or len(ratios) >= PAIRS_MAX:
                return statistics.median(ratios), low, high, len(ratios)


def run(name: str, tree: Path, counts: bool, planted_s: float = 0.0) -> float:
    """CPU seconds, or instructions, of one run of a workload with the package of `tree`."""
    argv = [sys.executable, str(Path(__file__).with_name("workloads.py")), name]
    fixed = {"PYTHONPATH": str(tree), "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"}
    environ = {**os.environ, **fixed, "GATE_PLANTED_S": str(planted_s)}
    if counts:
        argv = ["perf", "stat", "-x,", "-e", "instructions:u", *argv]
    done = subprocess.run(argv, env=environ, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(
            f"{name} with {tree}: {done.stderr.strip().splitlines()[-1]}; pin a newer commit in {BASE.name}"
        )
    return float(done.stderr.strip().splitlines()[-1].split(",")[0]) if counts else float(done.stdout)


def interval(ratios: list[float]) -> tuple[float, float]:
    """The 95 % confidence interval of the median, from the order of the values alone."""
    ordered, n = sorted(ratios), len(ratios)
    below, skip = 0.0, -1
    while below + math.comb(n, skip + 1) / 2**n <= 0.025:
        skip += 1
        below += math.comb(n, skip) / 2**n
    return (ordered[skip], ordered[n - 1 - skip]) if skip >= 0 else (ordered[0], ordered[-1])


def counts_instructions() -> bool:
    """Whether `perf stat` is there, is allowed, and the processor counts."""
    if shutil.which("perf") is None:
        return False
    done = subprocess.run(
        ["perf", "stat", "-x,", "-e", "instructions:u", "true"], capture_output=True, text=True, check=False
    )
    return done.returncode == 0 and done.stderr.split(",")[0].strip().isdigit()


if __name__ == "__main__":
    sys.exit(main())
