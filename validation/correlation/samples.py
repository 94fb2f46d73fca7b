"""Adaptive average pooling and attention with allocated buffers of aws-neuron/nki-samples: trn1, LNC 1, old dialect.

Each has a performance test with a latency in whole microseconds for each shape, below which a percentile of `nki.benchmark` on the NeuronCore has to
stay with 5% of slack: the 99th for pooling, the 50th for attention. Those figures are the rows. Later commits give one shape of each a larger one,
since its time varied: 65 for 56, 380 for 350. Other tests have round bounds of no measurement. The tests name no chip: it is trn1 by a later
commit, which marks what trn1 lacks as failing where the tests run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from neff_bench.doors.estimation import record_kernel
from neff_bench.simulator.compiler.code.descriptors import made_at_compile_time
from neff_bench.simulator.nki.install import install
from neff_bench.simulator.program import Program
from validation.correlation.measured import Measured
from validation.correlation.origin import data, placed, silenced
from validation.wild.loading import replace_host_packages

REPOSITORY = "aws-neuron/nki-samples"
_FOLDER = "src/nki_samples/reference"


class Kernel(NamedTuple):
    """file: without `.py`. dtype: of all inputs."""

    family: str
    commit: str
    file: str
    function: str
    inputs: Mapping[str, tuple[int, ...]]
    dtype: str
    us: float
    arguments: Mapping[str, Any] = {}

    @property
    def name(self) -> str:
        """Shape of the first input, what else is given, and the dtype."""
        shape = "x".join(map(str, next(iter(self.inputs.values()))))
        return " ".join((shape, *(f"{key} {value}" for key, value in self.arguments.items()), self.dtype))


def _pool(shape: tuple[int, ...], output: int | tuple[int, int], us: float, dtype: str = "float32") -> Kernel:
    """shape: batch, channels, height, width. output: height and width, one number for both."""
    inputs, arguments = {"in_tensor": shape}, {"output_size": output}
    return Kernel("adaptive_pool", "b3c5c8d", "vision", "adaptive_avg_pool2d_kernel", inputs, dtype, us, arguments)


def _attention(length: int, dtype: str, us: float) -> Kernel:
    inputs = {"q_ref": (1, 128, length), "k_ref": (1, 128, length), "v_ref": (1, length, 128)}
    function = "allocated_fused_self_attn_for_SD_small_head_size"
    return Kernel("allocated_attention", "05c0769", "allocated_attention", function, inputs, dtype, us)


KERNELS = (
    _pool((1, 64, 56, 56), 7, 56), _pool((2, 128, 28, 28), 7, 109), _pool((1, 256, 14, 14), 7, 88, "float16"),
    _pool((4, 64, 56, 56), (7, 7), 152), _pool((2, 128, 28, 28), (14, 14), 327), _pool((1, 512, 7, 7), 1, 14),
    _pool((8, 64, 32, 32), (4, 4), 103, "float16"), _pool((2, 2048, 32, 32), (3, 3), 564), _pool((2, 64, 256, 256), 1, 255),
    _attention(4096, "float32", 410), _attention(4096, "bfloat16", 350), _attention(5120, "bfloat16", 586),
)  # fmt: skip


def kernels(checkouts: Path) -> Iterator[Measured]:
    """Yield a row for each."""
    for one in KERNELS:
        source = data(checkouts / REPOSITORY, one.commit, f"{_FOLDER}/{one.file}.py").decode()
        task = f"{one.family} {one.name}"
        program = partial(recorded, source, one)
        yield Measured(REPOSITORY, one.commit, one.family, task, one.name, "trn1", 1, "beta", one.us, program)


def recorded(source: str, one: Kernel) -> Program:
    """Return the kernel as its test calls it; descriptors are static, as in all traces of trn1."""
    install()
    replace_host_packages()
    inputs: dict[str, Any] = {name: (shape, one.dtype) for name, shape in one.inputs.items()}
    path = placed(source, f"{one.file}.py")
    with silenced():
        program = record_kernel(f"{path}:{one.function}", inputs, "trn1", 1, dict(one.arguments))
    return made_at_compile_time(program)
