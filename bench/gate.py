"""Is this tree slower, or larger in memory, than a pinned older build? For CI on machines that are never quiet.

    python bench/gate.py                       # beside the commit in bench/gate.base
    python bench/gate.py --base HEAD~3 --only decode_attention
    python bench/gate.py --base HEAD --tree HEAD --plant 10    # burn 10 % on purpose: it has to fail

Both trees run the same work in turns, each with its own compiled core, and CPU seconds and peak memory are compared pair by pair, so
that what else the machine does hits both. Pairs are added until the 95 % confidence interval of the median ratio of CPU seconds lies
on one side of the limit. Exit code 1: some work is slower or larger than the limit, or the base cannot do it. A base is moved on
purpose: bench/gate.base has its commit and the reason.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from workloads import WORKLOADS, make_files

ROOT = Path(__file__).resolve().parent.parent
BASE = Path(__file__).with_name("gate.base")
LIMIT = 1.05
"""Ratio of new to old from which work is slower: half of the 10 % that must be noticed."""
PAIRS_MIN, PAIRS_MAX = 7, 41


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", default=BASE.read_text().split()[0], help="commit to compare with")
    parser.add_argument("--tree", help="commit that is judged; the working tree without it")
    parser.add_argument("--only", choices=sorted(WORKLOADS), action="append", help="may be repeated")
    parser.add_argument(
        "--plant", type=float, default=0.0, metavar="PERCENT", help="make the new tree slower on purpose"
    )
    options = parser.parse_args()
    print(f"compares CPU seconds and peak memory with {options.base}; the limit is {LIMIT:.2f}")
    print(f"{'':22s} {'CPU':>6s}   95 %             {'memory':>6s}", flush=True)
    bad = 0
    with tempfile.TemporaryDirectory(prefix="gate-") as folder, checked_out(options.base, folder) as base:
        with checked_out(options.tree, folder) if options.tree else contextlib.nullcontext(ROOT) as tree:
            make_files(Path(folder))
            for name in options.only or WORKLOADS:
                try:
                    ratio, low, high, memory, pairs = compared(name, base, tree, Path(folder), options.plant / 100)
                except Failed as error:
                    bad += 1
                    print(f"{name:22s} not compared: {error}", flush=True)
                    continue
                words = ["slower"] * (ratio > LIMIT) + ["larger"] * (memory > LIMIT)
                bad += bool(words)
                told = f"{ratio:6.3f}   {low:.3f} to {high:.3f}   {memory:6.3f}   {pairs} pairs"
                print(f"{name:22s} {told}   {' and '.join(words) or 'good'}", flush=True)
    return 1 if bad else 0


class Failed(Exception):
    """A tree cannot do a workload."""


@contextlib.contextmanager
def checked_out(commit: str, folder: str) -> Iterator[Path]:
    """Provide a worktree of a commit, with its core compiled."""
    tree = Path(folder, commit.replace("/", "-"))
    while tree.exists():
        tree = tree.with_name(tree.name + "-again")
    subprocess.run(["git", "worktree", "add", "--quiet", "--detach", str(tree), commit], cwd=ROOT, check=True)
    try:
        if (tree / "setup.py").exists():
            subprocess.run([sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"], cwd=tree, check=True)
        yield tree
    finally:
        subprocess.run(["git", "worktree", "remove", "--force", str(tree)], cwd=ROOT, check=True)


def compared(name: str, base: Path, tree: Path, files: Path, planted: float) -> tuple[float, float, float, float, int]:
    """Median ratio of new to old CPU seconds, its confidence interval, that of peak memory, and the number of pairs that it took."""
    ratios: list[float] = []
    memory: list[float] = []
    extra_s = planted * run(name, base, files)[0]
    run(name, tree, files)  # both have their byte code and their files in memory
    while True:
        order = [(base, 0.0), (tree, extra_s)]
        if len(ratios) % 2:
            order.reverse()
        cost = {one: run(name, one, files, plant_s) for one, plant_s in order}
        for of_both, what in ((ratios, 0), (memory, 1)):
            of_both.append(cost[tree][what] / cost[base][what])
        if len(ratios) >= PAIRS_MIN:
            low, high = interval(ratios)
            if low > LIMIT or high < LIMIT or len(ratios) >= PAIRS_MAX:
                return statistics.median(ratios), low, high, statistics.median(memory), len(ratios)


def run(name: str, tree: Path, files: Path, planted_s: float = 0.0) -> tuple[float, float]:
    """CPU seconds and bytes of peak memory of one run of a workload with the package of `tree`."""
    argv = [sys.executable, str(Path(__file__).with_name("workloads.py")), name, str(files)]
    fixed = {"PYTHONPATH": str(tree), "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"}
    environ = {**os.environ, **fixed, "GATE_PLANTED_S": str(planted_s)}
    environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installation has its byte code
    done = subprocess.run(argv, env=environ, cwd=files, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"{tree.name}: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
    cpu_s, peak_bytes = done.stdout.split()
    return float(cpu_s), float(peak_bytes)


def interval(ratios: list[float]) -> tuple[float, float]:
    """Return the 95 % confidence interval of the median, from the order of the values alone."""
    ordered, n = sorted(ratios), len(ratios)
    below, skip = 0.0, -1
    while below + math.comb(n, skip + 1) / 2**n <= 0.025:
        skip += 1
        below += math.comb(n, skip) / 2**n
    return (ordered[skip], ordered[n - 1 - skip]) if skip >= 0 else (ordered[0], ordered[-1])


if __name__ == "__main__":
    sys.exit(main())
