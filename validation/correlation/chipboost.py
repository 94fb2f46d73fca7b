"""Start and expert kernels of a search in yahavb/trainium-agent-labs (03-chipboost): trn2, current dialect, bfloat16.

Products, a row-wise RMS norm and a copy at shapes of Qwen3-8B, timed on the device by the search's referee, to a tenth of a microsecond. It launches
without a grid on a logical core of two, one of which is idle; rows are LNC 1, but for the product that is split between both. Times are in
results_p2.json (43ea065), results_heldout_matmul.json (7a6bbd4), whose shapes are M x K x N, and P2_STATUS.md (0340b5f) for the split one. Versions of a
kernel's file differ in comments and the function's name alone. What the search found is left out: the files lack the sizes of its blocks. The
repository has no snapshot that could be cloned: the checkout needs the kernels' files alone, at their paths.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from neff_bench.simulator.program import Program
from validation.correlation.measured import Measured
from validation.correlation.origin import built, present

REPOSITORY = "yahavb/trainium-agent-labs"
_FOLDER = "projects/03-chipboost/kernels"
_PRODUCT = "nki_matmul_tiled_"
START_US = (691.7, 268.8)
"""Of the product that the search begins with, for the two shapes that it is judged by."""


class Kernel(NamedTuple):
    """file: without `.py`. commit: of the file with the time."""

    family: str
    file: str
    function: str
    commit: str
    inputs: dict[str, tuple[int, int]]
    us: float
    lnc: int = 1


def _product(file: str, commit: str, m: int, k: int, n: int, us: float, lnc: int = 1) -> Kernel:
    family = "tiled_matmul" if file == "matmul_start" else "capped_matmul"
    return Kernel(family, file, _PRODUCT, commit, {"lhsT": (k, m), "rhs": (k, n)}, us, lnc)


_HELD_OUT = (
    (256, 6144, 4096),
    (256, 2048, 4096),
    (512, 4096, 2048),
    (128, 4096, 6144),
    (640, 1280, 2560),
    (1024, 4096, 512),
)
"""M, K, N."""


def _held_out(file: str, *times: float | None) -> Iterator[Kernel]:
    for shape, us in zip(_HELD_OUT, times, strict=True):
        if us is not None:
            yield _product(file, "7a6bbd4", *shape, us)


def _rows(file: str, function: str, rows: int, width: int, us: float) -> Kernel:
    family, inputs = "row_copy", {"x": (rows, width)}
    if file == "rmsnorm_start":
        family, inputs = "row_rmsnorm", {"x": (rows, width), "w": (1, width)}
    return Kernel(family, file, function, "43ea065", inputs, us)


KERNELS = (
    _product("matmul_start", "43ea065", 256, 4096, 6144, START_US[0]), _product("matmul_start", "43ea065", 256, 4096, 2048, START_US[1]),
    *_held_out("matmul_start", 770.5, 230.7, 523.1, 353.8, 156.6, 243.8),
    _product("matmul_expert", "43ea065", 256, 4096, 6144, 280.4), _product("matmul_expert", "43ea065", 256, 4096, 2048, 104.7),
    *_held_out("matmul_expert", 272.9, 111.2, 138.1, 277.5, 99.9, 79.9),
    *_held_out("matmul_expert_aws", None, 108.8, 137.8, 276.3, 98.8, 82.5),
    _product("matmul_expert_lnc2", "0340b5f", 256, 4096, 6144, 206.5), _product("matmul_expert_lnc2", "0340b5f", 256, 4096, 2048, 81.8),
    _product("matmul_expert_lnc2", "0340b5f", 256, 4096, 6144, 131.9, 2), _product("matmul_expert_lnc2", "0340b5f", 256, 4096, 2048, 60.2, 2),
    _rows("rmsnorm_start", "qwen3_rmsnorm", 256, 4096, 46.8), _rows("rmsnorm_start", "qwen3_rmsnorm", 4096, 128, 67.2),
    _rows("copy_tiled", "copy_floor", 256, 4096, 20.5), _rows("copy_tiled", "copy_floor", 4096, 128, 51.6),
)  # fmt: skip
"""The first held-out shape has no time of `matmul_expert_aws`, whose result the referee refused."""


def kernels(checkouts: Path) -> Iterator[Measured]:
    """Yield a row for each. Raises FileNotFoundError where the checkout lacks a kernel's file."""
    folder = checkouts / REPOSITORY / _FOLDER
    for one in KERNELS:
        kernel = present(folder / f"{one.file}.py")
        shapes = ", ".join("x".join(map(str, shape)) for shape in one.inputs.values())
        task = f"{'matmul' if one.function == _PRODUCT else one.family} {shapes} LNC {one.lnc}"
        yield Measured(
            REPOSITORY, one.commit, one.family, task, f"{one.file} {shapes} LNC {one.lnc}", "trn2", one.lnc, "nki", one.us,
            partial(recorded, kernel, one), variants=True,
        )  # fmt: skip


def recorded(kernel: Path, one: Kernel) -> Program:
    """Return the kernel as the referee calls it."""
    return built(f"{kernel}:{one.function}", one.inputs, "bfloat16", lnc=one.lnc)
