"""Declares `neff-bench latency`, which times matmul and MLP on the host."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from neff_bench.chips import CHIPS
from neff_bench.errors import WrongCall
from neff_bench.experiments.workload import DTYPES, IMPLEMENTATIONS, lnc_of
from neff_bench.terminal import streams
from neff_bench.terminal.command import command
from neff_bench.terminal.options import PATH, OutputOptions, argument, option, takes

if TYPE_CHECKING:
    from neff_bench.experiments.latency import NPUMatmulProfiler, ProfilingResult
    from neff_bench.experiments.simulated import SimulatedProfiler
    from neff_bench.experiments.workload import Workload

    Profiler = NPUMatmulProfiler | SimulatedProfiler

PRESETS = ("llm", "tiling", "sweep", "boundary", "buckets", "linear_projection", "quick")
HEADS = {
    "what": "shape",
    "dtype": "dtype",
    "latency_ms": "median ms",
    "device_us": "device us",
    "launch_ms": "launch ms",
    "transfer_ms": "transfer ms",
    "p10_ms": "p10 ms",
    "p90_ms": "p90 ms",
    "cv": "cv",
    "gflops_per_s": "GFLOP/s",
    "total_tiles": "tiles",
    "compile_ms": "compile ms",
    "compilations": "compiled",
}
RESULTS = Path("results")
QUICK = "quick"
"""The preset of a call without arguments."""


@dataclass(frozen=True, kw_only=True)
class LatencyOptions(OutputOptions):
    """Holds what is timed, and on what."""

    shapes: tuple[str, ...] = argument(default=(), nargs=-1, metavar="[SHAPE]...")
    presets: tuple[str, ...] = option(
        "--preset", default=(), multiple=True, type=click.Choice(PRESETS), help="A named list of shapes (repeatable)."
    )
    file: Path | None = option("--shapes", type=PATH, help="Shapes file; its matmul and mlp cases are timed.")
    dtype: tuple[str, ...] = option(
        default=(), multiple=True, type=click.Choice(DTYPES), help="Repeatable.  [default: float32]"
    )
    backend: str = option(
        default="auto",
        type=click.Choice(["auto", "neuron", "cuda", "torch", "jax", "numpy", "sim"]),
        show_default=True,
        help="auto: the first of neuron to numpy that this host has. sim: no host; the device and its host are simulated.",
    )
    target: str = option(
        default="inf2", type=click.Choice(list(CHIPS)), show_default=True, help="Chip of the simulated device."
    )
    lnc: int | None = option(
        type=click.IntRange(1, 2),
        help="Physical cores of the simulated device, else the launch grid of NKI kernels.  [default: 2 or 1]",
    )
    implementation: str | None = option(
        type=click.Choice(IMPLEMENTATIONS),
        help="Time this NKI kernel; it needs a Neuron device or --backend sim.  [default: what the framework has]",
    )
    nkilib: Path | None = option(type=PATH, help="Checkout of nki-library (else $NKILIB_PATH).")
    threads: int = option(
        default=1, type=click.IntRange(1, 4096), show_default=True, help="Threads of the CPU backends."
    )
    warmup: int = option(default=5, type=click.IntRange(0, 100_000), show_default=True)
    iterations: int = option(default=20, type=click.IntRange(1, 1_000_000), show_default=True)


@command("latency")
@takes(LatencyOptions)
def latency(options: LatencyOptions) -> int:
    """Time matmuls and MLPs as this host runs them: warm-up, synchronised iterations, compile time apart.

    SHAPE is MxKxN for a matmul or bxsxhxi for a gated MLP. Without any shape: four small matmuls, saved in ./results/ too.
    One CPU thread by default, as torch.utils.benchmark has it. With --backend sim: the device's time, and what a host waits
    for a call by a model of launch and transfer; both with their stated error.
    "compiled" counts the compilations in the timed iterations of a kernel that compiles when it is called: 0 is right.
    A shape that fails is a row with its reason. Exit code 0: all timed; 1: something failed; 2: wrong call.

    \b
    Examples:
      neff-bench latency
      neff-bench latency --backend sim 128x128x128 288x128x128 --dtype float16
      neff-bench latency 128x128x128 1024x4096x4096
      neff-bench latency --preset llm --dtype bfloat16 --output results/llm.csv
      neff-bench latency 1x128x1024x512 --backend torch --threads 2
      neff-bench latency 1x128x1024x512 --implementation nkilib --nkilib ../nki-library --backend neuron --dtype bfloat16
    """
    from neff_bench.experiments.backends import limit_threads

    format = options.format
    limit_threads(options.threads)
    quick = not (options.shapes or options.presets or options.file)
    if quick:
        options = replace(options, presets=(QUICK,))
    workloads = _workloads(options)
    if options.implementation is not None:
        workloads = [replace(workload, implementation=options.implementation) for workload in workloads]
    profiler = _profiler(options)
    if options.implementation is None and not profiler.runs_nki and any(one.implementation for one in workloads):
        streams.notice("no Neuron device: matmul and mlp of the framework are timed in place of the file's NKI kernels")
        workloads = list(dict.fromkeys(replace(workload, implementation=None) for workload in workloads))
    results, lost = _time(profiler, workloads, options.warmup, options.iterations)
    if quick and options.output is None:
        saved = RESULTS / f"{QUICK}.csv"
        _write(results, "csv", saved, lost)
    _write(results, format, options.output, lost)
    return 1 if any(result.reason for result in results) else 0


def _workloads(options: LatencyOptions) -> list[Workload]:
    """Return what to time, each once. Raises `WrongCall`."""
    from neff_bench.experiments.workload import MatmulConfig, MlpConfig, parse_shape

    dtypes = options.dtype or ("float32",)
    found: list[Workload] = [parse_shape(shape, dtype) for shape in options.shapes for dtype in dtypes]
    if options.presets:
        from neff_bench.stage1_generate.shapes.presets import preset

        entries = [entry for name in options.presets for entry in preset(name)]
        found += [MatmulConfig(entry["M"], entry["K"], entry["N"], dtype) for entry in entries for dtype in dtypes]
    if options.file is not None:
        from neff_bench.stage1_generate.errors import GenerateError
        from neff_bench.stage1_generate.shapes.read import read_shapes

        try:
            cases = read_shapes(options.file)
        except GenerateError as error:
            raise WrongCall(str(error)) from None
        for case in cases:
            kernel = case.implementation if case.implementation in IMPLEMENTATIONS else None
            dims = dict(case.dims)
            if case.kernel == "matmul" and case.dtype in DTYPES:
                found.append(MatmulConfig(dims["M"], dims["K"], dims["N"], case.dtype, kernel))
            elif case.kernel == "mlp" and case.dtype in DTYPES:
                found.append(MlpConfig(dims["b"], dims["s"], dims["h"], dims["i"], case.dtype, kernel))
            else:
                streams.notice(f"{case.name} is left out: only matmul and mlp are timed here")
    if not found:
        raise WrongCall("nothing to time; name a SHAPE (128x128x128), a --preset or a --shapes FILE")
    return list(dict.fromkeys(found))


def _profiler(options: LatencyOptions) -> Profiler:
    if options.backend == "sim":
        from neff_bench.experiments.simulated import SimulatedProfiler

        return SimulatedProfiler(options.target, lnc_of(options.target, options.lnc), options.nkilib)
    from neff_bench.experiments.latency import NPUMatmulProfiler

    backend = None if options.backend == "auto" else options.backend
    return NPUMatmulProfiler(backend=backend, threads=options.threads, lnc=options.lnc or 1, nkilib=options.nkilib)


def _time(
    profiler: Profiler, workloads: list[Workload], warmup: int, iterations: int
) -> tuple[list[ProfilingResult], bool]:
    """Return a result for each workload, and whether the device was lost; each failure is one line on stderr too."""
    from neff_bench.experiments.errors import DeviceLost, ExperimentError
    from neff_bench.terminal.progress import progress

    results: list[ProfilingResult] = []
    with progress(len(workloads), "timing") as step:
        for number, workload in enumerate(workloads):
            step(f"timing {workload}")
            try:
                results.append(profiler.profile_single_matmul(workload, warmup, iterations))
            except DeviceLost as error:
                streams.error(f"{error}; {len(workloads) - number} of {len(workloads)} not timed")
                results.append(profiler.failed(workload, str(error)))
                results += [profiler.failed(rest, "not timed: the device was lost") for rest in workloads[number + 1 :]]
                return results, True
            except ExperimentError as error:
                streams.error(str(error))
                results.append(profiler.failed(workload, str(error)))
    return results, False


def _write(results: list[ProfilingResult], format: str, output: Path | None, lost: bool) -> None:
    """Put what a lost device left beside the file that was asked for, and an older one stays as it is."""
    from dataclasses import asdict

    from neff_bench.experiments.output import answer, emit, grid

    records = [asdict(result) for result in results]
    shown = [{**record, "what": "x".join(map(str, _sizes(result)))} for record, result in zip(records, results)]
    heads = {key: head for key, head in HEADS.items() if any(record.get(key) is not None for record in shown)}
    emit(answer(records, [grid(shown, heads, _notes(results))]), format, _beside(output) if output and lost else output)


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.stem}.partial{path.suffix}")


def _notes(results: list[ProfilingResult]) -> list[str]:
    timed = [result for result in results if result.latency_ms is not None]
    notes = []
    if timed and timed[0].source == "simulated":
        first = timed[0]
        notes.append(f"SIMULATED: {first.device}, model {first.version}; median = launch + transfer + device.")
        notes += [f"Host latency: {error}." for error in dict.fromkeys(result.latency_error for result in timed)]
        notes += [f"Device: {error}." for error in dict.fromkeys(result.device_error for result in timed)]
    elif timed:
        first = timed[0]
        threads = f", {first.threads} thread{'s' if first.threads != 1 else ''}" if first.threads else ""
        notes.append(
            f"measured: {first.backend} {first.version} on {first.device}{threads}; median of {first.iterations}"
        )
    notes += [
        f"{_what(result)}: compiled {result.compilations} times in {result.iterations or result.compilations} iterations; its"
        " latency is that of the compiler"
        for result in timed
        if result.compilations
    ]
    return notes + [f"failed: {result.reason}" for result in results if result.reason]


def _what(result: ProfilingResult) -> str:
    return " ".join(filter(None, (result.kernel, result.implementation, "x".join(map(str, _sizes(result))))))


def _sizes(result: ProfilingResult) -> tuple[int | None, ...]:
    if result.kernel == "matmul":
        return result.M, result.K, result.N
    return result.b, result.s, result.h, result.i
