"""Compiles through `torch_neuronx.trace`, where jax is not installed and for the closed kernels of neuronx-cc.

It compiles for the named target and keeps `graph.neff`, `command.txt` and `model/` in the work directory (AWS Neuron documentation).
"""

from __future__ import annotations

import inspect
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from neff_bench.chips import CHIPS
from neff_bench.stage1_generate.errors import BuildError
from neff_bench.stage1_generate.toolchains import hlo
from neff_bench.stage1_generate.toolchains.compiled import Compiled, Request
from neff_bench.stage1_generate.toolchains.neuron.sdk import arguments, resolve, versions

_WORK = Path("trace")


def compile_xla(request: Request) -> Compiled:
    """Return the torch twin of the jax function: `..._xla:name` -> `..._torch:name`."""
    function = resolve(request.entry.replace("_xla:", "_torch:"))
    return _trace(function, request)


def compile_isa(request: Request) -> Compiled:
    """Return a closed kernel: positional inputs, then the output, which it fills."""
    kernel = resolve("torch_neuronx.xla_impl.ops:nki_jit")()(resolve(request.entry))
    launched = kernel[(resolve("neuronxcc.nki.language:nc")(request.lnc),)] if request.lnc > 1 else kernel

    def call(*inputs: Any) -> Any:
        import torch

        (output,) = request.outputs or ()
        result = torch.zeros(output.shape, dtype=inputs[0].dtype, device=inputs[0].device)
        launched(*inputs, result, **request.arguments)
        return result

    return _trace(call, request)


def _trace(function: Callable[..., Any], request: Request) -> Compiled:
    trace = resolve("torch_neuronx:trace")
    import torch

    inputs = tuple(torch.zeros(tensor.shape, dtype=getattr(torch, tensor.dtype)) for tensor in request.inputs)
    compiler = ["--target", request.target]
    if CHIPS[request.target].max_lnc > 1:
        compiler += ["--lnc", str(request.lnc)]
    compiler += arguments(request)
    options: dict[str, Any] = {"compiler_workdir": str(_WORK.absolute()), "compiler_args": compiler}
    if "cpu_backend" in inspect.signature(trace).parameters:
        options["cpu_backend"] = True
    start = time.perf_counter()
    trace(function, inputs, **options)
    time_s = time.perf_counter() - start
    neffs = sorted(_WORK.rglob("*.neff"))
    if len(neffs) != 1:
        raise BuildError(f"torch_neuronx.trace left {len(neffs)} NEFFs instead of one")
    shutil.move(neffs[0], hlo.NEFF)
    for name in ("command.txt", "model"):
        if (_WORK / name).exists():
            shutil.move(_WORK / name, name)
    command = Path("command.txt").read_text(encoding="utf-8").split() if Path("command.txt").is_file() else []
    return Compiled(hlo.NEFF, "torch_neuronx.trace", time_s, tuple(command), versions())
