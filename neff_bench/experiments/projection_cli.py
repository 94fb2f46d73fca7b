"""Declares `neff-bench linear-projection` and `neff-bench tile`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neff_bench.chips import CHIPS
from neff_bench.errors import WrongCall
from neff_bench.experiments.workload import K_TILE, M_TILE, N_TILE, lnc_of
from neff_bench.terminal.command import command
from neff_bench.terminal.options import PATH, OutputOptions, option, takes

if TYPE_CHECKING:
    from neff_bench.terminal.answer import Answer

DTYPES = ("float32", "bfloat16", "float16", "float8_e4m3", "float8_e5m2")
DEFAULT_OUT = "/tmp/neff_bench_projections"
TILE = 64
"""Size of a tile where only another dimension's is given; the document's."""
CASE = {"test_case": "case", "M": "M", "N": "N", "K": "K", "dtype": "dtype", "implementation": "impl"}
TIMES = {
    **CASE,
    "device_us": "device us",
    "host_ms": "host ms",
    "host_std_ms": "± ms",
    "speedup": "speed-up",
    "device_gflops_per_s": "GFLOP/s",
    "host_gflops_per_s": "host",
    "max_abs_error": "max error",
    "relative_error": "rel error",
    "check": "check",
}
KERNEL = {
    **CASE,
    "matmul_count": "matmuls",
    "matmul_us": "us",
    "accumulate_count": "accumulate",
    "accumulate_us": "us",
    "transpose_count": "transposes",
    "transpose_us": "us",
    "total_tiles": "tiles",
    "device_us_per_tile": "us/tile",
    "matmul_us_per_tile": "matmul us/tile",
}
MEMORY = {
    **CASE,
    "sbuf_peak_bytes": "SBUF B/partition",
    "psum_peak_bytes": "PSUM B/partition",
    "hbm_read_bytes": "HBM read",
    "hbm_write_bytes": "HBM write",
    "dma_us": "DMA us",
    "reads_per_input_byte": "reads/byte",
    "weight_loads": "weight loads",
}


@dataclass(frozen=True, kw_only=True)
class DeviceOptions(OutputOptions):
    """Holds what both commands ask: on which device, and how the host is timed."""

    implementation: tuple[str, ...] = option(
        default=(), multiple=True, type=click.Choice(["nki", "xla"]), help="Repeatable.  [default: nki]"
    )
    target: str = option(default="trn2", type=click.Choice(list(CHIPS)), show_default=True)
    lnc: int | None = option(
        type=click.IntRange(1, 2), help="Physical cores per logical core.  [default: the target's]"
    )
    toolchain: str = option(default="auto", type=click.Choice(["auto", "neuron", "sim"]), show_default=True)
    num_runs: int = option(
        default=20, type=click.IntRange(0, 100_000), show_default=True, help="Timed on the host; 0: none."
    )
    threads: int = option(
        default=1, type=click.IntRange(1, 4096), show_default=True, help="CPU threads of the host's backend."
    )
    out: Path = option(default=Path(DEFAULT_OUT), type=PATH, show_default=True, help="Store of the bundles.")


DTYPE = {"default": (), "multiple": True, "type": click.Choice(DTYPES), "help": "Repeatable.  [default: float32]"}


@dataclass(frozen=True, kw_only=True)
class ProjectionOptions(DeviceOptions):
    """Holds which projections are timed, and how they are cut."""

    cases: tuple[str, ...] = option(
        "--test-case", default=(), multiple=True, metavar="NAME", help="Only these (repeatable).  [default: all seven]"
    )
    file: Path | None = option("--cases", type=PATH, help="YAML with more: `my_proj: {M: 64, N: 960, K: 768}`.")
    dtype: tuple[str, ...] = option(**DTYPE)
    batch: tuple[int, ...] = option(
        default=(), multiple=True, type=click.IntRange(1, 4096), help="Times M rows; repeatable.  [default: 1]"
    )
    tile_m: int | None = option(type=click.IntRange(1, 128), help="Cut M into tiles of this size.")
    tile_k: int | None = option(type=click.IntRange(1, 128), help="The same for K.")
    tile_n: int | None = option(type=click.IntRange(1, 512), help="The same for N.")


@dataclass(frozen=True, kw_only=True)
class TileOptions(DeviceOptions):
    """Names the tile that is timed."""

    dtype: tuple[str, ...] = option(**DTYPE)
    tile_m: int = option(default=M_TILE, type=int, show_default=True, help=f"Rows: at most {M_TILE}.")
    tile_n: int = option(default=N_TILE, type=int, show_default=True, help=f"Columns: at most {N_TILE}.")
    tile_k: int = option(default=K_TILE, type=int, show_default=True, help=f"Contraction: at most {K_TILE}.")


@command("linear-projection")
@takes(ProjectionOptions)
def linear_projection(options: ProjectionOptions) -> int:
    """Time the projections of a llama block (q, k, v, o, up, gate, down at sequence 64): device against host.

    Device times come from a profile (simulated where there is no device, and marked so); host times from torch, or the
    next best library of this host, on one thread. With a tile size, the kernel is one that cuts the matmul into such tiles
    and loads each tile anew (sizes that are not given are 64); without, it keeps operands in SBUF.

    \b
    Examples:
      neff-bench linear-projection
      neff-bench linear-projection --tile-m 64 --tile-k 64 --tile-n 64
      neff-bench linear-projection --test-case q_proj --num-runs 50
      neff-bench linear-projection --test-case k_proj --dtype float32 --dtype bfloat16 --dtype float8_e4m3
      neff-bench linear-projection --cases mine.yaml --batch 1 --batch 4 --output report.json
    """
    from neff_bench.experiments.projection import read_projections
    from neff_bench.stage1_generate.shapes.presets import LINEAR_PROJECTIONS

    own = read_projections(options.file) if options.file else {}
    known = LINEAR_PROJECTIONS | own
    unknown = [name for name in options.cases if name not in known]
    if unknown:
        raise WrongCall(f"--test-case {unknown[0]}: expected one of {', '.join(known)}")
    sizes = (options.tile_m, options.tile_k, options.tile_n)
    m, k, n = (size or TILE for size in sizes)
    chosen = {name: known[name] for name in options.cases or own or known}
    return _run(options, chosen, options.dtype, options.batch, (m, k, n) if any(sizes) else None)


@command("tile")
@takes(TileOptions)
def tile(options: TileOptions) -> int:
    """Compare one matmul that fits a single tile: device against host.

    \b
    Examples:
      neff-bench tile --dtype float32 --tile-m 64 --tile-n 128 --tile-k 128
      neff-bench tile --dtype bfloat16 --dtype float32
    """
    for name, limit in (("m", M_TILE), ("n", N_TILE), ("k", K_TILE)):
        size = getattr(options, f"tile_{name}")
        if not 1 <= size <= limit:
            raise WrongCall(
                f"--tile-{name} {size}: one tile has from 1 to {limit}; linear-projection takes larger matmuls"
            )
    return _run(options, {"tile": (options.tile_m, options.tile_n, options.tile_k)}, options.dtype)


def _run(
    options: DeviceOptions,
    projections: dict[str, tuple[int, int, int]],
    dtypes: tuple[str, ...],
    batches: tuple[int, ...] = (),
    tile: tuple[int, int, int] | None = None,
) -> int:
    from neff_bench.experiments.backends import limit_threads

    format = options.format
    limit_threads(options.threads)
    lnc = lnc_of(options.target, options.lnc)
    if tile is not None and "xla" in options.implementation:
        raise WrongCall("--tile-m, --tile-k and --tile-n are of the nki kernel; the compiler chooses for xla")
    from neff_bench.experiments.device import Build
    from neff_bench.experiments.output import emit
    from neff_bench.experiments.projection import report

    builds = [
        Build(batch * m, k, n, dtype, implementation, options.target, lnc, tile, name, batch)
        for name, (m, n, k) in projections.items()
        for batch in batches or (1,)
        for dtype in dtypes or ("float32",)
        for implementation in options.implementation or ("nki",)
    ]
    rows = report(builds, options.toolchain, options.num_runs, options.threads, options.out)
    emit(_answer(rows), format, options.output)
    return 1 if any(row["device_us"] is None or row["check"] != "passed" for row in rows) else 0


def _answer(records: list[dict[str, Any]]) -> Answer:
    from neff_bench.experiments.output import answer, grid

    first = records[0]
    sources = sorted({row["source"] for row in records if row["source"]})
    backend = next((row["host_backend"] for row in records if row["host_backend"]), None)
    device = f"device: {first['target']} LNC {first['lnc']}, {' and '.join(sources) or 'no profile'}"
    if first["fixed_overhead_us"]:
        device += f" (fixed overhead of any run {first['fixed_overhead_us']:.1f} us included)"
    notes = [f"{device}; host: {backend}, median ± standard deviation" if backend else f"{device}; host: not timed"]
    if backend and "simulated" in sources:
        notes.append("no speed-up: the host is measured and the device simulated")
    notes.append("matmul, accumulate and transpose times are sums over instructions and cores, which overlap")
    notes.append("reads/byte: bytes read from HBM / bytes of both inputs; weight loads: how often B is read")
    notes.append("energy: not known; there is no public figure for the power of a NeuronCore under load")
    notes += [f"{row['test_case']} {row['dtype']}: {row['reason']}" for row in records if row["reason"]]
    times, kernel, memory = (_known(heads, records) for heads in (TIMES, KERNEL, MEMORY))
    return answer(records, [grid(records, times), grid(records, kernel), grid(records, memory, notes)])


def _known(heads: dict[str, str], records: list[dict[str, Any]]) -> dict[str, str]:
    """Return the columns that some row fills."""
    return {key: head for key, head in heads.items() if any(record[key] is not None for record in records)}
