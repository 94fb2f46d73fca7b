"""Says what the rows of a large finished store cost: CPU seconds and memory of `--parse-only` and of a call with nothing to do.

    python bench/rows.py --cases 10000
    python bench/rows.py --cases 10000 --bin /other/checkout/.venv/bin    # the same with another installation

One case is built and profiled; the others are copies of its bundle. Each command runs once before it is measured.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def measured(argv: list[str], environ: dict[str, str]) -> tuple[float, float]:
    """CPU seconds and peak memory in MB of a command and its children."""
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environ) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(argv)} ended with exit code {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def fill(store: Path, cases: int, bin_: Path, environ: dict[str, str]) -> None:
    shapes = store.parent / "shapes.yaml"
    shapes.write_text(
        "defaults: {target: trn2, lnc: 1, dtype: bfloat16}\n"
        "cases:\n  - {kernel: matmul, implementation: nki, M: 32, K: 64, N: 48}\n"
    )
    words = ["--shapes", str(shapes), "--out", str(store), "--toolchain", "sim"]
    measured([str(bin_ / "generate-neffs"), *words], environ)
    measured([str(bin_ / "profile-neffs"), str(store)], environ)
    (seed,) = (path for path in store.iterdir() if not path.name.startswith("."))
    for number in range(1, cases):
        shutil.copytree(seed, store / f"{seed.name}_copy{number:05d}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--bin", type=Path, default=Path(sys.executable).parent, help="where the commands lie")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with tempfile.TemporaryDirectory(prefix="rows-") as scratch:
        store = Path(scratch) / "store"
        fill(store, options.cases, options.bin, environ)
        time.sleep(1.1)  # files that were written just now are not remembered as verified
        for words in (["--parse-only"], []):
            argv = [str(options.bin / "profile-neffs"), str(store), *words]
            measured(argv, environ)
            runs = [measured(argv, environ) for _ in range(options.rounds)]
            cpu_s, memory_mb = (sorted(values)[len(values) // 2] for values in zip(*runs))
            print(f"profile-neffs {' '.join(words)}: {options.cases} cases, {cpu_s:.2f} s CPU, {memory_mb:.0f} MB")


if __name__ == "__main__":
    main()
