"""A second `generate-neffs` over a store of 1,000 cases: nothing to build, and the CPU time it takes to find that out.

One case is built; the others are copies of its bundle under their own cases and keys, so that the store is what a
thousand builds would have left. Prints the median of five runs of the command. Exit code 1 when the goal is missed.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from neff_bench.neffs.bundle import read_bundle, write_manifest
from neff_bench.neffs.store import Store
from neff_bench.stage1_generate.jobs.keys import Keys
from neff_bench.stage1_generate.shapes.read import read_shapes
from neff_bench.stage1_generate.toolchains.find import choose

CASES = 1000
RUNS = 5
GOAL_S = 1.0
GENERATE = [str(Path(sys.executable).parent / "generate-neffs"), "--toolchain", "sim"]


def fill(store: Store, shapes: Path) -> None:
    cases = read_shapes(shapes)
    command = [*GENERATE, "--shapes", str(shapes), "--out", str(store.path), "--only", cases[0].name]
    subprocess.run(command, check=True, capture_output=True)
    first = read_bundle(store.path / cases[0].name)
    keys = Keys(choose("sim", None))
    for case in cases[1:]:
        manifest = replace(first.manifest, case=case, key=keys.key(case))

        def copy(directory: Path) -> None:
            shutil.copytree(first.path, directory, dirs_exist_ok=True)
            write_manifest(directory, manifest)

        store.publish(case.name, copy)


def cpu_s(command: list[str]) -> tuple[float, str]:
    """CPU seconds of a command and of what it started, and what it said."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        said = process.stdout.read() if process.stdout else ""
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with exit code {process.returncode}")
    return usage.ru_utime + usage.ru_stime, said


def main() -> int:
    with tempfile.TemporaryDirectory() as directory:
        shapes = Path(directory, "shapes.yaml")
        shapes.write_text(f"cases:\n- {{kernel: exp, implementation: nki, M: '1:{CASES}:1', N: 8}}\n")
        store = Store(Path(directory, "store"))
        fill(store, shapes)
        runs = [cpu_s([*GENERATE, "--shapes", str(shapes), "--out", str(store.path)]) for _ in range(RUNS)]
    median_s = statistics.median(seconds for seconds, _ in runs)
    print(runs[-1][1].strip().replace(str(store.path), "the store"))
    print(f"second generate-neffs over {CASES} cases: {median_s:.2f} s CPU (goal: under {GOAL_S:g})")
    return 1 if median_s >= GOAL_S else 0


if __name__ == "__main__":
    sys.exit(main())
