"""Kernels of zhang677/AccelOpt and ucb-bar/autocomp, run unchanged by Joejoedesu/voyager-compiler: trn2, LNC 1, old dialect, float32.

A compiler's documents compare its own kernels, which are not public, with these. Its script names their files, puts imports before autocomp's and
keeps the median of three 50th percentiles of `nki.benchmark` on the NeuronCore, compiled with `--target=trn2 --lnc=1` alone: unlike
in other measurements of the NKIBench kernels, descriptors may be dynamic. The commits of the two repositories are not told; each of the files has
one version with the function that the script calls. Shapes are those in NKIBench's names, the 4096 x 8192 that is told of the normalisation,
and 4096 x 4096 for the pool, of which the documents tell outputs in 46 tiles of 89 x 4094 and the bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from neff_bench.doors.estimation import record_kernel
from neff_bench.simulator.nki.install import install
from neff_bench.simulator.program import Program
from validation.correlation import autocomp, nkibench
from validation.correlation.measured import Measured
from validation.correlation.origin import data, placed, present, silenced
from validation.wild.cases.autocomp import OLD

SOURCE = ("Joejoedesu/voyager-compiler", "9de0f53")

TASKS_US = {"swiglu": 4082.0, "bmm_softmax": 14591.0, "add_rmsnorm_matmul": 4114.0, "matmul_add_rmsnorm": 8466.0}
"""NKIBench's own kernels, whose families are test rows in every repository."""


class Solution(NamedTuple):
    """file: in autocomp's `sols`. inputs: shapes, in the order of the parameters. numbers: further arguments."""

    file: str
    inputs: dict[str, tuple[int, ...]]
    numbers: dict[str, Any]
    us: float


SOLUTIONS = {
    "maxpool": Solution("trn-advanced-nki1/2_maxpool_ref.py", {"in_tensor": (4096, 4096)}, {"pool_size": 3}, 1358.0),
    "layernorm": Solution(
        "trn-tutorial-nki1/1_layernorm_ref.py",
        {"input_tensor": (4096, 8192), "gamma_vector": (8192,), "beta_vector": (8192,)},
        {"epsilon": 1e-5},
        1728.0,
    ),
}


def kernels(checkouts: Path) -> Iterator[Measured]:
    """Yield a row for each."""
    for name, us in TASKS_US.items():
        tasks, stem = checkouts / nkibench.TASKS[0], nkibench.STEMS[name]
        path = present(tasks / "NKIBench" / "kernels" / f"{stem}_0.py")
        yield _row(name, f"{stem}_0", us, partial(_task, path, tasks, stem))
    for name, solution in SOLUTIONS.items():
        source = data(checkouts / autocomp.SOURCE[0], autocomp.SOURCE[1], f"sols/{solution.file}").decode()
        yield _row(f"replayed_{name}", solution.file, solution.us, partial(recorded, source, solution))


def _row(family: str, kernel: str, us: float, program: Any) -> Measured:
    return Measured(*SOURCE, family, f"replayed {family}", kernel, "trn2", 1, "beta", us, program)


def _task(path: Path, tasks: Path, stem: str) -> Program:
    with silenced():
        return nkibench.traced(path, tasks, stem, "trn2")


def recorded(source: str, solution: Solution) -> Program:
    """Return a kernel of autocomp after the imports that it lacks."""
    install()
    inputs: dict[str, Any] = {name: (shape, "float32") for name, shape in solution.inputs.items()}
    path = placed(f"{OLD}\n{source}", Path(solution.file).name)
    with silenced():
        return record_kernel(f"{path}:solution", inputs, "trn2", 1, dict(solution.numbers))
