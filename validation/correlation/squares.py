"""Square products with three widths of tiles, from Lonny154/Matmul-Inspector: trn1, LNC 1, current dialect (NKI 0.6.0).

A row is the 50th percentile of `neuron-bench` on the NeuronCore in whole microseconds over 200 runs, or the mean of such percentiles of five repeats
(trainium1_nki_gemm_case_study.md); active times, where told, are of a neuron-explorer capture of the same executable. The capture's own
`total_exec_time` is 6 to 8 us shorter. The result is float32 for both dtypes. Scripts of a 1024-sided product tell no times. The repository has no
snapshot that could be cloned: the checkout needs the kernels' files alone, at their paths.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from neff_bench.simulator.compiler.code.descriptors import made_at_compile_time
from neff_bench.simulator.program import Program
from validation.correlation.measured import Measured
from validation.correlation.origin import built, present

SOURCE = ("Lonny154/Matmul-Inspector", "7f8c0bf")


class Square(NamedTuple):
    """file: in `scripts`, without `.py`. active_us: by engine and "dma"."""

    file: str
    function: str
    side: int
    dtype: str
    us: float
    active_us: Mapping[str, float] = {}


def _square(file: str, side: int, dtype: str, us: float, tensor: float = 0.0, dma: float = 0.0) -> Square:
    function = "tiled_matmul_v2" if file.endswith("v2") else "tiled_matmul_kernel"
    return Square(file, function, side, dtype, us, {"tensor": tensor, "dma": dma} if tensor else {})


SQUARES = (
    _square("nki_tiled_matmul", 256, "float32", 16.0, 3.27, 6.14),
    _square("nki_tiled_matmul", 512, "float32", 40.2, 17.07, 28.80),
    _square("nki_tiled_matmul_v2", 512, "float32", 40.0),
    _square("nki_tiled_matmul", 512, "bfloat16", 38.0, 7.79, 22.68),
    _square("nki_tiled_matmul_bf16_256", 512, "bfloat16", 29.0),
    _square("nki_tiled_matmul_bf16_512", 512, "float32", 28.0, 14.37, 17.47),
    _square("nki_tiled_matmul_bf16_512", 512, "bfloat16", 25.0, 5.85, 14.91),
)


def kernels(checkouts: Path) -> Iterator[Measured]:
    """Yield a row for each. Raises FileNotFoundError where the checkout lacks a kernel's file."""
    for one in SQUARES:
        kernel = present(checkouts / SOURCE[0] / "scripts" / f"{one.file}.py")
        task = f"square_matmul {one.side} {one.dtype}"
        yield Measured(
            *SOURCE, "square_matmul", task, f"{one.file} {one.side} {one.dtype}", "trn1", 1, "nki", one.us,
            partial(recorded, kernel, one), one.active_us, variants=True, new=True,
        )  # fmt: skip


def recorded(kernel: Path, one: Square) -> Program:
    """Return the kernel as its script calls it; descriptors are static, as in all traces of trn1."""
    inputs = dict.fromkeys(("a_t", "b"), (one.side, one.side))
    return made_at_compile_time(built(f"{kernel}:{one.function}", inputs, one.dtype, "trn1"))
