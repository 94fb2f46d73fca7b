"""Turns a stream of kernel variants into a stream of answers: what a program that writes kernels needs."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import orjson

from neff_bench.doors.inputs import InputShape
from neff_bench.errors import NeffBenchError
from neff_bench.system.decoding import decoder
from neff_bench.system.forked import Died, map_forked

if TYPE_CHECKING:
    from neff_bench.simulator.program import Program
    from neff_bench.stage2_profile.metrics.rows import Row


class Tolerance(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """|out - ref| <= atol + rtol * |ref|."""

    rtol: float
    atol: float


class Variant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of the input. `kernel`: `file.py:function` or `package.module:function`. `implementation`: nki, or xla for a jax
    function. `varied`: values of the function's parameters, else of constants of its file. `check`: run the kernel on seeded
    inputs, and compare its outputs with those of `reference` (`file.py:function`, float32 arrays by input name)."""

    id: str | int
    kernel: str
    inputs: dict[str, InputShape]
    implementation: str = "nki"
    arguments: dict[str, Any] = {}
    target: str = "trn2"
    lnc: int | None = None
    flops: int | None = None
    check: bool = False
    reference: str | None = None
    tolerance: Tolerance | None = None
    varied: dict[str, Any] = {}


class Answer(msgspec.Struct, frozen=True):
    """One line of the output. `refused`: why AWS's compiler would refuse the variant, None where no known rule says so. `row`: as
    `profile-neffs --format json` writes it, None when the variant `failed`. `sure`: whether the evidence on pairs of variants suffices to
    call it faster than the next of the ranked ones; None where it has no next or is not ranked."""

    id: str | int | None
    status: str
    total_time_us: float | None
    check: str | None
    reason: str | None
    refused: str | None
    row: dict[str, Any] | None
    sure: bool | None = None


DECODER = decoder(Variant)
_THREADS = "OPENBLAS_NUM_THREADS"


class Limits(NamedTuple):
    """Says how variants are answered. `sdk`: the release that may refuse them. `jobs`: how many at once. `timeout_s`, `memory_bytes`: for one.
    `force`: also those that an earlier call has answered."""

    sdk: str
    jobs: int
    timeout_s: float
    memory_bytes: int
    force: bool = False


def tune(lines: Iterable[bytes], limits: Limits) -> Iterator[Answer]:
    """Yield the answer to each line, in the order in which the answers come. A variant that crashes, hangs or fills its memory
    costs its own answer. A line is asked for when there is room for its variant. What an earlier call has answered costs no process."""
    from neff_bench.doors.tune.known import Known

    known = Known(limits.sdk, limits.force)

    def answered(line: bytes) -> bytes | None:
        try:
            variant = DECODER.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None  # its own process says so
        nameless = msgspec.json.encode(msgspec.structs.replace(variant, id=""))
        found = known.find(line, nameless, tuple(filter(None, (variant.kernel, variant.reference))))
        if found is None:
            _warm(variant)
            return None
        return msgspec.json.encode(msgspec.structs.replace(msgspec.json.decode(found, type=Answer), id=variant.id))

    for line, data in map_forked(
        partial(_answer, limits.sdk),
        filter(bytes.strip, lines),
        jobs=limits.jobs,
        timeout_s=limits.timeout_s,
        memory_bytes=limits.memory_bytes,
        known=answered,
    ):
        if isinstance(data, Died):
            yield _failed(_id_of(line), data.reason)
            continue
        answer = msgspec.json.decode(data, type=Answer)
        if answer.status == "estimated":
            known.keep(line, data)
        yield answer


def ranked(answers: Iterable[Answer], top: int) -> list[Answer]:
    """Return the `top` best of those that are not wrong: the fastest first, but what AWS's compiler would refuse after all others."""
    from neff_bench.simulator.timing.interval import sure_ratio
    from neff_bench.stage2_profile.metrics.rows import BAD

    good = [answer for answer in answers if answer.total_time_us is not None and answer.check not in BAD]
    order = sorted(good, key=lambda answer: (answer.refused is not None, answer.total_time_us or 0.0))
    sure = [
        None
        if (a.refused is None) != (b.refused is None)
        else (b.total_time_us or 0.0) >= sure_ratio() * (a.total_time_us or 0.0)
        for a, b in itertools.pairwise(order)
    ]
    return [msgspec.structs.replace(answer, sure=says) for answer, says in zip(order, [*sure, None])][:top]


def _warm(variant: Variant) -> None:
    """Do what the process of a variant would do anew: import what every variant needs, and judge the rules of its kernel's file."""
    _warm_all()
    from neff_bench.simulator.execution.calls import judge_file

    judge_file(Path(variant.kernel.rpartition(":")[0]), variant.target)


@cache
def _warm_all() -> None:
    """Import what every variant needs, before the first fork. BLAS gets one thread: forks share the CPUs already."""
    before = os.environ.get(_THREADS)
    os.environ.setdefault(_THREADS, "1")
    from neff_bench.doors import checking, estimation  # noqa: F401  (checking is imported to be warm)

    estimation.preload()
    if before is None:
        del os.environ[_THREADS]  # BLAS has read it


def _answer(sdk: str, line: bytes) -> bytes:
    """Return one variant, in a process of its own."""
    try:
        variant = DECODER.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        allowed = f"; allowed: {', '.join(Variant.__struct_fields__)}" if "unknown field" in str(error) else ""
        return msgspec.json.encode(_failed(_id_of(line), f"not a variant: {error}{allowed}"))
    try:
        row = _row(variant, sdk)
    except NeffBenchError as error:
        return msgspec.json.encode(_failed(variant.id, str(error)))
    from neff_bench.stage2_profile.metrics.rows import to_dict

    return orjson.dumps(
        {
            "id": variant.id,
            "status": row.status,
            "total_time_us": row.total_time_us,
            "check": row.check,
            "reason": row.reason,
            "refused": next((str(one) for one in row.findings if one.kind == "refused"), None),
            "row": to_dict(row),
        }
    )


def _row(variant: Variant, sdk: str) -> Row:
    """Estimate one variant. Raises `NeffBenchError` for a kernel or a reference that fails."""
    from neff_bench.doors.checking import check_program
    from neff_bench.doors.estimation import folders, row_of

    program = _recorded(variant)
    row = row_of(program, variant.flops, sdk, folders(variant.kernel))
    if not variant.check:
        return row
    limits = None if variant.tolerance is None else (variant.tolerance.rtol, variant.tolerance.atol)
    verdict, findings = check_program(program, variant.reference, {**variant.arguments, **variant.varied}, limits)
    row = replace(row, check=verdict.check, max_abs_error=verdict.max_abs_error, reason=verdict.reason)
    return replace(row, findings=(*findings, *(one for one in row.findings if one.kind == "refused")))


def _recorded(variant: Variant) -> Program:
    """Return the program of a variant. Raises `NeffBenchError`."""
    from neff_bench.doors.estimation import kernel_spec, record_kernel
    from neff_bench.neffs.intake import default_lnc
    from neff_bench.simulator.nki.load import trace_kernel

    inputs: dict[str, Any] = {name: (given.shape, given.dtype) for name, given in variant.inputs.items()}
    if variant.varied and variant.implementation == "nki":
        spec = msgspec.structs.replace(kernel_spec(variant.kernel, inputs, variant.arguments), varied=variant.varied)
        return trace_kernel(spec, variant.target, default_lnc(variant.target) if variant.lnc is None else variant.lnc)
    arguments = {**variant.arguments, **variant.varied}
    return record_kernel(variant.kernel, inputs, variant.target, variant.lnc, arguments, variant.implementation)


def _failed(name: str | int | None, reason: str) -> Answer:
    return Answer(name, "failed", None, None, reason, None, None)


def _id_of(line: bytes) -> str | int | None:
    try:
        found = orjson.loads(line).get("id")
    except (orjson.JSONDecodeError, AttributeError):
        return None
    return found if isinstance(found, (str, int)) else None
