"""Declares the row: one case as the table, CSV and JSON show it. Its metrics are the one table of them: a line there is a metric
everywhere (docs/metrics.md shows what follows from it)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache, partial
from html import escape
from typing import TYPE_CHECKING, Any, Literal, get_type_hints

import msgspec

from neff_bench.chips.engines import ENGINES
from neff_bench.neffs import findings
from neff_bench.neffs.bundle import Manifest
from neff_bench.neffs.findings import Finding
from neff_bench.neffs.intake import shapes_in_words
from neff_bench.neffs.own import OwnKernel
from neff_bench.stage2_profile.metrics import derived
from neff_bench.stage2_profile.metrics.metric import metric, metrics_of
from neff_bench.system.decoding import prepare

if TYPE_CHECKING:
    from neff_bench.parsers.formats.ntff import DmaKind
    from neff_bench.parsers.trace import Ntff

Status = Literal["profiled", "estimated", "captured", "unprofiled", "failed"]
Source = Literal["simulated", "measured"]
Clock = Literal["profile", "execution"]
Check = Literal["passed", "wrong", "not built", "suspect", "unchecked"]
BAD: tuple[Check, ...] = ("not built", "wrong", "suspect")
"""The checks of a case that failed, the worst first."""

PACKETS = ("static_dma_packet_count", "software_dynamic_dma_packet_count", "hardware_dynamic_dma_packet_count")
"""The three kinds of DMA packets. The profiler leaves out a kind that did not occur."""
INSTRUCTIONS = tuple(f"{name}_engine_instruction_count" for name in ENGINES)


def engine(name: str, what: str = "active_time_s") -> Callable[[Ntff], float | None]:
    """Return what a trace tells of an engine: its active time in seconds, or its `instruction_count`; None where it does not tell of the engine."""
    return lambda trace: getattr(trace.engines[name], what) if name in trace.engines else None


instructions = partial(engine, what="instruction_count")


def all_instructions(trace: Ntff) -> int | None:
    """Return the instructions of all engines in a trace; None where it does not tell of each."""
    counts = [time.instruction_count for time in trace.engines.values()]
    return sum(counts) if len(counts) == len(ENGINES) else None


def packets(kind: DmaKind) -> Callable[[Ntff], int | None]:
    """Return the DMA packets of a kind in a trace, 0 where it has other kinds alone; None where it tells of no kind."""
    return lambda trace: trace.dma_kinds[kind].packets if kind in trace.dma_kinds else 0 if trace.dma_kinds else None


@dataclass(frozen=True, kw_only=True, repr=False)
class Row:
    """One case with the numbers of its newest profile; None is what is not known. docs/glossary.md says what each key means.

    `by_rank` has a row for each rank; the row itself has the numbers of the slowest one, of equal ones the first. `command` is run from the
    directory above the bundle.
    """

    case: str
    kernel: str | None = None
    implementation: str | None = None
    dims: tuple[tuple[str, int], ...] = ()
    dtype: str | None = None
    target: str | None = None
    lnc: int | None = None
    ranks: int | None = None
    rank: int | None = None
    slowest_rank: int | None = None
    source: Source | None = None
    status: Status
    check: Check | None = None
    max_abs_error: float | None = None
    # fmt: off
    total_time_us: float | None = metric("us", "the time in a profile, from its first event to its last, with the gaps in which nothing runs", "total_time_s", trace=lambda trace: trace.total_time_s, better="lower", head="total us")
    total_time_low_us: float | None = metric("us", "the lower end of the range in which hardware's total time is expected, for a simulated row: 8 of 10 kernels lie within theirs, where the row has no `*`", "simulator_low_total_time_s", head="low us")
    total_time_high_us: float | None = metric("us", "the upper end of that range", "simulator_high_total_time_s", head="high us")
    execution_time_us: float | None = metric("us", "the time of one launch on the device as nki.benchmark reports it, some microseconds below the total of a profile", "simulator_execution_time_s", better="lower", head="execution us")
    execution_time_low_us: float | None = metric("us", "the lower end of the range of execution_time_us", "simulator_low_execution_time_s", head="execution low us")
    execution_time_high_us: float | None = metric("us", "the upper end of that range", "simulator_high_execution_time_s", head="execution high us")
    total_active_time_us: float | None = metric("us", "the part of the total time in which at least one engine or one DMA works", "total_active_time_s", trace=lambda trace: trace.total_active_time_s, better="lower", head="active us")
    tensor_active_us: float | None = metric("us", "the time in which the Tensor Engine works; like all engine times without its waits, and once where both cores work at the same time", "tensor_engine_active_time_s", trace=engine("tensor"), better="lower", head="Tensor", share=True)
    vector_active_us: float | None = metric("us", "the time in which the Vector Engine works", "vector_engine_active_time_s", trace=engine("vector"), better="lower", head="Vector", share=True)
    scalar_active_us: float | None = metric("us", "the time in which the Scalar Engine works", "scalar_engine_active_time_s", trace=engine("scalar"), better="lower", head="Scalar", share=True)
    gpsimd_active_us: float | None = metric("us", "the time in which the GpSimd Engine works; where it issues a DMA, the time to issue it", "gpsimd_engine_active_time_s", trace=engine("gpsimd"), better="lower", head="GpSimd", share=True)
    sync_active_us: float | None = metric("us", "the time in which the Sync Engine works, which issues DMAs and waits for the others", "sync_engine_active_time_s", trace=engine("sync"), better="lower", head="Sync", share=True)
    dma_active_us: float | None = metric("us", "the time in which at least one DMA moves data", "dma_active_time_s", trace=lambda trace: trace.dma.active_time_s if trace.dma else None, better="lower", head="DMA", share=True)
    mfu_percent: float | None = metric("percent", "model FLOPs utilisation: model_flops / (mfu_peak_tflops x total time)", derived.mfu_percent, better="higher", head="MFU%")
    mfu_peak_tflops: float | None = metric("TFLOPS", "what the Tensor Engines of the row's cores do at most for its dtype", lambda evidence, _: evidence.peak_tflops)
    model_flops: int | None = metric("FLOPs", "the multiplications and additions that the mathematics of the case needs", lambda evidence, _: evidence.model_flops, better="either")
    hardware_flops: int | None = metric("FLOPs", "the multiplications and additions that the Tensor Engine does, transposes among them", "hardware_flops", better="lower")
    matmul_instruction_count: int | None = metric("count", "MATMUL instructions of the Tensor Engine", "matmul_instruction_count", trace=lambda trace: trace.matmul_instruction_count, better="lower")
    hbm_read_bytes: int | None = metric("bytes", "the bytes that DMAs read from HBM", "hbm_read_bytes", better="lower")
    hbm_write_bytes: int | None = metric("bytes", "the bytes that DMAs write to HBM", "hbm_write_bytes", better="lower")
    arithmetic_intensity: float | None = metric("FLOPs/byte", "model_flops, of a profile from elsewhere hardware_flops without transposes, for each byte that is read from HBM or written to it", derived.arithmetic_intensity)
    compile_time_s: float | None = metric("s", "how long the compiler took to make the NEFF; the build also starts Python, traces the kernel and computes its reference", better="lower")
    tensor_instruction_count: int | None = metric("count", "instructions of the Tensor Engine, waits among them", "tensor_engine_instruction_count", trace=instructions("tensor"), better="lower")
    vector_instruction_count: int | None = metric("count", "instructions of the Vector Engine, waits among them", "vector_engine_instruction_count", trace=instructions("vector"), better="lower")
    scalar_instruction_count: int | None = metric("count", "instructions of the Scalar Engine, waits among them", "scalar_engine_instruction_count", trace=instructions("scalar"), better="lower")
    gpsimd_instruction_count: int | None = metric("count", "instructions of the GpSimd Engine, waits among them", "gpsimd_engine_instruction_count", trace=instructions("gpsimd"), better="lower")
    sync_instruction_count: int | None = metric("count", "instructions of the Sync Engine, waits among them", "sync_engine_instruction_count", trace=instructions("sync"), better="lower")
    instruction_count: int | None = metric("count", "instructions of all engines, waits among them", INSTRUCTIONS, trace=all_instructions, better="lower")
    dma_packet_count: int | None = metric("count", "the packets that all DMAs consist of; a DMA is cut into packets, which move at the same time", PACKETS, trace=lambda trace: trace.dma.packets if trace.dma else None, better="lower")
    static_dma_packet_count: int | None = metric("count", "packets of DMAs whose descriptors were written when the kernel was compiled", "static_dma_packet_count", among=PACKETS, trace=packets("static"), better="lower")
    software_dynamic_dma_packet_count: int | None = metric("count", "packets of DMAs whose descriptors GpSimd writes while the kernel runs", "software_dynamic_dma_packet_count", among=PACKETS, trace=packets("software_dynamic"), better="lower")
    hardware_dynamic_dma_packet_count: int | None = metric("count", "packets of DMAs whose descriptors the hardware writes while the kernel runs", "hardware_dynamic_dma_packet_count", among=PACKETS, trace=packets("hardware_dynamic"), better="lower")
    collective_count: int | None = metric("count", "collective operations, such as all-reduce", "cc_op_count", better="lower")
    collective_active_us: float | None = metric("us", "the time in which at least one collective runs", "cc_op_active_time_s", better="lower")
    collective_sent_bytes: int | None = metric("bytes", "the bytes that this rank sends to others", "simulator_collective_sent_bytes", better="lower")
    dma_queue_count: int | None = metric("count", "the DMA queues that are used", "dma_queue_count", trace=lambda trace: len(trace.queues) or None, better="either")
    fixed_overhead_us: float | None = metric("us", "the part of a simulated total time before and after the kernel, which every kernel has", "simulator_fixed_overhead_time_s")
    mfu_estimated_percent: float | None = metric("percent", "model FLOPs utilisation as the profiler itself states it", "mfu_estimated_fraction", better="higher")
    neuroncore_cycle_count: int | None = metric("cycles", "the clock cycles of the core during the execution", "neuroncore_cycle_count", trace=lambda trace: trace.neuroncore_cycle_count)
    sbuf_read_bytes: int | None = metric("bytes", "the bytes that DMAs read from SBUF, and those that instructions read from one partition; those of tensor_tensor are not counted", "sbuf_read_bytes", better="lower")
    sbuf_write_bytes: int | None = metric("bytes", "the bytes that DMAs write to SBUF, and those that instructions write to one partition; those of tensor_tensor and memset are not counted", "sbuf_write_bytes", better="lower")
    psum_read_bytes: int | None = metric("bytes", "the bytes that engines read from PSUM", "psum_read_bytes", better="lower")
    psum_write_bytes: int | None = metric("bytes", "the bytes that engines write to PSUM", "psum_write_bytes", better="lower")
    inputs_outputs_weights_bytes: int | None = metric("bytes", "the bytes that the tensors of the kernel hold: inputs, weights and outputs", "inputs_outputs_weights_size_bytes", better="either")
    weight_bytes: int | None = metric("bytes", "the bytes that its weights hold", "weight_size_bytes", better="either")
    mfu_max_achievable_percent: float | None = metric("percent", "the model FLOPs utilisation that the profiler says this kernel can reach at most, given the bytes that it moves", "mfu_max_achievable_estimated_fraction")
    executions: int | None = metric("count", "how many executions were profiled; times are medians over them", lambda evidence, _: len(evidence.summaries) + len(evidence.traces))
    total_time_iqr_us: float | None = metric("us", "the interquartile range of the total time over the executions: the middle half of them lies within so many microseconds", derived.total_time_iqr_us)
    gap_us: float | None = metric("us", "the time between the end of what ran before on the core and the beginning of the execution, from a system trace", better="lower", head="gap us")
    throttle_active_us: float | None = metric("us", "the time with a limited clock, on the core with most of it", derived.throttle_active_us)
    execution_ci_low_us: float | None = metric("us", "the lower end of the 95 % confidence interval of the median total time over the executions of one capture, from 6 on", derived.execution_ci_low_us)
    execution_ci_high_us: float | None = metric("us", "the upper end of that interval", derived.execution_ci_high_us)
    capture_count: int | None = metric("count", "how many captures the row is the median of", lambda evidence, _: len(evidence.captures) or None)
    total_time_ci_low_us: float | None = metric("us", "the lower end of the 95 % confidence interval of the median total time over the captures", derived.total_time_ci_low_us)
    total_time_ci_high_us: float | None = metric("us", "the upper end of that interval", derived.total_time_ci_high_us)
    # fmt: on
    shapes: str | None = None
    kernel_path: str | None = None
    run: str | None = None
    tool: str | None = None
    clock: Clock | None = None
    model: str | None = None
    time_error: str | None = None
    uncompared_operations: str | None = None
    deterministic: bool | None = None
    command: str | None = None
    warnings: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    reason: str | None = None
    by_rank: tuple[Row, ...] = ()

    def __repr__(self) -> str:
        """Return the kernel, its shape, chip and LNC, its time and its check on a line."""
        shape = " ".join(f"{name}{size}" for name, size in self.dims) or self.shapes
        what = (self.kernel or self.case, self.implementation, shape, self.dtype, f"{self.target}/{self.lnc}")
        low, high = self.total_time_low_us, self.total_time_high_us
        spread = f" ({low:.1f} to {high:.1f})" if low is not None and high is not None else ""
        time = f"{self.total_time_us:.2f} us{spread}" if self.total_time_us is not None else self.reason
        said = filter(None, (time, self.source, self.status, self.check))
        return f"<Row {' '.join(filter(None, what))}: {', '.join(said)}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the same line. `Rows` are a table."""
        return f"<code>{escape(repr(self))}</code>"

    @property
    def failed(self) -> bool:
        """Whether the case failed, or its outputs or times are not to be trusted."""
        return self.status == "failed" or self.check in BAD


NAMES = tuple(field.name for field in fields(Row) if field.name != "by_rank")
"""The keys of a record. Rows of ranks are records of their own."""
METRICS = metrics_of(Row)


def built_fields(manifest: Manifest) -> dict[str, Any]:
    """Return the part of a row that says what was built."""
    case = manifest.case
    return {
        "kernel": case.kernel,
        "implementation": case.implementation,
        "dims": case.dims,
        "dtype": case.dtype,
        "target": case.target,
        "lnc": case.lnc,
        "ranks": case.ranks if case.ranks > 1 else None,
        "shapes": shapes_in_words(
            tensor.shape for tensor in manifest.inputs or (case.own.inputs if isinstance(case.own, OwnKernel) else ())
        ),
        "kernel_path": manifest.kernel_path,
        "compile_time_s": manifest.compile_time_s,
    }


def with_ranks(rows: Iterable[Row]) -> list[Row]:
    """Return the rows, each case of several ranks followed by those of its ranks."""
    return [each for row in rows for each in (row, *row.by_rank)]


def of_release(row: Row, release: str) -> Row:
    """Return the row without findings that this release of the SDK does not make."""
    ranks = tuple(of_release(each, release) for each in row.by_rank)
    return replace(row, findings=findings.of_release(row.findings, release), by_rank=ranks)


def to_dict(row: Row) -> dict[str, Any]:
    """Return the record of a row: what `--format json` writes. The dimensions are one object, each under its own name."""
    record = {name: rounded(name, getattr(row, name)) for name in NAMES}
    return {**record, "dims": dict(row.dims), "findings": msgspec.to_builtins(row.findings)}


def to_flat(row: Row) -> dict[str, Any]:
    """Return the same for a table, in the order of `columns`: a column for each dimension, and each finding as a sentence."""
    record = to_dict(row)
    dims = {dim_column(name): size for name, size in record.pop("dims").items()}
    return {**record, **dims, "findings": [str(finding) for finding in row.findings]}


def dim_column(name: str) -> str:
    """Return the column of a dimension: its own name, `dim_<name>` where another column has that name."""
    return f"dim_{name}" if name in NAMES else name


def from_dict(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record as this version writes it. Earlier ones wrote each dimension beside the other keys, and other words for a check.
    Raises `msgspec.ValidationError` for a value of another type."""
    record = dict(record)
    if record.get("check") in ("failed", "zero"):
        record["check"] = "wrong"
    if not isinstance(record.get("dims"), dict):
        dims = [name for name, value in record.items() if name not in NAMES and type(value) is int]
        record["dims"] = {name.removeprefix("dim_"): record.pop(name) for name in dims}
    check_types(record)
    return {**dict.fromkeys(NAMES), **record}


def check_types(record: Mapping[str, Any]) -> None:
    """Compare a record's types with those of the row. Raises `msgspec.ValidationError`."""
    msgspec.convert(record, _types())


@cache
def _types() -> type[msgspec.Struct]:
    types = {**get_type_hints(Row), "dims": dict[str, int], "findings": list[dict[str, Any]] | None}
    made = msgspec.defstruct("Record", [("case", str), *((name, types[name] | None, None) for name in NAMES[1:])])
    prepare(made)
    return made


def rounded(name: str, value: Any) -> Any:
    """Round times to whole picoseconds, which is what the device counts."""
    return round(value, 6) if name.endswith("_us") and value is not None else value


def columns(rows: Iterable[Row]) -> list[str]:
    """Return the column names of `to_flat` for rows of several kernels: the dimensions of all of them, in order of appearance."""
    dims = dict.fromkeys(dim_column(name) for row in rows for name, _ in row.dims)
    return [column for name in NAMES for column in (dims if name == "dims" else [name])]
