"""Makes the numbers of a row from the summaries or traces of a profile."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from neff_bench.parsers.plausibility import first_execution
from neff_bench.parsers.trace import MEANING, OF_OPCODE
from neff_bench.stage2_profile.metrics.metric import Evidence, values
from neff_bench.stage2_profile.metrics.rows import METRICS

if TYPE_CHECKING:
    from neff_bench.parsers.summary import Summary
    from neff_bench.parsers.trace import Ntff

READ = "read by neff-bench, with no profiler; "


def row_numbers(
    summaries: Sequence[Summary] = (),
    *,
    traces: Sequence[Ntff] = (),
    model_flops: int | None,
    peak: float | None,
    captures: Sequence[Sequence[Summary]] = (),
) -> dict[str, Any]:
    """Return the metrics of a row from the summaries of its profiled executions, or from traces that no tool has viewed. `peak`: TFLOPS. `captures`: the
    summaries by capture, where there are several."""
    return values(METRICS, Evidence(summaries, traces, model_flops, peak, captures))


def is_note(warning: str) -> bool:
    """Return whether a warning only says where numbers are from, and that they are good."""
    return warning.startswith(READ) and "unverified" not in warning


def trace_notes(traces: Sequence[Ntff]) -> tuple[str, ...]:
    """Return what must be said about numbers that our own reader took from traces."""
    meanings = "; ".join(dict.fromkeys(MEANING[trace.certainty] for trace in traces))
    notes = [READ + meanings]
    full = dict.fromkeys(kind for trace in traces for kind in trace.full_buffers)
    undecoded: Counter[str] = Counter()
    for trace in traces:
        undecoded.update(trace.undecoded)
    unnamed = [f"{undecoded.pop(name)} {name} ({time_us:.3g} us)" for name, time_us in _unnamed(traces).items()]
    if unnamed:
        notes.append(f"of a name that is not public, though their time is counted: {', '.join(unnamed)}")
    if undecoded:
        counts = ", ".join(f"{count} {name}" for name, count in undecoded.items())
        notes.append(f"not in the numbers: {counts}")
    if full:
        notes.append(f"the device's buffers were full ({', '.join(full)}): the numbers are lower bounds")
    waits = (first_execution(trace.total_time_s, trace.summed_active_time_s) for trace in traces)
    return tuple(dict.fromkeys((*notes, *filter(None, waits))))


def _unnamed(traces: Sequence[Ntff]) -> dict[str, float]:
    """Return the time in us of instructions whose opcode has no name, by the words that count them."""
    found: dict[str, float] = defaultdict(float)
    for trace in traces:
        rows = trace.instructions
        for name in trace.undecoded:
            if name.startswith(OF_OPCODE):
                opcode = int(name.removeprefix(OF_OPCODE), 16)
                found[name] += float(rows.duration_ps[rows.opcode == opcode].sum()) / 1e6
    return dict(found)
