"""Counters of NKIBench's kernels beside the profiles that AccelOpt publishes (trn1).

    python -m validation.nkibench CHECKOUT [KERNEL...]

CHECKOUT: zhang677/AccelOpt. A test set: nothing of the model is chosen on it. The published profiles have no count of
matmuls. It follows from their FLOPs and the bytes that the PE writes to PSUM where the kernel's products are of one size, or of two that
differ in FLOPs of a byte.
"""

from __future__ import annotations

import csv
import inspect
import json
import sys
import warnings
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

from neff_bench.simulator.program import Program  # noqa: E402
from validation.wild.cases import accelopt  # noqa: E402
from validation.wild.loading import load, replace_host_packages  # noqa: E402

PROFILES = "experiments/full_complete_local/profile_results.csv"
BYTES = ("hbm_read_bytes", "hbm_write_bytes", "spill_reload_bytes", "spill_save_bytes")
HEAD = "kernel | HBM read, MB | HBM written, MB | of what is read: reloads | of what is written: spills | products | transposes | label"


class Matmul(NamedTuple):
    """A size of MATMUL instructions. `written_bytes`: of PSUM, as the profiler counts them."""

    flops: int
    written_bytes: int


def main(arguments: list[str]) -> int:
    checkout, *only = arguments
    csv.field_size_limit(2**30)
    with open(Path(checkout) / PROFILES, newline="") as lines:
        published = {row["problem"]: json.loads(row["profile"]) for row in csv.DictReader(lines)}
    print(f"| {HEAD} |\n|---|--:|--:|--:|--:|--:|--:|---|")
    for case in accelopt.CASES:
        stem = Path(case.path).stem
        problem = next(name for name in sorted(published, key=len, reverse=True) if stem.startswith(name))
        if not only or problem in only:
            print(
                f"| {problem} | {' | '.join(_cells(_program(Path(checkout), case.path), published[problem]))} |",
                flush=True,
            )
    return 0


def _cells(program: Program, published: Mapping[str, Any]) -> list[str]:
    """Ours and the published of each column, and what our rows would say of their bytes."""
    from neff_bench.parsers.formats.opcodes import OPCODES
    from neff_bench.simulator.timing.counters import flops_and_bytes
    from neff_bench.simulator.timing.schedule import schedule

    timed = schedule(program)
    ours = flops_and_bytes(program, timed)
    sizes: dict[bool, Counter[Matmul]] = {True: Counter(), False: Counter()}
    for core in timed.cores:
        code = core.code
        for at in np.flatnonzero(code.opcode == OPCODES["MATMUL"]).tolist():
            sizes[bool(code.transpose[at])][Matmul(int(code.flops[at]), int(code.psum_write[at]))] += 1
    cells = [_megabytes(ours[key], published.get(key) or 0) for key in BYTES]
    for transposes, theirs in zip((False, True), published_counts(sizes[False], sizes[True], published), strict=True):
        cells.append(f"{sizes[transposes].total()} / {'not known' if theirs is None else theirs}")
    return [*cells, "before the compiler's middle end" if program.before_middle_end else "exact"]


def published_counts(
    products: Mapping[Matmul, int], transposes: Mapping[Matmul, int], published: Mapping[str, Any]
) -> tuple[int | None, int | None]:
    """Return how many MATMUL instructions of these sizes the profile has: products and transposes; None where its counters do not tell.

    products, transposes: the sizes that the kernel has. published: `hardware_flops`, `transpose_flops`, `psum_write_bytes`.
    """
    flops, written = published.get("transpose_flops") or 0, published.get("psum_write_bytes") or 0
    turned = _one_size(list(transposes), flops)
    if turned is None:
        return None, None
    written -= sum(size.written_bytes for size in transposes) * turned
    return _count(list(products), (published.get("hardware_flops") or 0) - flops, written), turned


def _one_size(sizes: list[Matmul], flops: int) -> int | None:
    if not sizes and not flops:
        return 0
    return flops // sizes[0].flops if len(sizes) == 1 and not flops % sizes[0].flops else None


def _count(sizes: list[Matmul], flops: int, written_bytes: int) -> int | None:
    """Return how many instructions of one or two sizes have these FLOPs and write these bytes."""
    if len(sizes) != 2:
        return _one_size(sizes, flops)
    first, second = sizes
    determinant = first.flops * second.written_bytes - second.flops * first.written_bytes
    if not determinant:
        return None
    counts = (
        Fraction(flops * second.written_bytes - second.flops * written_bytes, determinant),
        Fraction(first.flops * written_bytes - flops * first.written_bytes, determinant),
    )
    return int(sum(counts)) if all(count >= 0 and count.denominator == 1 for count in counts) else None


def _megabytes(ours: float, theirs: float) -> str:
    error = f"{ours / theirs - 1:+.1%}" if theirs else "none published" if ours else "equal"
    return f"{ours / 1e6:.1f} / {theirs / 1e6:.1f} ({error})"


def _program(checkout: Path, path: str) -> Program:
    """Return what we make of a kernel for trn1, at the shapes of its benchmark."""
    from neff_bench.simulator.nki.install import install
    from neff_bench.simulator.nki.spec import InputSpec
    from neff_bench.simulator.nki.trace import Call, record

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
    return record(Call(kernel, "kernel", inputs, numbers), "trn1", 1, fits=False)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
