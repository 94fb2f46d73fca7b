"""A second `generate-neffs` over a store of 1,000 cases: nothing to build, and how long it takes to find that out.

One case is built; the others are copies of its bundle under their own cases and keys, so that the store is what a
thousand builds would have left. Prints the median of five runs of the command; the goal is under one second.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from neff_bench.neffs.bundle import read_bundle, write_manifest
from neff_bench.neffs.store import Store
from neff_bench.stage1_generate.build.keys import Keys
from neff_bench.stage1_generate.shapes.read import read_shapes
from neff_bench.stage1_generate.toolchains.find import choose

CASES = 1000
RUNS = 5
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


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        shapes = Path(directory, "shapes.yaml")
        shapes.write_text(f"cases:\n- {{kernel: exp, implementation: nki, M: '1:{CASES}:1', N: 8}}\n")
        store = Store(Path(directory, "store"))
        fill(store, shapes)
        times = []
        for _ in range(RUNS):
            start = time.perf_counter()
            command = [*GENERATE, "--shapes", str(shapes), "--out", str(store.path)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            times.append(time.perf_counter() - start)
        print(done.stdout.strip().replace(str(store.path), "the store"))
        print(f"second generate-neffs over {CASES} cases: {statistics.median(times):.2f} s")


if __name__ == "__main__":
    main()
