"""Counters of NKIBench's kernels beside the profiles that AccelOpt publishes (trn1).

    python -m tools.nkibench CHECKOUT [KERNEL...]

CHECKOUT: zhang677/AccelOpt. A test set: nothing of the model is chosen on it. The published profiles have no count of
matmuls; their FLOPs without transposes tell whether the matmuls are the same.
"""

from __future__ import annotations

import csv
import inspect
import json
import sys
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

from tools.wild import load, replace_host_packages  # noqa: E402
from tools.wild_cases import accelopt  # noqa: E402

PROFILES = "experiments/full_complete_local/profile_results.csv"
KEYS = ("hbm_read_bytes", "hbm_write_bytes", "matmul_flops")


def main(arguments: list[str]) -> int:
    checkout, *only = arguments
    csv.field_size_limit(2**30)
    with open(Path(checkout) / PROFILES, newline="") as lines:
        published = {row["problem"]: json.loads(row["profile"]) for row in csv.DictReader(lines)}
    print("| kernel | HBM read, MB | HBM written, MB | matmul GFLOPs | label |\n|---|--:|--:|--:|---|")
    for case in accelopt.CASES:
        stem = Path(case.path).stem
        problem = next(name for name in sorted(published, key=len, reverse=True) if stem.startswith(name))
        if only and problem not in only:
            continue
        ours, label = _counters(Path(checkout), case.path)
        theirs = {**published[problem]}
        theirs["matmul_flops"] = theirs.get("hardware_flops", 0) - theirs.get("transpose_flops", 0)
        cells = (_cell(ours[key], theirs[key], 1e9 if key == "matmul_flops" else 1e6) for key in KEYS)
        print(f"| {problem} | {' | '.join(cells)} | {label} |", flush=True)
    return 0


def _cell(ours: float, theirs: float, unit: float) -> str:
    error = f"{ours / theirs - 1:+.1%}" if theirs else "no figure" if ours else "equal"
    return f"{ours / unit:.1f} / {theirs / unit:.1f} ({error})"


def _counters(checkout: Path, path: str) -> tuple[dict[str, Any], str]:
    """Counters of the program that we make of a kernel, and what its rows would say of their bytes."""
    from neff_bench.simulator.nki.install import install
    from neff_bench.simulator.nki.spec import InputSpec
    from neff_bench.simulator.nki.trace import record
    from neff_bench.simulator.timing.counters import flops_and_bytes
    from neff_bench.simulator.timing.schedule import schedule

    warnings.simplefilter("ignore")
    install()
    replace_host_packages()
    kernel = load(checkout / path, "").kernel
    benchmark = accelopt.reference_module(checkout, path)
    np.random.seed(0)
    values = benchmark.transform_to_nki_inputs(benchmark.get_inputs())
    given = dict(zip(inspect.signature(kernel.function).parameters, values))
    arrays = {name: value for name, value in given.items() if np.ndim(value)}
    numbers = {name: value for name, value in given.items() if name not in arrays}
    inputs = [InputSpec(name, array.shape, str(array.dtype)) for name, array in arrays.items()]
    program = record(kernel, "kernel", inputs, numbers, (), "trn1", 1, fits=False)
    found = flops_and_bytes(program, schedule(program))
    found["matmul_flops"] = found["hardware_flops"] - found["transpose_flops"]
    return found, "before the compiler's middle end" if program.before_middle_end else "exact"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
