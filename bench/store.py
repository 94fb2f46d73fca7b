"""A second `generate-neffs` over a store of 1,000 cases: nothing to build, and the CPU time it takes to find that out.

One case is built; the others are copies of its bundle under their own cases and keys, so that the store is what a
thousand builds would have left. Compared in turn with a program that only reads each manifest with `json` and digests it, the median of
five pairs. Exit code 1 when the goal is missed.
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

from goals import Goals

from neff_bench.neffs.bundle import read_bundle, write_manifest
from neff_bench.neffs.store import Store
from neff_bench.stage1_generate.jobs.keys import Keys
from neff_bench.stage1_generate.shapes.read import read_shapes
from neff_bench.stage1_generate.toolchains.find import choose

CASES = 1000
RUNS = 5
TIMES = 4.0
"""What the command may cost beside that program."""
READS = """
import hashlib, json, pathlib, sys
for path in pathlib.Path(sys.argv[1]).glob("*/case.json"):
    json.loads(data := path.read_bytes()), hashlib.sha256(data).hexdigest()
"""
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
        command = [*GENERATE, "--shapes", str(shapes), "--out", str(store.path)]
        reads = [sys.executable, "-c", READS, str(store.path)]
        runs = [(cpu_s(command), cpu_s(reads)) for _ in range(RUNS)]
    print(runs[-1][0][1].strip().replace(str(store.path), "the store"))
    median = statistics.median(ours / theirs for (ours, _), (theirs, _) in runs)
    goals = Goals()
    goals.at_most(TIMES, f"second generate-neffs over {CASES} cases", median, "reading their manifests")
    return goals.exit_code()


if __name__ == "__main__":
    sys.exit(main())
