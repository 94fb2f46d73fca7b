"""Compiles one kernel with the SDK, by its route: NKI, XLA, or a closed kernel of neuronx-cc. The target is named, so no device is touched."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

from neff_bench.chips import CHIPS
from neff_bench.neffs.dtypes import numpy_dtype
from neff_bench.neffs.own import resolved
from neff_bench.sdk.environment import prepared
from neff_bench.sdk.release import Command, Release
from neff_bench.sdk.words import Asked, words
from neff_bench.stage1_generate.errors import BuildError
from neff_bench.stage1_generate.toolchains import hlo
from neff_bench.stage1_generate.toolchains.compiled import Compiled, Request
from neff_bench.stage1_generate.toolchains.compiler_process import run
from neff_bench.stage1_generate.toolchains.neuron import interfaces, torch_trace
from neff_bench.stage1_generate.toolchains.neuron.sdk import arguments, release, resolve, versions
from neff_bench.stage1_generate.toolchains.sim.compile import recorded_outputs

NKI_NEFF = "file.neff"
PLAIN_PATH = re.compile(r"[\w./+:@%,=-]*")
"""A path that a shell takes as one word as it stands."""


def compile(request: Request) -> Compiled:
    """Compile in the current directory. Raises `BuildError`; what the compiler itself raises comes through."""
    set_environment(request)
    if request.route == "isa":
        return torch_trace.compile_isa(request)
    if request.route == "nki":
        return _compile_nki(request)
    if find_spec("jax") is not None:
        return _compile_xla(request)
    return torch_trace.compile_xla(request)


def set_environment(request: Request) -> None:
    """Set what NKI reads when it is imported: the target, which it would ask the device for, and the LNC; and nothing that leads the
    compiler elsewhere."""
    lnc = str(request.lnc) if CHIPS[request.target].max_lnc > 1 else None
    env = prepared(os.environ, release(), "compile", {"target": request.target, "lnc": lnc})
    for name in os.environ.keys() - env.keys():
        del os.environ[name]
    os.environ.update(env)


def _compile_nki(request: Request) -> Compiled:
    import numpy as np

    sys.path[:0] = [path for path in request.paths if path not in sys.path]
    nki = release().nki
    name, compile_with = interfaces.choose(nki)
    kernel = resolve(request.entry)
    tensors = {tensor.name: np.zeros(tensor.shape, numpy_dtype(tensor.dtype)) for tensor in request.inputs}
    scalars = {key: resolved(value, resolve) for key, value in request.arguments.items()}

    def outputs() -> list[SimpleNamespace]:
        known = recorded_outputs(request) if request.outputs is None else request.outputs
        return [SimpleNamespace(name=each.name, shape=each.shape, dtype=numpy_dtype(each.dtype)) for each in known]

    inputs = {**tensors, **scalars}
    with plain_directory(nki.backend_splits_paths):
        neff = str(Path(NKI_NEFF).absolute())
        work = interfaces.Work(
            kernel, inputs, outputs, request.target, request.lnc, neff, arguments(request), nki.lnc_by == "launch grid"
        )
        start = time.perf_counter()
        outputs_said = compile_with(work)
        time_s = time.perf_counter() - start
    if not Path(NKI_NEFF).is_file():
        raise BuildError(f"{name} ended without an error but wrote no {NKI_NEFF}")
    return Compiled(NKI_NEFF, name, time_s, versions=versions(), outputs=outputs_said)


@contextmanager
def plain_directory(is_needed: bool) -> Iterator[None]:
    """Yield a current directory whose path has no blank and no quote: NKI's back end gets paths inside one string and splits it. What
    is written there is moved to the directory of before."""
    before = Path.cwd()
    if not is_needed or PLAIN_PATH.fullmatch(str(before)):
        yield
        return
    parent = tempfile.gettempdir()
    with tempfile.TemporaryDirectory(
        prefix="neff-bench-", dir=parent if PLAIN_PATH.fullmatch(parent) else "/tmp"
    ) as directory:
        os.chdir(directory)
        try:
            yield
        finally:
            os.chdir(before)
            for written in Path(directory).iterdir():
                shutil.move(written, before / written.name)


def _compile_xla(request: Request) -> Compiled:
    hlo.trace(request)
    argv = ["neuronx-cc", *compiler_words(request, release().tools["neuronx-cc"].commands["compile"])]
    hlo.write_command(argv)
    try:
        time_s = run(argv)
    except BuildError as error:
        raise BuildError(f"{error}{doubt(request, release())}") from None
    if not Path(hlo.NEFF).is_file():
        raise BuildError(f"neuronx-cc ended well but wrote no {hlo.NEFF}")
    return Compiled(hlo.NEFF, "neuronx-cc compile", time_s, tuple(argv), versions())


def doubt(request: Request, known: Release) -> str:
    """Return what to add to the reason of a failed compilation: its target may be one that no page of the compiler names."""
    target = known.tools["neuronx-cc"].commands["compile"].flags["--target"]
    if request.target not in target.undocumented:
        return ""
    return f" (the pages of neuronx-cc name no target {request.target})"


def compiler_words(request: Request, known: Command) -> list[str]:
    """Return the words after `neuronx-cc`. Raises `FlagAbsent`."""
    asked: list[Asked] = [("--target", request.target), ("--output", hlo.NEFF)]
    if CHIPS[request.target].max_lnc > 1:  # older targets do not know the flag
        asked.append(("--lnc", str(request.lnc)))
    first = words(known, [("--framework", "XLA")])
    return ["compile", *first, str(hlo.GRAPH), *words(known, asked), *arguments(request)]
