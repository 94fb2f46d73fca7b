"""Products that models wrote, and the tutorial's products, measured by yahavb/trainium-agent-labs: trn2, LNC 1, current dialect.

Three bfloat16 products of 03-chipboost, written for its referee. It tells the median of the sum of two shapes to a tenth of a microsecond and, to three
places, how often each shape's time goes into that of the start kernel, which validation/correlation/chipboost.py has: a row is the quotient of the two, and the
two rows of a kernel add up to the told sum within 0.1%. Of two or three repeats the first stands. Hashes of the files are in the results.

Four float32 products of the tutorial in aws-neuron/nki-samples, 2048 on each side: median `total_time` of three profiles
(skywalker-kernel-settings-loop, tutorial_matmul_sweep_2048.json), with the shares of it in which the tensor engine and DMA were active. The bytes and
transfers told there are those of this version's loops: 96 transfers of 64 MiB for the last product; of the first the compiler left half of the
left side's loads out.

That repository has no snapshot that could be cloned: the checkout needs the three kernels' files alone, at their paths.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from neff_bench.simulator.program import Program
from validation.correlation.chipboost import REPOSITORY, START_US
from validation.correlation.measured import Measured
from validation.correlation.origin import built, data, placed, present

_FOLDER = "projects/03-chipboost/experiments/astra-trial"
_SHAPES = ((4096, 256, 6144), (4096, 256, 2048))
"""K, M, N."""
_TUTORIAL = ("aws-neuron/nki-samples", "6905a68")
_TUTORIAL_FILE = "src/nki_samples/tutorials/matrix_multiplication/matrix_multiplication_nki_kernels.py"
_SIDE = 2048


class Written(NamedTuple):
    """sum_us: of both shapes. faster: than the start kernel, for each shape. commit: of the results."""

    file: str
    commit: str
    sum_us: float
    faster: tuple[float, float]


class Step(NamedTuple):
    """A product of the tutorial. tensor, dma: shares of the time in which they were active."""

    name: str
    us: float
    tensor: float
    dma: float


WRITTEN = (
    Written("candidate_a", "b93f3c4", 632.9, (1.540, 1.461)),
    Written("candidate_b", "b93f3c4", 798.3, (1.213, 1.178)),
    Written("candidate_c", "9230935", 375.8, (2.605, 2.431)),
)
STEPS = (
    Step("tiled", 1258.611, 0.80551, 0.90738),
    Step("hoist_load", 1093.233, 0.87294, 0.92392),
    Step("block_free_dimension", 1019.573, 0.90551, 0.62326),
    Step("fully_optimized", 905.761, 0.97455, 0.21679),
)


def written(checkouts: Path) -> Iterator[Measured]:
    """Yield two rows for each product that a model wrote. Raises FileNotFoundError where the checkout lacks its file."""
    for one in WRITTEN:
        kernel = present(checkouts / REPOSITORY / _FOLDER / f"{one.file}.py")
        for shape, start_us, faster in zip(_SHAPES, START_US, one.faster, strict=True):
            name = f"KxMxN {'x'.join(map(str, shape))}"
            yield Measured(
                REPOSITORY, one.commit, "written_matmul", f"written_matmul {name}", f"{one.file} {name}", "trn2", 1, "nki",
                start_us / faster, partial(recorded, f"{kernel}:nki_matmul_tiled_", shape, "bfloat16"), variants=True, new=True,
            )  # fmt: skip


def steps(checkouts: Path) -> Iterator[Measured]:
    """Yield a row for each product of the tutorial."""
    kernel = placed(data(checkouts / _TUTORIAL[0], _TUTORIAL[1], _TUTORIAL_FILE), "matrix_multiplication.py")
    for one in STEPS:
        program = partial(recorded, f"{kernel}:nki_matmul_{one.name}_", (_SIDE,) * 3, "float32")
        yield Measured(
            REPOSITORY, "3704662", "step_matmul", "step_matmul", f"{one.name} {_SIDE}", "trn2", 1, "nki", one.us, program,
            {"tensor": one.us * one.tensor, "dma": one.us * one.dma}, variants=True, new=True,
        )  # fmt: skip


def recorded(entry: str, shape: tuple[int, int, int], dtype: str) -> Program:
    """Return a product. entry: file and function. shape: K, M, N."""
    k, m, n = shape
    return built(entry, {"lhsT": (k, m), "rhs": (k, n)}, dtype)
