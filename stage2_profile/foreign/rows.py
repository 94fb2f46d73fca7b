"""Gives rows of profiles that other tools left (see foreign.py): read as they are, nothing is run and nothing is checked."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neff_bench.chips import peak_tflops
from neff_bench.chips.dtypes import RATE
from neff_bench.neffs.intake import shapes_in_words
from neff_bench.parsers.errors import ParseError
from neff_bench.parsers.formats.ntff import family_of
from neff_bench.parsers.plausibility import PEAK_FACTOR, active_s, beside_program, first_execution, impossible, straight
from neff_bench.stage2_profile.metrics.metric import interquartile_range
from neff_bench.stage2_profile.metrics.plausible import of_numbers
from neff_bench.stage2_profile.metrics.rows import Row
from neff_bench.stage2_profile.metrics.summaries import row_numbers, trace_notes

if TYPE_CHECKING:
    from neff_bench.parsers.neff import Neff
    from neff_bench.parsers.summary import Summary
    from neff_bench.parsers.system_trace import Calls
    from neff_bench.stage2_profile.foreign.search import ForeignCase


@dataclass(frozen=True)
class About:
    """Holds what the NEFF tells of a foreign case. `dtype`: of its first input with a known rate. `doubts`: why it tells nothing."""

    target: str | None = None
    lnc: int | None = None
    dtype: str | None = None
    peak_tflops: float | None = None
    model_flops: int | None = None
    simulated: bool = False
    dims: tuple[tuple[str, int], ...] = ()
    shapes: str | None = None
    program: Mapping[str, int] = field(default_factory=dict)
    doubts: tuple[str, ...] = ()


def foreign_row(case: ForeignCase) -> Row:
    """Return the row of one foreign case; a file that cannot be read becomes its reason, never an exception."""
    try:
        if case.problem is not None:
            return Row(case=case.name, status="failed", reason=case.problem)
        if case.calls is not None:
            return _system_row(case, case.calls)
        about, summary = _about_or_not(case), _summary(case)
        if summary is not None and summary.has_times:
            return _summary_row(case, about, summary)
        if case.ntff is not None:
            return _trace_row(case, about, case.ntff)
    except (ParseError, OSError) as error:
        return Row(case=case.name, status="failed", reason=" ".join(str(error).split()))
    reason = (
        "its summary states no time"
        if summary
        else "a NEFF without a profile; profile-neffs captures it where a tool for it is"
    )
    return Row(case=case.name, **_told(about), status="unprofiled", reason=reason)


def _about_or_not(case: ForeignCase) -> About:
    """Return what the NEFF tells; where there is a profile too, a NEFF that cannot be read costs a warning, and not the row."""
    try:
        return _about(case.neff)
    except ParseError as error:
        if case.ntff or case.summary_json or case.detail_json:
            return About(doubts=(f"its NEFF cannot be read: {error}",))
        raise


def _about(path: Path | None) -> About:
    from neff_bench.parsers.neff import read_neff

    if path is None:
        return About()
    neff = read_neff(path)
    target = (neff.target or "").split("/")[0]
    dtype = next((tensor.dtype for tensor in neff.inputs if tensor.dtype in RATE), None)
    return About(
        target=neff.target,
        lnc=neff.lnc,
        dtype=dtype,
        peak_tflops=peak_tflops(target, dtype, neff.lnc) if dtype else None,
        model_flops=2 * neff.hlo_mac_count if neff.hlo_mac_count else None,
        simulated=neff.simulated,
        dims=matmul_dims(neff),
        shapes=shapes_in_words(tensor.shape for tensor in neff.inputs),
        program=straight(neff),
    )


def _told(about: About) -> dict[str, Any]:
    """Return the part of a row that its NEFF tells."""
    return {name: getattr(about, name) for name in ("dims", "shapes", "dtype", "target", "lnc")}


def matmul_dims(neff: Neff) -> tuple[tuple[str, int], ...]:
    """Return M, K, N of two matrices and their product, the first as it is or transposed; empty for anything else."""
    if [len(tensor.shape) for tensor in (*neff.inputs, *neff.outputs)] != [2, 2, 2] or len(neff.outputs) != 1:
        return ()
    (left, right), (m, n) = (tensor.shape for tensor in neff.inputs), neff.outputs[0].shape
    for rows, contraction in (left, left[::-1]):
        if (rows, (contraction, n)) == (m, right):
            return (("M", m), ("K", contraction), ("N", n))
    return ()


def _summary(case: ForeignCase) -> Summary | None:
    from neff_bench.parsers.profile_json import read_summary

    source = case.summary_json or case.detail_json
    return read_summary(source) if source is not None else None


def _summary_row(case: ForeignCase, about: About, summary: Summary) -> Row:
    flops = about.model_flops or summary.model_flops or None
    simulated = about.simulated or bool(summary.is_simulation)
    tool = summary.simulator_name or f"profiler {(summary.profiler_version or 'of unknown version').partition('%')[0]}"
    numbers = row_numbers([summary], model_flops=flops, peak=about.peak_tflops)
    if numbers["arithmetic_intensity"] is None:
        numbers["arithmetic_intensity"] = summary.mm_arithmetic_intensity
    wrong = (*impossible(summary, PEAK_FACTOR), *beside_program(summary, about.program, {}))
    waits = first_execution(summary.total_time_s, active_s(summary))
    return Row(
        case=case.name,
        **(_told(about) | ({"target": family_of(summary.instance_type)} if about.target is None else {})),
        source="simulated" if simulated else "measured",
        status="profiled",
        check="suspect" if wrong else "unchecked",
        reason="; ".join(wrong) or None,
        **numbers,
        tool=tool,
        model=summary.simulator_model,
        time_error=summary.simulator_time_error,
        uncompared_operations=summary.simulator_uncompared_operations,
        warnings=(*_warnings(case), *filter(None, [waits]), *about.doubts),
    )


def _trace_row(case: ForeignCase, about: About, path: Path) -> Row:
    """Return the row of a trace without a JSON: our own NTFF reader gives what the trace itself tells."""
    from neff_bench.parsers.ntff import read_ntff

    trace = read_ntff(path)
    numbers = row_numbers(traces=[trace], model_flops=about.model_flops, peak=about.peak_tflops)
    wrong = of_numbers(numbers)
    return Row(
        case=case.name,
        **(_told(about) | ({"target": trace.family} if about.target is None else {})),
        source="simulated" if about.simulated or trace.certainty == "simulated" else "measured",
        status="profiled",
        check="suspect" if wrong else "unchecked",
        reason="; ".join(wrong) or None,
        **numbers,
        tool=f"NTFF version {trace.version}",
        warnings=(*_warnings(case), *trace_notes([trace]), *about.doubts),
    )


def _system_row(case: ForeignCase, calls: Calls) -> Row:
    """Return a NEFF in a system trace: how often it ran, how long, and what lay before it."""
    times = calls.durations_us
    return Row(
        case=case.name,
        source="measured",
        status="profiled",
        check="unchecked",
        executions=len(times),
        total_time_us=statistics.median(times),
        execution_time_us=statistics.median(times),
        clock="execution",
        total_time_iqr_us=interquartile_range(times) if len(times) > 1 else None,
        gap_us=calls.gap_us,
        tool="system trace",
        warnings=case.remarks,
    )


def _warnings(case: ForeignCase) -> tuple[str, ...]:
    notes = ["paired with its NEFF by name, not by uuid"] if case.paired_by == "name" else []
    if case.copies:
        others = f" and {len(case.copies) - 1} more" if len(case.copies) > 1 else ""
        notes.append(f"counted once: {case.copies[0]}{others} says the same of this execution")
    return tuple(notes)
