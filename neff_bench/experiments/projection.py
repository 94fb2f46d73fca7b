"""Times linear projections on the device and on the host, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from neff_bench.errors import WrongCall
from neff_bench.experiments.device import Build, Instructions, build_and_profile, read_instructions, relative_error
from neff_bench.experiments.errors import BadResults, ExperimentError
from neff_bench.experiments.latency import NPUMatmulProfiler, ProfilingResult
from neff_bench.experiments.results import read_text
from neff_bench.experiments.workload import DTYPES, MatmulConfig


def read_projections(path: Path) -> dict[str, tuple[int, int, int]]:
    """Return (M, N, K) by name from a YAML file `name: {M: 64, N: 960, K: 768}`. Raises `BadResults` naming file and entry."""
    import yaml

    try:
        data = yaml.safe_load(read_text(path))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise BadResults(f"{path}: not YAML: {' '.join(str(error).split())[:160]}") from None
    if not isinstance(data, dict) or not data:
        raise BadResults(f"{path}: expected entries such as my_proj: {{M: 64, N: 960, K: 768}}")
    found = {}
    for name, sizes in data.items():
        if not isinstance(sizes, dict) or sorted(map(str, sizes)) != ["K", "M", "N"]:
            raise BadResults(f"{path}: {name}: expected the keys M, N and K")
        try:
            MatmulConfig(sizes["M"], sizes["K"], sizes["N"])
        except WrongCall as error:
            raise BadResults(f"{path}: {name}: {error}") from None
        found[str(name)] = (sizes["M"], sizes["N"], sizes["K"])
    return found


def report(builds: Sequence[Build], toolchain: str, runs: int, threads: int, store: Path) -> list[dict[str, Any]]:
    """Build, profile and time everything; returns a record for each of `builds`. Raises `WrongCall` when a stage refuses the call, and
    `ExperimentError`."""
    distinct = list(dict.fromkeys(builds))
    rows = build_and_profile(distinct, store, toolchain)
    host = _time_host(distinct, runs, threads)
    counted = read_instructions(store, {build.name: rows[build.name] for build in distinct if build.name in rows})
    return [
        _record(build, rows.get(build.name), counted.get(build.name), host.get((build.config, build.dtype)), store)
        for build in builds
    ]


def _time_host(builds: Sequence[Build], runs: int, threads: int) -> dict[tuple[MatmulConfig, str], ProfilingResult]:
    """Return host times where the host has the dtype (float8 it has not); none for 0 runs."""
    if not runs:
        return {}
    profiler = NPUMatmulProfiler(use_neuron=False, threads=threads)
    found: dict[tuple[MatmulConfig, str], ProfilingResult] = {}
    for build in builds:
        key = (build.config, build.dtype)
        if build.dtype in DTYPES and key not in found:
            config = MatmulConfig(build.M, build.K, build.N, build.dtype)
            found[key] = profiler.profile_single_matmul(config, warmup=5, iterations=runs)
    return found


def _record(
    build: Build,
    row: Mapping[str, Any] | None,
    instructions: Instructions | None,
    host: ProfilingResult | None,
    store: Path,
) -> dict[str, Any]:
    """Return what is told of a build; None is what is not known.

    `device_us`: total time of the profile, fixed overhead included (`fixed_overhead_us` of it when simulated).
    `host_ms`, `host_std_ms`: median and standard deviation of `host_backend`. `speedup`: host / device where both are
    measured; a measured time over a simulated one is no speed-up.
    `relative_error`: largest error / largest magnitude of the reference. Counts and sums of durations are over both cores.
    `sbuf_peak_bytes`, `psum_peak_bytes`: of one partition. `dma_us`: time with a DMA under way. `reads_per_input_byte`: bytes
    read from HBM / bytes of the inputs; `weight_loads`: how often each byte of the weights (B) is read.
    """
    if row is None:
        raise ExperimentError(f"{build.name}: stage 2 gave no row for it")
    bundle = store / build.name
    counts = asdict(instructions) if instructions else dict.fromkeys(field.name for field in fields(Instructions))
    # The row has the bytes of HBM by its own counters, below.
    counts.pop("read_bytes")
    device_us = row["total_time_us"]
    total_tiles = build.total_tiles
    sbuf_peak_bytes, psum_peak_bytes = _peaks(bundle, row)
    per_tile = {
        "device_us_per_tile": device_us / total_tiles if device_us else None,
        "matmul_count": counts.pop("matmul_count"),
        "matmul_us": counts.pop("matmul_us"),
        "matmul_us_per_tile": instructions.matmul_us / total_tiles if instructions else None,
    }
    return {
        "test_case": build.test_case,
        "M": build.M,
        "N": build.N,
        "K": build.K,
        "batch": build.batch,
        "dtype": build.dtype,
        "implementation": build.implementation,
        "target": build.target,
        "lnc": build.lnc,
        "source": row["source"],
        "check": row["check"],
        "device_us": device_us,
        "fixed_overhead_us": row.get("fixed_overhead_us"),
        "host_backend": f"{host.backend} {host.version}" if host else None,
        "host_ms": host.latency_ms if host else None,
        "host_std_ms": host.std_ms if host else None,
        # A simulated device against a real host would be a ratio of two different things.
        "speedup": _speedup(host, device_us) if row["source"] == "measured" else None,
        "max_abs_error": row["max_abs_error"],
        "relative_error": relative_error(bundle, row["max_abs_error"]) if row["status"] == "profiled" else None,
        "device_gflops_per_s": build.config.flops / device_us / 1e3 if device_us else None,
        "host_gflops_per_s": host.gflops_per_s if host else None,
        "total_tiles": total_tiles,
        **per_tile,
        **counts,
        "sbuf_peak_bytes": sbuf_peak_bytes,
        "psum_peak_bytes": psum_peak_bytes,
        "hbm_read_bytes": row["hbm_read_bytes"],
        "hbm_write_bytes": row["hbm_write_bytes"],
        "tile": "x".join(map(str, build.tile)) if build.tile else None,
        "dma_us": row["dma_active_us"],
        "reads_per_input_byte": row["hbm_read_bytes"] / sum(build.input_bytes) if row["hbm_read_bytes"] else None,
        "weight_loads": _weight_loads(build, instructions),
        "reason": row["reason"],
    }


def _speedup(host: ProfilingResult | None, device_us: float | None) -> float | None:
    return 1e3 * host.latency_ms / device_us if host and host.latency_ms and device_us else None


def _weight_loads(build: Build, instructions: Instructions | None) -> float | None:
    """Return how often the weights are loaded; None where the profile does not say which tensor is read."""
    read = instructions.read_bytes if instructions else None
    return read["rhs"] / build.input_bytes[1] if read and "rhs" in read else None


def _peaks(bundle: Path, row: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Return SBUF and PSUM of one partition, in bytes; None where the profile does not say."""
    from neff_bench.parsers.errors import ParseError
    from neff_bench.parsers.profile_json import read_summary

    for path in sorted((bundle / "profiles" / str(row.get("run"))).glob("summary-*.json")):
        try:
            summary = read_summary(path)
        except ParseError:
            continue
        return summary.simulator_sbuf_peak_bytes, summary.simulator_psum_peak_bytes
    return None, None
