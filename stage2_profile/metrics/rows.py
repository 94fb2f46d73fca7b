"""The row: one case as the table, CSV and JSON show it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, Literal

from neff_bench.neffs.bundle import Manifest

Status = Literal["profiled", "estimated", "captured", "unprofiled", "failed"]
Source = Literal["simulated", "measured"]
Check = Literal["passed", "failed", "zero", "unchecked"]


@dataclass(frozen=True, kw_only=True)
class Row:
    """One case with the numbers of its newest profile. None: not known.

    `status`: `profiled`; `estimated` for a row of `neff_bench.estimate`, which runs nothing; `captured` when no tool has viewed the trace yet; `unprofiled` when only what
    is there was asked for, and there is none; `failed`, with a `reason`.
    `check`: outputs against the reference; `zero` is an output of zeros where the reference has others.
    Times: medians over the profiled executions; `total_time_us` from start to end with idle gaps, `*_active_us` the union
    of the instructions (DMA packets) of one engine over the physical cores; `total_time_iqr_us` the interquartile range
    over `executions`. `shapes`: of the inputs of a case from elsewhere, whose dimensions have no names.
    `kernel_path`: which of its code paths the kernel takes for these dimensions (`CTE`, `TKG`), where it has several.
    `fixed_overhead_us`: the part of a simulated time that any kernel has.
    `mfu_percent`: model_flops / (mfu_peak_tflops x total time); `mfu_estimated_percent` is the profiler's own figure.
    `arithmetic_intensity`: model FLOPs per HBM byte moved. `command`: a shell line that repeats the profile, from the
    directory above the bundle. `warnings`: what was odd though the profile is good.
    """

    case: str
    kernel: str | None = None
    implementation: str | None = None
    dims: tuple[tuple[str, int], ...] = ()
    dtype: str | None = None
    target: str | None = None
    lnc: int | None = None
    source: Source | None = None
    status: Status
    check: Check | None = None
    max_abs_error: float | None = None
    total_time_us: float | None = None
    total_active_time_us: float | None = None
    tensor_active_us: float | None = None
    vector_active_us: float | None = None
    scalar_active_us: float | None = None
    gpsimd_active_us: float | None = None
    sync_active_us: float | None = None
    dma_active_us: float | None = None
    mfu_percent: float | None = None
    mfu_peak_tflops: float | None = None
    model_flops: int | None = None
    hardware_flops: int | None = None
    matmul_instruction_count: int | None = None
    hbm_read_bytes: int | None = None
    hbm_write_bytes: int | None = None
    arithmetic_intensity: float | None = None
    compile_time_s: float | None = None
    tensor_instruction_count: int | None = None
    vector_instruction_count: int | None = None
    scalar_instruction_count: int | None = None
    gpsimd_instruction_count: int | None = None
    sync_instruction_count: int | None = None
    dma_packet_count: int | None = None
    fixed_overhead_us: float | None = None
    mfu_estimated_percent: float | None = None
    executions: int | None = None
    total_time_iqr_us: float | None = None
    shapes: str | None = None
    kernel_path: str | None = None
    run: str | None = None
    tool: str | None = None
    model: str | None = None
    time_error: str | None = None
    command: str | None = None
    warnings: tuple[str, ...] = ()
    reason: str | None = None

    @property
    def failed(self) -> bool:
        return self.status == "failed" or self.check in ("failed", "zero")


NAMES = tuple(field.name for field in fields(Row))


def built_fields(manifest: Manifest) -> dict[str, Any]:
    """The part of a row that says what was built."""
    case = manifest.case
    return {
        "kernel": case.kernel,
        "implementation": case.implementation,
        "dims": case.dims,
        "dtype": case.dtype,
        "target": case.target,
        "lnc": case.lnc,
        "kernel_path": manifest.kernel_path,
        "compile_time_s": manifest.compile_time_s,
    }


def to_dict(row: Row) -> dict[str, Any]:
    """Keys in the order of the columns, each dimension under its own name."""
    record: dict[str, Any] = {}
    for name in NAMES:
        if name == "dims":
            record.update(row.dims)
        else:
            record[name] = rounded(name, getattr(row, name))
    return record


def rounded(name: str, value: Any) -> Any:
    """Times to whole picoseconds, which is what the device counts."""
    return round(value, 6) if name.endswith("_us") and value is not None else value


def columns(rows: Iterable[Row]) -> list[str]:
    """Column names for rows of several kernels: the dimensions of all of them, in order of appearance."""
    dims = dict.fromkeys(name for row in rows for name, _ in row.dims)
    return [column for name in NAMES for column in (dims if name == "dims" else [name])]
