"""Compiles with the embedded toolchain, as a command: `neuron-sim compile`."""

from __future__ import annotations

import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import orjson

from neff_bench.parsers.formats.neff import plain_name
from neff_bench.parsers.neff import read_neff
from neff_bench.stage1_generate.errors import BuildError
from neff_bench.stage1_generate.kernel import Tensor
from neff_bench.stage1_generate.toolchains import hlo
from neff_bench.stage1_generate.toolchains.compiled import Compiled, Request
from neff_bench.stage1_generate.toolchains.compiler_process import python_environment, run

NKI_NEFF = "file.neff"
SPEC = Path("kernel.json")
"""What the NKI route compiles; it stays in the bundle, so that the command of `command.txt` can be run again there."""
_SIMULATOR = [sys.executable, "-m", "neff_bench.simulator"]


def compile(request: Request) -> Compiled:
    """Compile in the current directory. Raises `BuildError` with the simulator's own line."""
    if request.route == "isa":
        raise BuildError("the simulated toolchain has no closed kernels of neuronx-cc")
    if request.route == "xla":
        hlo.trace(request)
        return _compile("XLA", str(hlo.GRAPH), hlo.NEFF, request)
    spec = {**request.spec(), "outputs": [t.name for t in request.outputs or ()], "ranks": request.ranks}
    SPEC.write_bytes(orjson.dumps(spec, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    return _compile("NKI", str(SPEC), NKI_NEFF, request)


def _compile(framework: str, source: str, neff: str, request: Request) -> Compiled:
    words = ["compile", "--framework", framework, source]
    words += ["--target", request.target, "--lnc", str(request.lnc), "--output", neff, *request.flags]
    words += ["--verbose=info"] if request.verbose else []
    command = ("neuron-sim", *words)
    hlo.write_command(command)
    time_s = run([*_SIMULATOR, *words], python_environment())
    if not Path(neff).is_file():
        raise BuildError(f"neuron-sim compile ended well but wrote no {neff}")
    return Compiled(neff, "neuron-sim compile", time_s, command)


def recorded_outputs(request: Request) -> tuple[Tensor, ...]:
    """Return what the kernel writes, in the order of its results. Raises `BuildError`, which says what to declare."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="neff-bench-") as folder:
        os.chdir(folder)
        try:
            neff = read_neff(Path(compile(replace(request, flags=())).neff))
        except BuildError as error:
            raise BuildError(
                f"the SDK does not say what the kernel's outputs are, and neuron-sim cannot run it to see ({error}); declare "
                "them under `outputs:`"
            ) from None
        finally:
            os.chdir(before)
    return tuple(Tensor(plain_name(tensor.name), tensor.shape, tensor.dtype) for tensor in neff.outputs)
