"""Finds the outputs of a kernel that declares none, where neither NKI nor the NEFF says what they are: neuron-sim runs it and tells."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path

from neff_bench.parsers.formats.neff import plain_name
from neff_bench.parsers.neff import read_neff
from neff_bench.stage1_generate.errors import BuildError
from neff_bench.stage1_generate.kernel import Tensor
from neff_bench.stage1_generate.toolchains.compiled import Request
from neff_bench.stage1_generate.toolchains.sim.compile import compile as compile_simulated


def recorded_outputs(request: Request) -> tuple[Tensor, ...]:
    """Return what the kernel writes, in the order of its results. Raises `BuildError`, which says what to declare."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="neff-bench-") as folder:
        os.chdir(folder)
        try:
            neff = read_neff(Path(compile_simulated(replace(request, flags=())).neff))
        except BuildError as error:
            raise BuildError(
                f"the SDK does not say what the kernel's outputs are, and neuron-sim cannot run it to see ({error}); declare "
                "them under `outputs:`"
            ) from None
        finally:
            os.chdir(before)
    return tuple(Tensor(plain_name(tensor.name), tensor.shape, tensor.dtype) for tensor in neff.outputs)
