"""Compile one kernel with the SDK, by its route: NKI, XLA, or a closed kernel of neuronx-cc.

No device is touched: the target is named, not looked for.
"""

from __future__ import annotations

import os
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from neff_bench.chips import CHIPS
from neff_bench.neffs.dtypes import numpy_dtype
from neff_bench.stage1_generate.errors import BuildError
from neff_bench.stage1_generate.toolchains import hlo
from neff_bench.stage1_generate.toolchains.command import run
from neff_bench.stage1_generate.toolchains.compiled import Compiled, Request
from neff_bench.stage1_generate.toolchains.neuron import interfaces, torch_trace
from neff_bench.stage1_generate.toolchains.neuron.sdk import arguments, resolve, versions

NKI_NEFF = "file.neff"


def compile(request: Request) -> Compiled:
    """Compile in the current directory. Raises `BuildError`; what the compiler itself raises comes through."""
    # NKI reads the target when it is imported; without this it would ask the device.
    os.environ["NEURON_PLATFORM_TARGET_OVERRIDE"] = request.target
    if request.route == "isa":
        return torch_trace.compile_isa(request)
    if request.route == "nki":
        return _compile_nki(request)
    if find_spec("jax") is not None:
        return _compile_xla(request)
    return torch_trace.compile_xla(request)


def _compile_nki(request: Request) -> Compiled:
    import numpy as np

    sys.path[:0] = [path for path in request.paths if path not in sys.path]
    name, compile_with = interfaces.choose()
    kernel = resolve(request.entry)
    tensors = {tensor.name: np.zeros(tensor.shape, numpy_dtype(tensor.dtype)) for tensor in request.inputs}
    scalars = {key: _value(value) for key, value in request.arguments.items()}
    outputs = None
    if request.outputs is not None:
        outputs = tuple(
            SimpleNamespace(name=tensor.name, shape=tensor.shape, dtype=numpy_dtype(tensor.dtype))
            for tensor in request.outputs
        )
    neff = Path(NKI_NEFF).absolute()
    work = interfaces.Work(
        kernel, {**tensors, **scalars}, outputs, request.target, request.lnc, str(neff), arguments(request)
    )
    start = time.perf_counter()
    compile_with(work)
    time_s = time.perf_counter() - start
    if not neff.is_file():
        raise BuildError(f"{name} ended without an error but wrote no {NKI_NEFF}")
    return Compiled(NKI_NEFF, name, time_s, versions=versions())


def _compile_xla(request: Request) -> Compiled:
    hlo.trace(request)
    words = ["neuronx-cc", "compile", "--framework", "XLA", str(hlo.GRAPH), "--target", request.target]
    words += ["--output", hlo.NEFF]
    if CHIPS[request.target].max_lnc > 1:  # older targets do not know the flag
        words += ["--lnc", str(request.lnc)]
    words += arguments(request)
    hlo.write_command(words)
    finished = run(words)
    if not Path(hlo.NEFF).is_file():
        raise BuildError(f"neuronx-cc ended well but wrote no {hlo.NEFF}")
    return Compiled(hlo.NEFF, "neuronx-cc compile", finished.time_s, tuple(words), versions())


def _value(value: Any) -> Any:
    return resolve(value["ref"]) if isinstance(value, dict) and set(value) == {"ref"} else value
