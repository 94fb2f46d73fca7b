"""Implements `estimate`: the row of a kernel without a file, a process or an execution.

The kernel is recorded and scheduled in this process, by the same code that `neuron-sim` runs, so its times and counters
equal the command's to the bit. Nothing is executed: times do not depend on the values of the inputs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neff_bench.errors import WrongCall

if TYPE_CHECKING:
    from neff_bench.doors.inputs import Input
    from neff_bench.neffs.case import Case
    from neff_bench.simulator.nki.spec import InputSpec, KernelSpec
    from neff_bench.simulator.program import Program
    from neff_bench.simulator.timing.schedule import Schedule
    from neff_bench.simulator.timing.timeline import Timeline
    from neff_bench.stage2_profile.metrics.rows import Row

    Kernel = Callable[..., Any] | str


def estimate(  # noqa: PLR0913 - its users name them
    kernel: Kernel,
    inputs: Mapping[str, Input],
    *,
    target: str = "trn2",
    lnc: int | None = None,
    arguments: Mapping[str, Any] | None = None,
    flops: int | None = None,
    implementation: str = "nki",
    sdk: str | None = None,
) -> Row:
    """Return the simulated times and exact counters of one kernel.

    `kernel`: a function, decorated with `nki.jit` or plain, or `"file.py:name"`, or `"package.module:name"`. With the
    `implementation` "xla" it is a jax function.
    `inputs`: by parameter name, in the order of the NEFF: an array, or its shape (in elements) and canonical dtype, such as
    `((128, 512), "bfloat16")`. `arguments`: further keyword arguments. `lnc`: physical cores in the logical core; None for what AWS's
    launch without a grid has (`neffs/intake.py`).
    `flops`: floating-point operations of the mathematics; MFU needs them. `sdk`: the release of the AWS SDK whose refusals the findings
    name; None for that of the compiler here, else the newest.

    A kernel with collectives is estimated with the ranks that its replica groups name.

    The row has `source` "simulated", `status` "estimated" and `check` None, or "suspect" where the program alone shows that its outputs
    cannot be right. Raises `SimulatorError` with the kernel's own
    line for a kernel that cannot be compiled, and `WrongCall` for what is no input.
    """
    program = record_kernel(kernel, inputs, target, lnc, dict(arguments or {}), implementation)
    return row_of(program, flops, sdk, folders(kernel))


def records_alike(
    kernel: Kernel,
    inputs: Mapping[str, Input],
    *,
    target: str = "trn2",
    lnc: int | None = None,
    arguments: Mapping[str, Any] | None = None,
) -> bool:
    """Return whether the kernel is the same program each time it is recorded. A compile cache cannot know one that is not, and a
    framework compiles it again in every call. The arguments and what it raises are those of `estimate`.
    """
    from neff_bench.simulator.program import encode

    first, second = (record_kernel(kernel, inputs, target, lnc, dict(arguments or {})) for _ in range(2))
    return encode(first) == encode(second)


def folders(kernel: Kernel) -> list[str | Path]:
    """Return where the files of a kernel's lines lie: beside its own file, and below the entries of `sys.path`."""
    from neff_bench.simulator.nki.jit import body

    code = None if isinstance(kernel, str) else getattr(body(kernel), "__code__", None)
    file = kernel.rpartition(":")[0] if isinstance(kernel, str) else code.co_filename if code else ""
    return [Path(file).resolve().parent, *sys.path]


@dataclass(frozen=True)
class Simulated:
    """A recorded program with its times. `keys`: the profiler's summary of them."""

    program: Program
    schedule: Schedule
    timeline: Timeline
    keys: Mapping[str, Any]


def simulated(program: Program) -> Simulated:
    """Return the times of a recorded program."""
    from neff_bench.simulator.timing.counters import summarise
    from neff_bench.simulator.timing.schedule import schedule
    from neff_bench.simulator.timing.timeline import timeline_of

    timed = schedule(program)
    timeline = timeline_of(timed)
    return Simulated(program, timed, timeline, summarise(program, timed, timeline))


def row_of(
    program: Program, flops: int | None = None, sdk: str | None = None, files: Sequence[str | Path] | None = None
) -> Row:
    """Return the row of a recorded program, with `status` "estimated". All ranks of a program that communicates arrive at once, so the
    row is that of each of them. `files`: the folders that may hold the kernel's file, by default those of `sys.path`."""
    return judged_row(numbers_of(simulated(program), flops), program, sdk, files)


def judged_row(row: Row, program: Program, sdk: str | None, files: Sequence[str | Path] | None) -> Row:
    """Return the row with what the program alone shows. The arguments are those of `row_of`."""
    from neff_bench.neffs.findings import of_release
    from neff_bench.sdk.installed import judged_by
    from neff_bench.simulator.execution.calls import refused
    from neff_bench.simulator.execution.findings import of_program
    from neff_bench.stage2_profile.metrics.check import Verdict, with_findings

    findings = of_program(program)
    verdict = with_findings(Verdict("unchecked"), findings)
    every = (*findings, *refused(program, sys.path if files is None else files))
    if sdk is not None or any(one.releases for one in every):  # looking for the compiler here takes a while
        every = of_release(every, judged_by(sdk))
    return replace(row, check="suspect" if verdict.check == "suspect" else None, reason=verdict.reason, findings=every)


def numbers_of(timed: Simulated, flops: int | None = None, case: Case | None = None) -> Row:
    """Return the row of a program with its times, before anybody has judged it. `flops`: as for `estimate`. `case`: what the program is of, where its
    inputs alone do not say it."""
    from neff_bench.chips import peak_tflops
    from neff_bench.neffs.intake import own_case, shapes_in_words
    from neff_bench.parsers.summary import summary_from
    from neff_bench.stage2_profile.metrics.rows import Row
    from neff_bench.stage2_profile.metrics.summaries import row_numbers

    program = timed.program
    summary = summary_from(timed.keys)
    inputs = [program.buffers[at] for at in program.inputs]
    dtype = case.dtype if case else inputs[0].dtype if inputs else None
    peak = peak_tflops(program.target, dtype, program.lnc) if dtype else None
    if case is None:
        shapes = [(buffer.shape, buffer.dtype) for buffer in inputs]
        case = own_case(program.name, shapes, program.target, program.lnc)
        case = replace(case, ranks=program.ranks, implementation="xla" if program.from_hlo else "nki")
    return Row(
        case=case.name,
        kernel=case.kernel,
        implementation=case.implementation,
        dims=case.dims,
        dtype=dtype,
        target=case.target,
        lnc=case.lnc,
        ranks=case.ranks if case.ranks > 1 else None,
        slowest_rank=0 if program.ranks > 1 else None,
        source="simulated",
        status="estimated",
        shapes=shapes_in_words(buffer.shape for buffer in inputs),
        tool=summary.profiler_version,
        clock="profile",
        model=summary.simulator_model,
        time_error=summary.simulator_time_error,
        uncompared_operations=summary.simulator_uncompared_operations,
        **row_numbers([summary], model_flops=flops, peak=peak),
    )


def preload() -> None:
    """Estimate the tutorial's kernel, so that processes forked from this one have all that an estimate imports and computes once."""
    kernel = Path(__file__).with_name("tutorial") / "my_kernels.py"
    estimate(f"{kernel}:scale", {"x": ((128, 128), "float32")})


def record_kernel(
    kernel: Kernel,
    inputs: Mapping[str, Input],
    target: str,
    lnc: int | None,
    arguments: dict[str, Any],
    implementation: str = "nki",
) -> Program:
    """Return the program of a kernel; the arguments are those of `estimate`. Raises `SimulatorError`, `GenerateError` for a jax function
    that cannot be traced, and `WrongCall` for what is no input or names no function."""
    from neff_bench.neffs.intake import check_own, default_lnc
    from neff_bench.simulator.nki.install import install
    from neff_bench.simulator.nki.jit import body, label
    from neff_bench.simulator.nki.load import trace_kernel
    from neff_bench.simulator.nki.trace import Call, record

    check_own(implementation)
    lnc = default_lnc(target) if lnc is None else lnc
    if isinstance(kernel, str):
        spec = kernel_spec(kernel, inputs, arguments)
        if implementation == "nki":
            return trace_kernel(spec, target, lnc)
        return _lowered(spec.entry, spec.inputs, arguments, target, lnc)
    specs = input_specs(inputs)
    if implementation == "xla":
        return _lowered(kernel, specs, arguments, target, lnc)
    install()  # the function may import nki itself, when it runs
    function = body(kernel)
    return record(Call(function, label(function), specs, arguments), target, lnc)


def kernel_spec(kernel: str, inputs: Mapping[str, Input], arguments: dict[str, Any]) -> KernelSpec:
    """Return the specification of a kernel that is named as `estimate` takes it. Raises `WrongCall`."""
    from neff_bench.simulator.nki.spec import KernelSpec

    file, _colon, name = kernel.rpartition(":")
    if not file or not name:
        raise WrongCall(f"kernel {kernel!r}: expected file.py:function or package.module:function")
    entry = f"{Path(file).resolve()}:{name}" if file.endswith(".py") else kernel
    return KernelSpec(entry, input_specs(inputs), arguments=arguments)


def input_specs(inputs: Mapping[str, Input]) -> tuple[InputSpec, ...]:
    """Return shape and dtype of each input. Raises `WrongCall` for what is none."""
    from neff_bench.doors.inputs import read_input
    from neff_bench.simulator.nki.spec import InputSpec

    return tuple(InputSpec(name, *read_input(name, given)[:2]) for name, given in inputs.items())


def _lowered(kernel: Kernel, specs: Sequence[InputSpec], arguments: dict[str, Any], target: str, lnc: int) -> Program:
    """Return the program of a jax function, with the names of the kernel and of its inputs instead of the graph's."""
    from msgspec import structs

    from neff_bench.neffs.intake import kernel_name
    from neff_bench.simulator.hlo.lower import lower_hlo
    from neff_bench.simulator.nki.jit import label
    from neff_bench.simulator.nki.load import loaded
    from neff_bench.stage1_generate.toolchains.xla import trace

    shapes = [(spec.shape, spec.dtype) for spec in specs]
    with loaded(kernel) if isinstance(kernel, str) else nullcontext(kernel) as function:
        program = lower_hlo(trace(function, shapes, arguments), target, lnc)
    buffers = list(program.buffers)
    for at, spec in zip(program.inputs, specs, strict=True):
        buffers[at] = structs.replace(buffers[at], name=spec.name)
    name = kernel_name(kernel) if isinstance(kernel, str) else label(kernel)
    return structs.replace(program, name=name, buffers=tuple(buffers))
