"""`neff-bench linear-projection` and `neff-bench tile`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neff_bench.chips import CHIPS
from neff_bench.terminal.command import command
from neff_bench.terminal.formats import chosen
from neff_bench.terminal.output import output_options

if TYPE_CHECKING:
    from neff_bench.experiments.projection import Projection, ReportRow
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


def _common(function: Callable[..., int]) -> Callable[..., int]:
    for option in reversed((
        click.option("--implementation", multiple=True, type=click.Choice(["nki", "xla"]), help="Repeatable.  [default: nki]"),
        click.option("--target", type=click.Choice(list(CHIPS)), default="trn2", show_default=True),
        click.option("--lnc", type=click.IntRange(1, 2), help="Physical cores per logical core.  [default: the target's]"),
        click.option("--toolchain", type=click.Choice(["auto", "neuron", "sim"]), default="auto", show_default=True),
        click.option("--num-runs", type=click.IntRange(0, 100_000), default=20, show_default=True, help="Timed on the host; 0: none."),
        click.option("--threads", type=click.IntRange(1, 4096), default=1, show_default=True, help="Of the host's backend."),
        click.option(
            "--out", type=click.Path(path_type=Path), default=DEFAULT_OUT, show_default=True, help="Store of the bundles."
        ),
        output_options,
    )):  # fmt: skip
        function = option(function)
    return function


@command("linear-projection")
@click.option(
    "--test-case", "cases", multiple=True, metavar="NAME", help="Only these (repeatable).  [default: all seven]"
)
@click.option(
    "--cases", "file", type=click.Path(path_type=Path), help="YAML with more: `my_proj: {M: 64, N: 960, K: 768}`."
)
@click.option("--dtype", multiple=True, type=click.Choice(DTYPES), help="Repeatable.  [default: float32]")
@click.option("--batch", multiple=True, type=click.IntRange(1, 4096), help="Times M rows; repeatable.  [default: 1]")
@click.option("--tile-m", type=click.IntRange(1, 128), help="Cut M into tiles of this size.")
@click.option("--tile-k", type=click.IntRange(1, 128), help="The same for K.")
@click.option("--tile-n", type=click.IntRange(1, 512), help="The same for N.")
@_common
def linear_projection(
    cases: tuple[str, ...],
    file: Path | None,
    dtype: tuple[str, ...],
    batch: tuple[int, ...],
    tile_m: int | None,
    tile_k: int | None,
    tile_n: int | None,
    **rest: Any,
) -> int:
    """The projections of a llama block (q, k, v, o, up, gate, down at sequence 64): device against host.

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
    from neff_bench.errors import WrongCall
    from neff_bench.experiments.projection import Projection, read_projections
    from neff_bench.stage1_generate.shapes.presets import LINEAR_PROJECTIONS

    def choose() -> list[Projection]:
        known = {name: Projection(name, *sizes) for name, sizes in LINEAR_PROJECTIONS.items()}
        own = {projection.name: projection for projection in read_projections(file)} if file else {}
        known |= own
        unknown = [name for name in cases if name not in known]
        if unknown:
            raise WrongCall(f"--test-case {unknown[0]}: expected one of {', '.join(known)}")
        return [known[name] for name in cases or own or known]

    sizes = (tile_m, tile_k, tile_n)
    m, k, n = (size or TILE for size in sizes)
    return _run(choose, dtype or ("float32",), batch or (1,), tile=(m, k, n) if any(sizes) else None, **rest)


@command("tile")
@click.option("--dtype", multiple=True, type=click.Choice(DTYPES), help="Repeatable.  [default: float32]")
@click.option("--tile-m", type=int, default=128, show_default=True, help="Rows: at most 128.")
@click.option("--tile-n", type=int, default=512, show_default=True, help="Columns: at most 512.")
@click.option("--tile-k", type=int, default=128, show_default=True, help="Contraction: at most 128.")
@_common
def tile(dtype: tuple[str, ...], tile_m: int, tile_n: int, tile_k: int, **rest: Any) -> int:
    """One matmul that fits a single tile: device against host.

    \b
    Examples:
      neff-bench tile --dtype float32 --tile-m 64 --tile-n 128 --tile-k 128
      neff-bench tile --dtype bfloat16 --dtype float32
    """
    from neff_bench.errors import WrongCall
    from neff_bench.experiments.projection import Projection
    from neff_bench.experiments.workload import K_TILE, M_TILE, N_TILE

    def choose() -> list[Projection]:
        for name, size, limit in (("m", tile_m, M_TILE), ("n", tile_n, N_TILE), ("k", tile_k, K_TILE)):
            if not 1 <= size <= limit:
                raise WrongCall(
                    f"--tile-{name} {size}: one tile has from 1 to {limit}; linear-projection takes larger matmuls"
                )
        return [Projection("tile", tile_m, tile_n, tile_k)]

    return _run(choose, dtype or ("float32",), (1,), **rest)


def _run(
    choose: Callable[[], list[Projection]],
    dtypes: tuple[str, ...],
    batches: tuple[int, ...],
    implementation: tuple[str, ...],
    target: str,
    lnc: int | None,
    toolchain: str,
    num_runs: int,
    threads: int,
    out: Path,
    format_: str | None,
    output: Path | None,
    tile: tuple[int, int, int] | None = None,
) -> int:
    from neff_bench.errors import WrongCall
    from neff_bench.experiments.backends import limit_threads

    format = chosen(format_, output)
    projections = choose()
    limit_threads(threads)
    lncs = CHIPS[target].lncs
    if lnc is not None and lnc not in lncs:
        raise WrongCall(f"--lnc {lnc}: {target} has {' or '.join(map(str, lncs))}")
    if tile is not None and "xla" in implementation:
        raise WrongCall("--tile-m, --tile-k and --tile-n are of the nki kernel; the compiler chooses for xla")
    from neff_bench.experiments.output import emit
    from neff_bench.experiments.projection import report

    rows = report(
        projections,
        dtypes=dtypes,
        batches=batches,
        implementations=implementation or ("nki",),
        target=target,
        lnc=lnc or max(lncs),
        toolchain=toolchain,
        runs=num_runs,
        threads=threads,
        store=out,
        tile=tile,
    )
    emit(_answer(rows), format, output)
    return 1 if any(row.device_us is None or row.check != "passed" for row in rows) else 0


def _answer(rows: list[ReportRow]) -> Answer:
    from dataclasses import asdict

    from neff_bench.experiments.output import answer, grid

    records = [asdict(row) for row in rows]
    first = rows[0]
    sources = sorted({row.source for row in rows if row.source})
    backend = next((row.host_backend for row in rows if row.host_backend), None)
    device = f"device: {first.target} LNC {first.lnc}, {' and '.join(sources) or 'no profile'}"
    if first.fixed_overhead_us:
        device += f" (fixed overhead of any run {first.fixed_overhead_us:.1f} us included)"
    notes = [f"{device}; host: {backend}, median ± standard deviation" if backend else f"{device}; host: not timed"]
    if backend and "simulated" in sources:
        notes.append("no speed-up: the host is measured and the device simulated")
    notes.append("matmul, accumulate and transpose times are sums over instructions and cores, which overlap")
    notes.append("reads/byte: bytes read from HBM / bytes of both inputs; weight loads: how often B is read")
    notes.append("energy: not known; there is no public figure for the power of a NeuronCore under load")
    notes += [f"{row.test_case} {row.dtype}: {row.reason}" for row in rows if row.reason]
    times, kernel, memory = (_known(heads, records) for heads in (TIMES, KERNEL, MEMORY))
    return answer(records, [grid(records, times), grid(records, kernel), grid(records, memory, notes)])


def _known(heads: dict[str, str], records: list[dict[str, Any]]) -> dict[str, str]:
    """Without the columns that no row fills."""
    return {key: head for key, head in heads.items() if any(record[key] is not None for record in records)}
