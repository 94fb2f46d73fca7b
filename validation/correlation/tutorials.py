"""AWS's tutorials of NKI as the documentation first had them (Neuron 2.20, September 2024): old dialect, LNC 1. Studied rows.

The files of kernels of that commit are those that were measured: since then they have been rewritten. Matrix products and layer normalisations
were measured on trn1, as the pages say. The page on Mamba names no chip; NKI knew NeuronCore-v2 alone at that time, so its rows
are trn1's. Products and normalisations have percentiles of `nki.benchmark` on the NeuronCore (99th and 50th), Mamba the device
time of a profile or of its last table, whose figures are tenths of a millisecond. Shapes are those of the pages and the kernels' scripts. For layer
normalisation the page says 300 x 1000, whose sixth of a millisecond of loads and stores is far below its 2 ms: the rows have the
4096 x 8192 that its script takes when it is given none, which ucb-bar/autocomp has for the same kernel and nearly the same time.
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
from validation.correlation.origin import data, placed
from validation.wild.loading import replace_host_packages

SOURCE = ("aws-neuron/aws-neuron-sdk", "72825d50")
_EXAMPLES = "general/nki/examples/"
_TIMES = "general/nki/tutorials/"


class Kernel(NamedTuple):
    """file: in the examples. inputs: shapes and one dtype of all arguments, those that the kernel writes among them. numbers: further
    arguments. us: measured."""

    family: str
    file: str
    function: str
    inputs: Mapping[str, tuple[int, ...]]
    dtype: str
    us: float
    numbers: Mapping[str, float] = {}

    @property
    def name(self) -> str:
        """The function and the shape of its first argument."""
        return f"{self.function} {'x'.join(map(str, next(iter(self.inputs.values()))))}"


def _product(name: str, ms: float) -> Kernel:
    inputs = {"lhsT": (8192, 4096), "rhs": (8192, 8192), "result": (4096, 8192)}
    file = "matrix_multiplication/matrix_multiplication_nki_kernels.py"
    return Kernel("first_tutorial_matmul", file, f"nki_matmul_{name}_", inputs, "bfloat16", ms * 1e3)


def _normalisation(version: int, us: float) -> Kernel:
    inputs = {
        "input_tensor": (4096, 8192),
        "gamma_vector": (8192,),
        "beta_vector": (8192,),
        "output_tensor": (4096, 8192),
    }
    file, function = "layernorm/layernorm_nki_kernel.py", f"nki_layernorm_kernel_v{version}"
    return Kernel("first_tutorial_layernorm", file, function, inputs, "float32", us, {"epsilon": 1e-5})


def _mamba(version: int, length: int, channels: int, ms: float) -> Kernel:
    """Return one sequence of this length, 16 states."""
    inputs = {
        **dict.fromkeys(("delta", "u"), (1, channels, length)),
        "A": (channels, 16),
        **dict.fromkeys("BC", (1, 16, length)),
        "output": (1, channels, length),
    }
    file = "fused_mamba/mamba_nki_kernels.py"
    return Kernel("first_tutorial_mamba", file, f"mamba_v{version}", inputs, "float32", ms * 1e3)


KERNELS = (
    _product("tiled", 51.80), _product("hoist_load", 42.96), _product("block_free_dimension", 22.07), _product("fully_optimized", 6.97),
    _normalisation(1, 2311.0), _normalisation(2, 1969.0),
    _mamba(1, 512, 256, 0.17293), _mamba(1, 512, 4096, 2.34), _mamba(2, 512, 4096, 1.61),
    *(_mamba(2, length, 4096, ms) for length, ms in (
        (1024, 4.4), (2048, 8.9), (3072, 13.1), (4096, 17.6), (5120, 23.7), (6144, 27.5), (7168, 41.3), (8192, 53.33),
    )),
    *(_mamba(3, length, 4096, ms) for length, ms in (
        (512, 1.6), (1024, 3.3), (2048, 6.6), (3072, 10.1), (4096, 13.3), (5120, 17.3), (6144, 19.6), (7168, 24.2), (8192, 27.8),
    )),
)  # fmt: skip
"""Where a page tells a time twice, the one with more digits (1.61 for 1.6, 53.33 beside the table's 52.2)."""


def kernels(checkouts: Path) -> Iterator[Measured]:
    """Yield a row for each."""
    for one in KERNELS:
        source = data(checkouts / SOURCE[0], SOURCE[1], _EXAMPLES + one.file).decode()
        # Variants do the same work: on equal shapes.
        task = f"{one.family} {next(iter(one.inputs.values()))} trn1"
        program = partial(recorded, source, one)
        yield Measured(*SOURCE, one.family, task, one.name, "trn1", 1, "beta", one.us, program, variants=True)


def recorded(source: str, one: Kernel) -> Program:
    """Return the kernel of that commit, decorated as later releases ask for it; descriptors are static, as in all traces of trn1."""
    install()
    replace_host_packages()
    source = source.replace(f"\ndef {one.function}(", f"\n@nki.jit\ndef {one.function}(")
    inputs: dict[str, Any] = {name: (shape, one.dtype) for name, shape in one.inputs.items()}
    path = placed(source, Path(one.file).name)
    return made_at_compile_time(record_kernel(f"{path}:{one.function}", inputs, "trn1", 1, dict(one.numbers)))
