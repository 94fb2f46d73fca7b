"""What it costs to start a command: `--help` of each beside `python -c pass`.

Prints the median of 15 runs of each and the difference; the goal is within 150 ms. Exit code 1 when one is slower.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

RUNS = 15
GOAL_MS = 150
BIN = Path(sys.executable).parent
COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "generate-neffs --help": [str(BIN / "generate-neffs"), "--help"],
    "profile-neffs --help": [str(BIN / "profile-neffs"), "--help"],
    "neuron-sim --help": [str(BIN / "neuron-sim"), "--help"],
    "neff-bench --help": [str(BIN / "neff-bench"), "--help"],
}


def median_ms(argv: list[str]) -> float:
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def main() -> int:
    floor, missed = None, False
    for name, argv in COMMANDS.items():
        ms = median_ms(argv)
        floor = ms if floor is None else floor
        print(f"{name:24s} {ms:7.1f} ms   {ms - floor:+7.1f} ms over python -c pass")
        missed |= ms - floor > GOAL_MS
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
