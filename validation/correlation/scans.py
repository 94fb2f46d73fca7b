"""Selective scans of a pull request to aws-neuron/nki-library, in two versions: trn1, LNC 1, current dialect. Studied rows.

The message of the second commit has the latencies of both, one batch, 128 channels, 256 steps and 16 states, and their DMAs: 100 and 85, of 459,300
and 459,255 bytes. That is float32 with the optional D, whose 512 bytes are among them. A clone has the commits after
`git fetch origin pull/1/head`.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from neff_bench.simulator.compiler.code.descriptors import made_at_compile_time
from neff_bench.simulator.nki.load import trace_kernel
from neff_bench.simulator.nki.spec import InputSpec, KernelSpec
from neff_bench.simulator.program import Program
from validation.correlation.measured import Measured
from validation.correlation.origin import silenced, tree

REPOSITORY = "aws-neuron/nki-library"
_ENTRY = "nkilib_src.nkilib.experimental.scan.selective_scan:selective_scan"
_SHAPES = {
    "x": (1, 128, 256), "dt": (1, 128, 256), "A": (128, 16), "B": (1, 16, 256), "C": (1, 16, 256), "D": (128,),
}  # fmt: skip

VERSIONS_US = {"1660ab0": 129.5, "ebe57b2": 127.8}
"""By commit."""


def versions(checkouts: Path) -> Iterator[Measured]:
    """Yield a row for each."""
    for commit, us in VERSIONS_US.items():
        yield Measured(
            REPOSITORY, commit, "selective_scan", "selective_scan trn1", "b1 c128 l256 n16", "trn1", 1, "nki", us,
            partial(recorded, checkouts / REPOSITORY, commit), variants=True,
        )  # fmt: skip


def recorded(checkout: Path, commit: str) -> Program:
    """Return the kernel of that commit; descriptors are static, as in all traces of trn1."""
    source = tree(checkout, commit, "src")
    inputs = tuple(InputSpec(name, shape, "float32") for name, shape in _SHAPES.items())
    spec = KernelSpec(_ENTRY, inputs, (str(source), str(source / "nkilib_src")), {})
    with _own_modules(), silenced():
        return made_at_compile_time(trace_kernel(spec, "trn1", 1))


@contextlib.contextmanager
def _own_modules() -> Iterator[None]:
    """Make sure that no module of nki-library is known before, nor after: each commit has modules of the same names."""
    places = sys.path[:]
    _forget()
    try:
        yield
    finally:
        sys.path[:] = places
        _forget()


def _forget() -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] in ("nkilib", "nkilib_src")]:
        del sys.modules[name]
