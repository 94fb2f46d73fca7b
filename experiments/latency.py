"""Host latency of matmul and MLP: warm-up, synchronised iterations, median and spread; compile time apart."""

from __future__ import annotations

import csv
import gc
import io
import math
import os
import statistics
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from neff_bench.experiments.backends import AUTO, Backend, Prepared, best_backend, open_backend
from neff_bench.experiments.errors import DeviceLost, DoesNotFit, ExperimentError
from neff_bench.experiments.workload import MatmulConfig, MlpConfig, Workload
from neff_bench.terminal import streams
from neff_bench.terminal.errors import WrongCall
from neff_bench.terminal.files import write_whole

SHORTEST_US = 50.0
"""Work that returns sooner is repeated inside one iteration, so that the clock's own cost stays below 1 %."""
MAX_CALLS = 1000
OUT_OF_MEMORY = ("out of memory", "resource_exhausted", "can't allocate memory")
"""How torch, CUDA and XLA say it, in lower case."""


@dataclass(frozen=True)
class ProfilingResult:
    """One timed workload. None: does not apply (M, K, N of an MLP) or is not known.

    `latency_ms`: the median over `iterations`; `cv`: standard deviation / mean; `calls_per_iteration`: executions
    between two readings of the clock; `compile_ms`: not part of any latency. Tiles are of 128 x 128 x 512.
    """

    M: int | None
    K: int | None
    N: int | None
    latency_ms: float
    num_tiles_M: int | None
    num_tiles_K: int | None
    num_tiles_N: int | None
    total_tiles: int | None
    kernel: str
    b: int | None
    s: int | None
    h: int | None
    i: int | None
    dtype: str
    backend: str
    device: str
    version: str
    threads: int | None
    p10_ms: float
    p90_ms: float
    mean_ms: float
    cv: float
    warmup: int
    iterations: int
    calls_per_iteration: int
    compile_ms: float | None
    gflops_per_s: float
    source: str = "measured"


COLUMNS = tuple(field.name for field in fields(ProfilingResult))


class NPUMatmulProfiler:
    """Times workloads on one backend.

    `use_neuron`: a Neuron device, or the next best backend with a notice when there is none; False: the CPU.
    `backend`: one of "neuron", "cuda", "torch", "jax", "numpy" instead; raises `Unavailable` when it is not there.
    `threads`: of torch on the CPU; one by default, as `torch.utils.benchmark` has it. numpy and jax read OMP_NUM_THREADS and
    XLA_FLAGS when they are imported.
    """

    def __init__(self, use_neuron: bool = True, *, backend: str | None = None, threads: int = 1) -> None:
        if backend is not None:
            self.backend: Backend = open_backend(backend, threads)
            return
        order = AUTO if use_neuron else ("torch", "jax", "numpy")
        self.backend, reasons = best_backend(threads, order)
        for reason in reasons:
            streams.notice(reason)
        if reasons:
            streams.notice(f"using {self.backend.name} {self.backend.version} on {self.backend.device}")

    def profile_single_matmul(self, config: Workload, warmup: int = 5, iterations: int = 20) -> ProfilingResult:
        """Time one `MatmulConfig` (or `MlpConfig`).

        Raises `WrongCall` for iterations below 1, `DoesNotFit`, `DeviceLost`, or `ExperimentError` when the backend cannot
        run the workload.
        """
        if iterations < 1 or warmup < 0:
            raise WrongCall(f"warmup {warmup}, iterations {iterations}; expected at least 0 and at least 1")
        self._check_memory(config)
        try:
            prepared = self.backend.prepare(config)
            times_ms, calls = _times_ms(prepared, warmup, iterations, self.backend.synchronous)
        except MemoryError:
            raise DoesNotFit(f"{config}: memory ran out on {self.backend.device}") from None
        except (RuntimeError, OSError) as error:
            raise self._failure(config, error) from error
        return self._result(config, times_ms, calls, warmup, prepared.compile_ms)

    def save_results_to_csv(self, results: Iterable[ProfilingResult], output_path: str | os.PathLike[str]) -> None:
        """Write results, whole or not at all; an older file is replaced only by a complete one. Raises `OSError`."""
        path = Path(output_path)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, results_csv(results).encode())

    def _failure(self, config: Workload, error: Exception) -> ExperimentError:
        line = " ".join(str(error).split())[:200]
        where = f"{config}: {self.backend.name} on {self.backend.device}"
        if any(word in line.lower() for word in OUT_OF_MEMORY):
            return DoesNotFit(f"{where}: memory ran out: {line}")
        return (DeviceLost if self.backend.name in ("neuron", "cuda") else ExperimentError)(f"{where} failed: {line}")

    def _check_memory(self, config: Workload) -> None:
        free = self.backend.free_bytes()
        # numpy and torch draw in float32 before they convert.
        need = config.bytes if config.dtype == "float32" else 2 * config.bytes
        if free is not None and need > free:
            gib = 1 << 30
            raise DoesNotFit(
                f"{config}: needs {need / gib:.1f} GiB, {free / gib:.1f} GiB are free on {self.backend.device}"
            )

    def _result(
        self, config: Workload, times_ms: Sequence[float], calls: int, warmup: int, compile_ms: float | None
    ) -> ProfilingResult:
        matmul = config if isinstance(config, MatmulConfig) else None
        mlp = config if isinstance(config, MlpConfig) else None
        tiles: tuple[int | None, ...] = matmul.tiles if matmul else (None, None, None)
        median, mean = statistics.median(times_ms), statistics.fmean(times_ms)
        return ProfilingResult(
            M=matmul.M if matmul else None,
            K=matmul.K if matmul else None,
            N=matmul.N if matmul else None,
            latency_ms=median,
            num_tiles_M=tiles[0],
            num_tiles_K=tiles[1],
            num_tiles_N=tiles[2],
            total_tiles=math.prod(matmul.tiles) if matmul else None,
            kernel=config.kernel,
            b=mlp.b if mlp else None,
            s=mlp.s if mlp else None,
            h=mlp.h if mlp else None,
            i=mlp.i if mlp else None,
            dtype=config.dtype,
            backend=self.backend.name,
            device=self.backend.device,
            version=self.backend.version,
            threads=self.backend.threads,
            p10_ms=quantile(times_ms, 0.1),
            p90_ms=quantile(times_ms, 0.9),
            mean_ms=mean,
            cv=statistics.pstdev(times_ms) / mean if mean else 0.0,
            warmup=warmup,
            iterations=len(times_ms),
            calls_per_iteration=calls,
            compile_ms=compile_ms,
            gflops_per_s=config.flops / median / 1e6,
        )


def quantile(values: Sequence[float], fraction: float) -> float:
    """Linear interpolation between the two nearest of the sorted values."""
    ordered = sorted(values)
    place = fraction * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def results_csv(results: Iterable[ProfilingResult]) -> str:
    """Columns of the source documents first, then ours; what is not known is an empty cell."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for result in results:
        writer.writerow(asdict(result))
    return out.getvalue()


def _times_ms(prepared: Prepared, warmup: int, iterations: int, synchronous: bool) -> tuple[list[float], int]:
    """The time of one execution in each iteration, and executions per iteration."""
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
    return times_ms, calls
