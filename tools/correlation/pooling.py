"""Adaptive average pooling of aws-neuron/nki-samples: trn1, LNC 1, old dialect. New rows.

Its performance test has for each shape a latency in whole microseconds, below which the 99th percentile of `nki.benchmark` on the NeuronCore has to
stay with 5% of slack; those figures are the rows. Later commits give the first shape 65 for 56, since its time varied. The test names no chip: it is
trn1 by the next commits, which mark what trn1 lacks as failing where the tests run.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from neff_bench.doors.estimation import record_kernel
from neff_bench.simulator.compiler.descriptors import made_at_compile_time
from neff_bench.simulator.nki.install import install
from neff_bench.simulator.program import Program
from tools.correlation.measured import Measured
from tools.correlation.origin import data, placed, silenced
from tools.wild import replace_host_packages

SOURCE = ("aws-neuron/nki-samples", "b3c5c8d")
_KERNEL = "src/nki_samples/reference/vision.py"


class Pool(NamedTuple):
    """shape: batch, channels, height, width. output: height and width, one number for both."""

    shape: tuple[int, int, int, int]
    output: int | tuple[int, int]
    us: float
    dtype: str = "float32"


POOLS = (
    Pool((1, 64, 56, 56), 7, 56), Pool((2, 128, 28, 28), 7, 109), Pool((1, 256, 14, 14), 7, 88, "float16"),
    Pool((4, 64, 56, 56), (7, 7), 152), Pool((2, 128, 28, 28), (14, 14), 327), Pool((1, 512, 7, 7), 1, 14),
    Pool((8, 64, 32, 32), (4, 4), 103, "float16"), Pool((2, 2048, 32, 32), (3, 3), 564), Pool((2, 64, 256, 256), 1, 255),
)  # fmt: skip


def pools(checkouts: Path) -> Iterator[Measured]:
    """A row for each."""
    source = data(checkouts / SOURCE[0], SOURCE[1], _KERNEL).decode()
    for one in POOLS:
        name = f"{'x'.join(map(str, one.shape))} to {one.output} {one.dtype}"
        yield Measured(
            *SOURCE, "adaptive_pool", f"adaptive_pool {name}", name, "trn1", 1, "beta", one.us, partial(recorded, source, one), new=True,
        )  # fmt: skip


def recorded(source: str, one: Pool) -> Program:
    """The kernel as its test calls it; descriptors are static, as in all traces of trn1."""
    install()
    replace_host_packages()
    inputs = {"in_tensor": (one.shape, one.dtype)}
    path = placed(source, "vision.py")
    with silenced():
        program = record_kernel(f"{path}:adaptive_avg_pool2d_kernel", inputs, "trn1", 1, {"output_size": one.output})
    return made_at_compile_time(program)
