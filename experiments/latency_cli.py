"""`neff-bench latency`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

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


@click.command(name="latency", context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
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
@click.option(
    "--format", "format_", type=click.Choice(["table", "csv", "json", "md"]), help="Default: by suffix, else table."
)
@click.option("--output", type=click.Path(path_type=Path), metavar="FILE", help="Write the results there.")
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
) -> None:
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
    from neff_bench.experiments.errors import ExperimentError, Unavailable, WrongCall

    try:
        limit_threads(threads)
        workloads = _workloads(shapes, presets, file, dtype or ("float32",))
        from neff_bench.experiments.latency import NPUMatmulProfiler

        profiler = NPUMatmulProfiler(backend=None if backend == "auto" else backend, threads=threads)
        results, failed = _time(profiler, workloads, warmup, iterations)
        _write(results, failed, format_, output)
    except (WrongCall, Unavailable) as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(2)
    except ExperimentError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(1)
    sys.exit(1 if failed else 0)


def _workloads(
    shapes: tuple[str, ...], presets: tuple[str, ...], file: Path | None, dtypes: tuple[str, ...]
) -> list[Workload]:
    """What to time, each once. Raises `WrongCall`."""
    from neff_bench.experiments.errors import WrongCall
    from neff_bench.experiments.workload import DTYPES, MatmulConfig, MlpConfig, parse_shape

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
                print(f"notice: {case.name} is left out: only matmul and mlp are timed here", file=sys.stderr)
    if not found:
        raise WrongCall("nothing to time; name a SHAPE (128x128x128), a --preset or a --shapes FILE")
    return list(dict.fromkeys(found))


def _time(
    profiler: NPUMatmulProfiler, workloads: list[Workload], warmup: int, iterations: int
) -> tuple[list[ProfilingResult], int]:
    """Results, and how many workloads have none; each of those is one line on stderr."""
    from neff_bench.experiments.errors import DeviceLost, ExperimentError
    from neff_bench.experiments.output import progress

    results: list[ProfilingResult] = []
    failed = 0
    for number, workload in enumerate(progress(workloads, len(workloads), "timing")):
        try:
            results.append(profiler.profile_single_matmul(workload, warmup, iterations))
        except DeviceLost as error:
            print(f"error: {error}; {len(workloads) - number} of {len(workloads)} not timed", file=sys.stderr)
            return results, failed + len(workloads) - number
        except ExperimentError as error:
            print(f"error: {error}", file=sys.stderr)
            failed += 1
    return results, failed


def _write(results: list[ProfilingResult], failed: int, format_: str | None, output: Path | None) -> None:
    """An incomplete run goes beside the file that was asked for and leaves an older one as it is."""
    from dataclasses import asdict

    from neff_bench.experiments.output import chosen_format, emit, render

    if failed and not results:
        return
    rows = []
    for result in results:
        shape = (
            (result.M, result.K, result.N) if result.kernel == "matmul" else (result.b, result.s, result.h, result.i)
        )
        rows.append({**asdict(result), "what": "x".join(map(str, shape))})
    chosen = chosen_format(format_, output)
    if chosen in ("csv", "json"):
        rows = [{key: value for key, value in row.items() if key != "what"} for row in rows]
    text = render(rows, HEADS, chosen)
    if chosen == "table" and results:
        first = results[0]
        threads = f", {first.threads} thread{'s' if first.threads != 1 else ''}" if first.threads else ""
        text += (
            f"\nmeasured: {first.backend} {first.version} on {first.device}{threads}; median of {first.iterations}\n"
        )
    if failed and output is not None:
        output = output.with_name(f"{output.stem}.partial{output.suffix}")
    emit(text, output)
