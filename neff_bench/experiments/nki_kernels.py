"""Finds the NKI kernels of a workload, as stage 1 declares them: ours, nki-library's, and the closed ones of neuronx-cc."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from neff_bench.experiments.errors import ExperimentError
from neff_bench.experiments.workload import Workload

if TYPE_CHECKING:
    from neff_bench.neffs.own import Tensor


@dataclass(frozen=True)
class NkiKernel:
    """`closed`: takes its inputs by position, and its output last, which it fills. `names`: parameters of the inputs."""

    entry: str
    closed: bool
    names: tuple[str, ...]
    tensors: tuple[Tensor, ...]
    arguments: dict[str, Any]
    lnc: int


def nki_kernel(workload: Workload, lnc: int, nkilib: Path | None) -> NkiKernel:
    """Return the workload's implementation; its folder is put on `sys.path`. Raises `ExperimentError` where there is none."""
    from neff_bench.stage1_generate import kernels
    from neff_bench.stage1_generate.errors import GenerateError
    from neff_bench.stage1_generate.toolchains.find import choose

    declared, dims = kernels.load(workload.kernel), SimpleNamespace(**workload.dims)
    implementation = declared.implementations.get(workload.implementation or "")
    if implementation is None or implementation.route == "xla":
        raise ExperimentError(f"{workload}: {workload.kernel} has no kernel named {workload.implementation}")
    try:
        toolchain = choose("auto", nkilib)
    except GenerateError as error:
        raise ExperimentError(f"{workload}: {error}") from None
    lacks = toolchain.lacks(implementation.needs, "") or implementation.refuses(dims, lnc)
    if lacks:
        raise ExperimentError(f"{workload}: {lacks}")
    if toolchain.nkilib is not None and str(toolchain.nkilib) not in sys.path:
        sys.path.insert(0, str(toolchain.nkilib))
    tensors = declared.inputs_of(workload.implementation or "", dims, workload.dtype)
    names = implementation.parameters or tuple(tensor.name for tensor in tensors)
    entry = implementation.entry if isinstance(implementation.entry, str) else implementation.entry(dims)
    closed = implementation.route == "isa"
    return NkiKernel(entry, closed, names, tensors, dict(implementation.arguments(dims)), lnc)


def call_on_device(kernel: NkiKernel, workload: Workload, torch: Any, device: Any) -> Callable[[], Any]:
    """Return one call of the kernel with tensors on the device, as a framework calls it."""
    from neff_bench.stage1_generate.entries import load

    generator = torch.Generator().manual_seed(42)
    dtype = getattr(torch, workload.dtype)

    def tensor(declared: Tensor) -> Any:
        if declared.values == "constant":
            return torch.full(declared.shape, declared.scale, dtype=dtype).to(device)
        return torch.randn(declared.shape, generator=generator).mul_(declared.scale).to(dtype).to(device)

    inputs = [tensor(declared) for declared in kernel.tensors]
    function = load(kernel.entry)
    if not kernel.closed:
        launched = function[kernel.lnc] if kernel.lnc > 1 else function
        named = dict(zip(kernel.names, inputs, strict=True))
        return lambda: launched(**named, **kernel.arguments)
    # As github aws-neuron/neuronx-distributed-inference calls it: nki_jit()(mlp_isa_kernel)[(nc(2),)](...).
    function = load("torch_neuronx.xla_impl.ops:nki_jit")()(function)
    launched = function[(load("neuronxcc.nki.language:nc")(kernel.lnc),)] if kernel.lnc > 1 else function
    output = torch.zeros(workload.output, dtype=dtype).to(device)
    return lambda: launched(*inputs, output, **kernel.arguments)
