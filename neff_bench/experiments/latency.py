"""Measures host latency of matmul and MLP: warm-up, synchronised iterations, median and spread; compile time apart."""

from __future__ import annotations

import csv
import gc
import io
import math
import os
import re
import statistics
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from neff_bench.errors import WrongCall
from neff_bench.experiments import compilations
from neff_bench.experiments.backends import AUTO, Backend, Host, Prepared, best_backend, open_backend
from neff_bench.experiments.errors import DeviceLost, DoesNotFit, ExperimentError
from neff_bench.experiments.workload import MatmulConfig, Workload
from neff_bench.system.files import write_whole
from neff_bench.terminal import streams

SHORTEST_US = 50.0
"""Work that returns sooner is repeated inside one iteration, so that the clock's own cost stays below 1 %."""
MAX_CALLS = 1000
OUT_OF_MEMORY = ("out of memory", "resource_exhausted", "can't allocate memory")
"""How torch, CUDA and XLA say it, in lower case."""
LOST = {
    "neuron": re.compile(
        r"NRT_(EXEC_)?(HW_ERR|UNIT_UNRECOVERABLE|UNRECOVERABLE|UNINITIALIZED|CLOSED)|device (is |was )?lost|No neuron device",
        re.IGNORECASE,
    ),
    "cuda": re.compile(r"CUDA error|device-side assert|illegal memory access|device (is |was )?lost", re.IGNORECASE),
}
"""What a device says that will not answer again. Anything else, such as a failed compilation, costs one workload."""


@dataclass(frozen=True, kw_only=True)
class ProfilingResult:
    """One timed workload. None: does not apply (M, K, N of an MLP; samples of a simulated time) or is not known.

    `latency_ms`: the median over `iterations`, None with a `reason` where there is none; `cv`: standard deviation / mean;
    `calls_per_iteration`: executions between two readings of the clock; `compile_ms`: not part of any latency. Tiles are of
    128 x 128 x 512. Only of a simulated call: `device_us`, `launch_ms` and `transfer_ms`, the parts of the latency, and
    `device_error` and `latency_error`, the stated errors of the device's time and of the whole. `implementation`: of an NKI
    kernel. `compilations`: how often a compiler ran in the timed iterations, None for what is not compiled when it is called.
    """

    M: int | None = None
    K: int | None = None
    N: int | None = None
    latency_ms: float | None
    num_tiles_M: int | None = None
    num_tiles_K: int | None = None
    num_tiles_N: int | None = None
    total_tiles: int | None = None
    kernel: str
    b: int | None = None
    s: int | None = None
    h: int | None = None
    i: int | None = None
    dtype: str
    backend: str
    device: str
    version: str
    threads: int | None = None
    p10_ms: float | None = None
    p90_ms: float | None = None
    mean_ms: float | None = None
    cv: float | None = None
    warmup: int | None = None
    iterations: int | None = None
    calls_per_iteration: int | None = None
    compile_ms: float | None = None
    gflops_per_s: float | None = None
    source: str = "measured"
    device_us: float | None = None
    launch_ms: float | None = None
    transfer_ms: float | None = None
    device_error: str | None = None
    latency_error: str | None = None
    implementation: str | None = None
    compilations: int | None = None
    reason: str | None = None

    @property
    def std_ms(self) -> float | None:
        """Standard deviation of the samples, None where it is not known."""
        return None if self.cv is None or self.mean_ms is None else self.cv * self.mean_ms


COLUMNS = tuple(field.name for field in fields(ProfilingResult))


class NPUMatmulProfiler:
    """Times workloads on one backend. `use_neuron`: a Neuron device, or the next best backend with a notice when there is none; False: the CPU.

    `backend`: one of "neuron", "cuda", "torch", "jax", "numpy" instead; raises `Unavailable` when it is not there.
    `threads`: of torch on the CPU. `lnc`, `nkilib`: of NKI kernels, which need a Neuron device.
    """

    def __init__(
        self,
        use_neuron: bool = True,
        *,
        backend: str | None = None,
        threads: int = 1,
        lnc: int = 1,
        nkilib: Path | None = None,
    ) -> None:
        host = Host(threads, lnc, nkilib)
        if backend is not None:
            self.backend: Backend = open_backend(backend, host)
            return
        order = AUTO if use_neuron else ("torch", "jax", "numpy")
        self.backend, reasons = best_backend(host, order)
        for reason in reasons:
            streams.notice(reason)
        if reasons:
            streams.notice(f"using {self.backend.name} {self.backend.version} on {self.backend.device}")

    @property
    def runs_nki(self) -> bool:
        """Whether NKI kernels can be timed here."""
        return self.backend.name == "neuron"

    def profile_single_matmul(self, config: Workload, warmup: int = 5, iterations: int = 20) -> ProfilingResult:
        """Time one `MatmulConfig` (or `MlpConfig`).

        Raises `WrongCall` for iterations below 1, `DoesNotFit`, `DeviceLost`, or `ExperimentError` when the backend cannot
        run the workload.
        """
        if iterations < 1 or warmup < 0:
            raise WrongCall(f"warmup {warmup}, iterations {iterations}; expected at least 0 and at least 1")
        if config.implementation and not self.runs_nki:
            raise ExperimentError(f"{config}: an NKI kernel needs a Neuron device, or --backend sim")
        self._check_memory(config)
        try:
            prepared = self.backend.prepare(config)
            times_ms, calls, compiled = _times_ms(prepared, warmup, iterations, self.backend.synchronous)
        except ExperimentError:
            raise
        except MemoryError:
            raise DoesNotFit(f"{config}: memory ran out on {self.backend.device}") from None
        except Exception as error:  # the boundary of one workload: frameworks and compilers raise what they like
            raise self._failure(config, error) from error
        return self._result_of(
            config,
            **_figures(times_ms),
            warmup=warmup,
            calls_per_iteration=calls,
            compile_ms=prepared.compile_ms,
            compilations=compiled if prepared.compiles_itself else None,
        )

    def save_results_to_csv(self, results: Iterable[ProfilingResult], output_path: str | os.PathLike[str]) -> None:
        """Write results, whole or not at all; an older file is replaced only by a complete one. Raises `OSError`."""
        path = Path(output_path)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, results_csv(results).encode())

    def _failure(self, config: Workload, error: Exception) -> ExperimentError:
        line = " ".join(str(error).split())[:200] or type(error).__name__
        where = f"{config}: {self.backend.name} on {self.backend.device}"
        if any(word in line.lower() for word in OUT_OF_MEMORY):
            return DoesNotFit(f"{where}: memory ran out: {line}")
        lost = self.backend.name in LOST and LOST[self.backend.name].search(str(error))
        return (DeviceLost if lost else ExperimentError)(f"{where} failed: {line}")

    def _check_memory(self, config: Workload) -> None:
        free = self.backend.free_bytes()
        # numpy and torch draw in float32 before they convert.
        need = config.bytes if config.dtype == "float32" else 2 * config.bytes
        if free is not None and need > free:
            gib = 1 << 30
            raise DoesNotFit(
                f"{config}: needs {need / gib:.1f} GiB, {free / gib:.1f} GiB are free on {self.backend.device}"
            )

    def failed(self, config: Workload, reason: str) -> ProfilingResult:
        """Return the result of a workload that could not be timed."""
        return self._result_of(config, latency_ms=None, reason=reason)

    def _result_of(self, config: Workload, **told: Any) -> ProfilingResult:
        backend = self.backend
        about: dict[str, Any] = {"backend": backend.name, "device": backend.device, "version": backend.version}
        return result_of(config, threads=backend.threads, **about, **told)


def _figures(times_ms: Sequence[float]) -> dict[str, Any]:
    """Return what a result says of its samples."""
    mean = statistics.fmean(times_ms)
    return {
        "latency_ms": statistics.median(times_ms),
        "p10_ms": quantile(times_ms, 0.1),
        "p90_ms": quantile(times_ms, 0.9),
        "mean_ms": mean,
        "cv": statistics.pstdev(times_ms) / mean if mean else 0.0,
        "iterations": len(times_ms),
    }


def result_of(config: Workload, *, latency_ms: float | None, **told: Any) -> ProfilingResult:
    """Return a result with what follows from the workload filled in. `told`: further fields of `ProfilingResult`."""
    told |= config.dims
    if isinstance(config, MatmulConfig):
        m, k, n = config.tiles
        told |= {"num_tiles_M": m, "num_tiles_K": k, "num_tiles_N": n, "total_tiles": m * k * n}
    return ProfilingResult(
        latency_ms=latency_ms,
        kernel=config.kernel,
        dtype=config.dtype,
        implementation=config.implementation,
        gflops_per_s=config.flops / latency_ms / 1e6 if latency_ms else None,
        **told,
    )


def quantile(values: Sequence[float], fraction: float) -> float:
    """Interpolate linearly between the two nearest of the sorted values."""
    ordered = sorted(values)
    place = fraction * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def results_csv(results: Iterable[ProfilingResult]) -> str:
    """Return the columns of the source documents first, then ours; what is not known is an empty cell."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for result in results:
        writer.writerow(asdict(result))
    return out.getvalue()


def _times_ms(prepared: Prepared, warmup: int, iterations: int, synchronous: bool) -> tuple[list[float], int, int]:
    """Return the time of one execution in each iteration, executions per iteration, and compilations in all of them."""
    run, wait = prepared.run, prepared.wait
    clock = time.perf_counter_ns
    shortest_us = math.inf
    for _ in range(max(warmup, 1) if synchronous else warmup):
        begin = clock()
        wait(run())
        shortest_us = min(shortest_us, (clock() - begin) / 1e3)
    calls = 1
    if synchronous:
        calls = min(MAX_CALLS, math.ceil(SHORTEST_US / max(shortest_us, 0.01)))
    times_ms = []
    before = compilations.seen()
    collecting = gc.isenabled()
    gc.disable()
    try:
        for _ in range(iterations):
            begin = clock()
            for _ in range(calls):
                result = run()
            wait(result)
            times_ms.append((clock() - begin) / 1e6 / calls)
    finally:
        if collecting:
            gc.enable()
    return times_ms, calls, compilations.since(before)
