"""Says where a workload can run on this host: torch-neuronx, torch on CUDA or CPU, jax, numpy."""

from __future__ import annotations

import importlib.util
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neff_bench.experiments.errors import Unavailable
from neff_bench.experiments.nki_kernels import call_on_device, nki_kernel
from neff_bench.experiments.workload import MlpConfig, Workload
from neff_bench.installation import pip_install

DEVICE_FILES = Path("/dev")
AUTO = ("neuron", "cuda", "torch", "jax", "numpy")
"""Best first."""
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Prepared:
    """A workload with its inputs in place. `run` starts one execution and returns what `wait` waits for.

    `compile_ms`: time to compile, None where nothing is compiled. `compiles_itself`: it compiles when it is called, so that a
    later call may compile again.
    """

    run: Callable[[], Any]
    wait: Callable[[Any], Any]
    compile_ms: float | None = None
    compiles_itself: bool = False


@dataclass(frozen=True)
class Backend:
    """`device`: for people. `synchronous`: `run` returns when the work is done. `free_bytes`: None when not known."""

    name: str
    device: str
    version: str
    threads: int | None
    synchronous: bool
    prepare: Callable[[Workload], Prepared]
    free_bytes: Callable[[], int | None]


@dataclass(frozen=True)
class Host:
    """Holds what a backend is opened with. `threads`: of torch on the CPU; numpy and jax take theirs from the environment. `lnc`: the
    launch grid of NKI kernels. `nkilib`: a checkout of nki-library, None for that of NKILIB_PATH."""

    threads: int = 1
    lnc: int = 1
    nkilib: Path | None = None


def open_backend(name: str, host: Host) -> Backend:
    """Return a backend of `AUTO` by name. Raises `Unavailable` with the reason."""
    return {"neuron": _neuron, "cuda": _cuda, "torch": _torch, "jax": _jax, "numpy": _numpy}[name](host)


def best_backend(host: Host, order: tuple[str, ...] = AUTO) -> tuple[Backend, list[str]]:
    """Return the first backend that this host has, and why not each one before it. Raises `Unavailable` when there is none."""
    reasons: list[str] = []
    for name in order:
        try:
            return open_backend(name, host), reasons
        except Unavailable as error:
            reasons.append(str(error))
    raise Unavailable("; ".join(reasons))


def limit_threads(threads: int) -> None:
    """Limit the threads of this process. Call it before numpy or jax are imported: they read their thread counts once."""
    for name in THREAD_VARIABLES:
        os.environ[name] = str(threads)
    flags = f"--xla_cpu_multi_thread_eigen={'true' if threads > 1 else 'false'} intra_op_parallelism_threads={threads}"
    os.environ.setdefault("XLA_FLAGS", flags)


def _own_threads() -> int | None:
    """Return what numpy and jax were told, which is not for us to change in a process of somebody else."""
    told = os.environ.get(THREAD_VARIABLES[0], "")
    return int(told) if told.isdigit() else os.cpu_count()


def _neuron(host: Host) -> Backend:
    if not any(DEVICE_FILES.glob("neuron[0-9]*")):
        raise Unavailable("Neuron device not available: no /dev/neuron*")
    torch = _torch_module("Neuron device not available")
    try:
        # The packages of these names on PyPI are empty placeholders: ask for the module that does the work.
        import torch_xla.core.xla_model as xm
        from torch_neuronx import __version__ as version
    except ImportError as error:
        raise Unavailable(f"Neuron device not available: torch-neuronx cannot be imported ({error})") from None
    device = xm.xla_device()

    def finish(_: Any) -> None:
        xm.mark_step()
        xm.wait_device_ops()

    def prepare(workload: Workload) -> Prepared:
        if workload.implementation:
            kernel = nki_kernel(workload, host.lnc, host.nkilib)
            return _compiled(call_on_device(kernel, workload, torch, device), finish)
        inputs = [tensor.to(device) for tensor in _torch_inputs(torch, workload)]
        function = _torch_function(torch, workload)
        return _compiled(lambda: function(*inputs), finish)

    return Backend("neuron", str(device), str(version), None, False, prepare, lambda: None)


def _cuda(_: Host) -> Backend:
    torch = _torch_module("CUDA device not available")
    if not torch.cuda.is_available():
        raise Unavailable("CUDA device not available")

    def prepare(workload: Workload) -> Prepared:
        inputs = [tensor.to("cuda") for tensor in _torch_inputs(torch, workload)]
        function = _torch_function(torch, workload)
        torch.cuda.synchronize()
        return Prepared(lambda: function(*inputs), lambda _: torch.cuda.synchronize())

    def free() -> int:
        return int(torch.cuda.mem_get_info()[0])

    return Backend("cuda", torch.cuda.get_device_name(), torch.__version__, None, False, prepare, free)


def _torch(host: Host) -> Backend:
    torch = _torch_module("torch not available")
    torch.set_num_threads(host.threads)

    def prepare(workload: Workload) -> Prepared:
        inputs = _torch_inputs(torch, workload)
        function = _torch_function(torch, workload)
        return Prepared(lambda: function(*inputs), _nothing)

    return Backend("torch", "CPU", torch.__version__, host.threads, True, prepare, _free_memory)


def _jax(_: Host) -> Backend:
    try:
        import jax
    except ImportError:
        raise Unavailable(f"jax is not installed: {pip_install('xla')}") from None

    def prepare(workload: Workload) -> Prepared:
        import jax.numpy as jnp

        function = _array_function(jax.nn.silu, workload)
        inputs = [jnp.asarray(array, dtype=workload.dtype) for array in _random(workload)]
        begin = time.perf_counter()
        compiled = jax.jit(function).lower(*inputs).compile()
        compile_ms = 1e3 * (time.perf_counter() - begin)
        return Prepared(lambda: compiled(*inputs), lambda result: result.block_until_ready(), compile_ms)

    device = jax.default_backend().upper()
    free = _free_memory if device == "CPU" else lambda: None
    return Backend("jax", device, jax.__version__, _own_threads(), False, prepare, free)


def _numpy(_: Host) -> Backend:
    import numpy as np

    def silu(x: Any) -> Any:
        return x / (1 + np.exp(-x))

    def prepare(workload: Workload) -> Prepared:
        import ml_dtypes

        dtype = ml_dtypes.bfloat16 if workload.dtype == "bfloat16" else np.dtype(workload.dtype)
        inputs = [array.astype(dtype) for array in _random(workload)]
        function = _array_function(silu, workload)
        return Prepared(lambda: function(*inputs), _nothing)

    return Backend("numpy", "CPU", np.__version__, _own_threads(), True, prepare, _free_memory)


def _compiled(run: Callable[[], Any], wait: Callable[[Any], Any]) -> Prepared:
    """Return a workload that compiles when it first runs."""
    begin = time.perf_counter()
    wait(run())
    return Prepared(run, wait, 1e3 * (time.perf_counter() - begin), compiles_itself=True)


def _torch_module(prefix: str) -> Any:
    if importlib.util.find_spec("torch") is None:
        raise Unavailable(f"{prefix}: torch is not installed ({pip_install('torch')})")
    import torch

    return torch


def _torch_inputs(torch: Any, workload: Workload) -> list[Any]:
    generator = torch.Generator().manual_seed(42)
    dtype = getattr(torch, workload.dtype)
    return [torch.randn(shape, generator=generator).mul_(shape[-2] ** -0.5).to(dtype) for shape in workload.inputs]


def _torch_function(torch: Any, workload: Workload) -> Callable[..., Any]:
    if not isinstance(workload, MlpConfig):
        product: Callable[..., Any] = torch.matmul
        return product

    def mlp(x: Any, gate: Any, up: Any, down: Any) -> Any:
        return torch.matmul(torch.nn.functional.silu(torch.matmul(x, gate)) * torch.matmul(x, up), down)

    return mlp


def _array_function(silu: Callable[[Any], Any], workload: Workload) -> Callable[..., Any]:
    if isinstance(workload, MlpConfig):
        return lambda x, gate, up, down: (silu(x @ gate) * (x @ up)) @ down
    return lambda a, b: a @ b


def _random(workload: Workload) -> list[Any]:
    import numpy as np

    random = np.random.default_rng(42)
    return [random.standard_normal(shape, np.float32) * np.float32(shape[-2] ** -0.5) for shape in workload.inputs]


def _nothing(_: Any) -> None:
    pass


def _free_memory() -> int | None:
    """Return the bytes that the host can give without swapping, and that the container allows; None when it does not say."""
    found = []
    try:
        for line in Path("/proc/meminfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("MemAvailable:"):
                found.append(int(line.split()[1]) * 1024)
        limit = Path("/sys/fs/cgroup/memory.max").read_text(encoding="utf-8").strip()
        if limit != "max":
            found.append(int(limit) - int(Path("/sys/fs/cgroup/memory.current").read_text(encoding="utf-8")))
    except (OSError, ValueError):
        pass
    return min(found) if found else None
