"""Says what it costs to start a command: CPU seconds of `--help`, `--version` and an import beside `python -c pass`, in turn.

Prints the median ratio of 11 runs of each. Exit code 1 when one costs more than its goal.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
from pathlib import Path

from goals import Goals

RUNS = 11
BIN = Path(sys.executable).parent
NOTHING = [sys.executable, "-c", "pass"]
COMMANDS = {
    "generate-neffs --help": 5,
    "profile-neffs --help": 5,
    "neuron-sim --help": 5,
    "neff-bench --help": 4,
    "neff-bench --version": 3,
    "import neff_bench": 2.5,
}
"""Times `python -c pass` that each may cost."""


def argv(name: str) -> list[str]:
    program, *words = name.split()
    return [sys.executable, "-c", name] if program == "import" else [str(BIN / program), *words]


def cpu_s(words: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    goals = Goals()
    for name, limit in COMMANDS.items():
        ratios = [cpu_s(argv(name)) / cpu_s(NOTHING) for _ in range(RUNS)]
        goals.at_most(limit, name, statistics.median(ratios), "python -c pass")
    return goals.exit_code()


if __name__ == "__main__":
    sys.exit(main())
