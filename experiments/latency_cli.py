"""`neff-bench latency`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from neff_bench.terminal import streams
from neff_bench.terminal.command import command
from neff_bench.terminal.formats import chosen
from neff_bench.terminal.output import output_options

if TYPE_CHECKING:
    from neff_bench.experiments.latency import NPUMatmulProfiler, ProfilingResult
    from neff_bench.experiments.workload import Workload

PRESETS = ("llm", "tiling", "sweep", "boundary", "buckets", "linear_projection")
HEADS = {
    "what": "shape",
    "dtype": "dtype",
    "latency_ms": "median ms",
    "p10_ms": "p10 ms",
    "p90_ms": "p90 ms",
    "cv": "cv",
    "gflops_per_s": "GFLOP/s",
    "total_tiles": "tiles",
    "compile_ms": "compile ms",
}


@command("latency")
@click.argument("shapes", nargs=-1, metavar="[SHAPE]...")
@click.option(
    "--preset", "presets", multiple=True, type=click.Choice(PRESETS), help="A named list of shapes (repeatable)."
)
@click.option(
    "--shapes", "file", type=click.Path(path_type=Path), help="Shapes file; its matmul and mlp cases are timed."
)
@click.option(
    "--dtype",
    multiple=True,
    type=click.Choice(["float32", "bfloat16", "float16"]),
    help="Repeatable.  [default: float32]",
)
@click.option(
    "--backend",
    type=click.Choice(["auto", "neuron", "cuda", "torch", "jax", "numpy"]),
    default="auto",
    show_default=True,
    help="auto: the first of these that this host has.",
)
@click.option("--threads", type=click.IntRange(1, 4096), default=1, show_default=True, help="Of the CPU backends.")
@click.option("--warmup", type=click.IntRange(0, 100_000), default=5, show_default=True)
@click.option("--iterations", type=click.IntRange(1, 1_000_000), default=20, show_default=True)
@output_options
def latency(
    shapes: tuple[str, ...],
    presets: tuple[str, ...],
    file: Path | None,
    dtype: tuple[str, ...],
    backend: str,
    threads: int,
    warmup: int,
    iterations: int,
    format_: str | None,
    output: Path | None,
) -> int:
    """Time matmuls and MLPs as this host runs them: warm-up, synchronised iterations, compile time apart.

    SHAPE is MxKxN for a matmul or bxsxhxi for a gated MLP. One CPU thread by default, as torch.utils.benchmark has it.
    Exit code 0: all timed; 1: something failed; 2: wrong call.

    \b
    Examples:
      neff-bench latency 128x128x128 1024x4096x4096
      neff-bench latency --preset llm --dtype bfloat16 --output results/llm.csv
      neff-bench latency 1x128x1024x512 --backend torch --threads 2
    """
    from neff_bench.experiments.backends import limit_threads

    format = chosen(format_, output)
    limit_threads(threads)
    workloads = _workloads(shapes, presets, file, dtype or ("float32",))
    from neff_bench.experiments.latency import NPUMatmulProfiler

    profiler = NPUMatmulProfiler(backend=None if backend == "auto" else backend, threads=threads)
    results, failed = _time(profiler, workloads, warmup, iterations)
    _write(results, failed, format, output)
    return 1 if failed else 0


def _workloads(
    shapes: tuple[str, ...], presets: tuple[str, ...], file: Path | None, dtypes: tuple[str, ...]
) -> list[Workload]:
    """What to time, each once. Raises `WrongCall`."""
    from neff_bench.experiments.workload import DTYPES, MatmulConfig, MlpConfig, parse_shape
    from neff_bench.terminal.errors import WrongCall

    found: list[Workload] = [parse_shape(shape, dtype) for shape in shapes for dtype in dtypes]
    if presets:
        from neff_bench.stage1_generate.shapes.presets import preset

        entries = [entry for name in presets for entry in preset(name)]
        found += [MatmulConfig(entry["M"], entry["K"], entry["N"], dtype) for entry in entries for dtype in dtypes]
    if file is not None:
        from neff_bench.stage1_generate.errors import GenerateError
        from neff_bench.stage1_generate.shapes.read import read_shapes

        try:
            cases = read_shapes(file)
        except GenerateError as error:
            raise WrongCall(str(error)) from None
        for case in cases:
            dims = dict(case.dims)
            if case.kernel == "matmul" and case.dtype in DTYPES:
                found.append(MatmulConfig(dims["M"], dims["K"], dims["N"], case.dtype))
            elif case.kernel == "mlp" and case.dtype in DTYPES:
                found.append(MlpConfig(dims["b"], dims["s"], dims["h"], dims["i"], case.dtype))
            else:
                streams.notice(f"{case.name} is left out: only matmul and mlp are timed here")
    if not found:
        raise WrongCall("nothing to time; name a SHAPE (128x128x128), a --preset or a --shapes FILE")
    return list(dict.fromkeys(found))


def _time(
    profiler: NPUMatmulProfiler, workloads: list[Workload], warmup: int, iterations: int
) -> tuple[list[ProfilingResult], int]:
    """Results, and how many workloads have none; each of those is one line on stderr."""
    from neff_bench.experiments.errors import DeviceLost, ExperimentError
    from neff_bench.terminal.progress import progress

    results: list[ProfilingResult] = []
    failed = 0
    with progress(len(workloads), "timing") as step:
        for number, workload in enumerate(workloads):
            step(f"timing {workload}")
            try:
                results.append(profiler.profile_single_matmul(workload, warmup, iterations))
            except DeviceLost as error:
                streams.error(f"{error}; {len(workloads) - number} of {len(workloads)} not timed")
                return results, failed + len(workloads) - number
            except ExperimentError as error:
                streams.error(str(error))
                failed += 1
    return results, failed


def _write(results: list[ProfilingResult], failed: int, format: str, output: Path | None) -> None:
    """An incomplete run goes beside the file that was asked for and leaves an older one as it is."""
    from dataclasses import asdict

    from neff_bench.experiments.output import answer, emit, grid

    if failed and not results:
        return
    records = [asdict(result) for result in results]
    shown = [{**record, "what": "x".join(map(str, _sizes(result)))} for record, result in zip(records, results)]
    first = results[0]
    threads = f", {first.threads} thread{'s' if first.threads != 1 else ''}" if first.threads else ""
    note = f"measured: {first.backend} {first.version} on {first.device}{threads}; median of {first.iterations}"
    if failed and output is not None:
        output = output.with_name(f"{output.stem}.partial{output.suffix}")
    emit(answer(records, [grid(shown, HEADS, [note])]), format, output)


def _sizes(result: ProfilingResult) -> tuple[int | None, ...]:
    if result.kernel == "matmul":
        return result.M, result.K, result.N
    return result.b, result.s, result.h, result.i
