"""nki-library's recorded baselines of `rmsnorm_tkg`, which its release 2.28 has and later ones lack: `tpbSgCyclesSum`, in picoseconds, trn2,
LNC 2. Studied rows.

Each figure stands once: those of `layernorm_tkg` in that release and those with `hidden_dim_tp` are the same numbers again. Those with LNC 1
are left out, since the list of layernorm calls the same numbers trn1's.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from neff_bench.simulator.nki.load import trace_kernel
from neff_bench.simulator.nki.spec import InputSpec, KernelSpec
from neff_bench.simulator.program import Program
from validation.correlation.measured import Measured
from validation.correlation.origin import data, silenced, tree

SOURCE = ("aws-neuron/nki-library", "181b205a45d08f60d07123d674b35782f72a04bc")
_TEST = "test/integration/nkilib/core/subkernels/test_rmsnorm_tkg.py"
_ENTRY = "nkilib_src.nkilib.core.subkernels.rmsnorm_tkg:rmsnorm_tkg"

BASELINES = (
    (1, 1, 5120, None, 21691633),
    (1, 1, 8192, None, 21884966),
    (2, 8, 8192, None, 28388289),
    (4, 8, 8192, None, 27588290),
    (128, 1, 8192, None, 49899089),
    (4, 1, 5120, None, 22559132),
    (128, 5, 3072, None, 128576466),
    (256, 5, 3072, None, 246268782),
    (63, 32, 3072, None, 369565256),
    (1, 1, 4096, 3072, 20479968),
    (2, 8, 16384, None, 35641611),
    (2, 8, 3072, 2880, 26030793),
)
"""Batch, tokens, width, width without its padding, picoseconds; float16. The first of 16384 has the figure of 8192."""


def library(checkouts: Path) -> tuple[str, str]:
    """Return where this release's modules are imported from."""
    source = tree(checkouts / SOURCE[0], SOURCE[1], "src")
    return str(source), str(source / "nkilib_src")


def rmsnorm(checkouts: Path) -> Iterator[Measured]:
    """Yield a row for each baseline."""
    data(checkouts / SOURCE[0], SOURCE[1], _TEST)
    for batch, tokens, width, actual, picoseconds in BASELINES:
        name = f"b{batch} s{tokens} h{width}{f' of which {actual}' if actual else ''} LNC 2"
        program = partial(recorded, checkouts, batch, tokens, width, actual)
        yield Measured(*SOURCE, "rmsnorm_tkg", "rmsnorm_tkg LNC 2", name, "trn2", 2, "nki", picoseconds * 1e-6, program)


def recorded(checkouts: Path, batch: int, tokens: int, width: int, actual: int | None) -> Program:
    """Return the kernel as its test calls it: what it writes is an argument."""
    shapes = {
        "input": (batch, tokens, width),
        "gamma": (1, width),
        "output": (128, batch * tokens, width // 128),
    }
    inputs = tuple(InputSpec(name, shape, "float16") for name, shape in shapes.items())
    spec = KernelSpec(_ENTRY, inputs, library(checkouts), {"hidden_actual": actual, "hidden_dim_tp": False})
    with silenced():
        return trace_kernel(spec, "trn2", 2)
