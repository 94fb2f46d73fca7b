"""Rows as an answer: all keys for programs, the columns that people read for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from neff_bench.chips.dtypes import SHORT
from neff_bench.stage2_profile.metrics.exactness import exact_part
from neff_bench.stage2_profile.metrics.metric import Metric
from neff_bench.stage2_profile.metrics.rows import METRICS, Row, columns, to_dict, with_ranks
from neff_bench.terminal.answer import NONE, Answer, Column, Grid

SHOWN = [metric for metric in METRICS.values() if metric.head]
SHARES = [metric.head for metric in SHOWN if metric.share]
DIGITS = {"us": 2, "s": 2, "percent": 1, "TFLOPS": 1, "FLOPs/byte": 1}
"""Behind the decimal point, by unit; none of what is counted."""
SHAPES_MAX = 20


COLUMNS = (
    Column("kernel", wraps=True),
    Column("shape", wraps=True),
    Column("dtype"),
    Column("target"),
    *(Column(metric.head, right=True) for metric in SHOWN),
    Column("check"),
)


def cells(row: Row) -> list[str]:
    """One text for each of COLUMNS."""
    dims = " ".join(f"{name}{size}" for name, size in row.dims) or _shapes(row)
    shape = " ".join(filter(None, (dims, *_ranks(row))))
    target = f"{row.target}/{row.lnc}" if row.target else ""
    return [
        " ".join(filter(None, (row.kernel, row.implementation, row.kernel_path))) or row.case,
        shape,
        SHORT.get(row.dtype or "", row.dtype or ""),
        target,
        *(_cell(metric, row) for metric in SHOWN),
        state(row),
    ]


def state(row: Row) -> str:
    """The word for how a row ended: its check, or its status where there is nothing to check."""
    return row.check or row.status


def answer(rows: Sequence[Row]) -> Answer:
    """The table of rows, those of ranks among them, with what must be said under it."""
    every = with_ranks(rows)
    grid = Grid(COLUMNS, [cells(row) for row in every], notes(rows))
    return Answer([to_dict(row) for row in every], columns(every), [grid])


def _shapes(row: Row) -> str:
    """The shapes of the inputs, cut to a width that a table can hold."""
    text = row.shapes or ""
    return text if len(text) <= SHAPES_MAX else text[: SHAPES_MAX - 2] + ".."


def _ranks(row: Row) -> list[str]:
    """Which of its ranks a row is of."""
    if row.ranks is None:
        return []
    slowest = f", slowest {row.slowest_rank}" if row.slowest_rank is not None else ""
    return [f"rank {row.rank} of {row.ranks}" if row.rank is not None else f"{row.ranks} ranks{slowest}"]


def notes(rows: Sequence[Row]) -> list[str]:
    """What must be said under the numbers: where they come from, what failed and why."""
    lines = []
    if any(row.total_time_us is not None for row in rows):
        peaks = sorted({f"{row.mfu_peak_tflops:g}" for row in rows if row.mfu_percent is not None})
        of_peak = f" MFU of a peak of {', '.join(peaks)} TFLOPS." if peaks else ""
        lines.append(f"{SHARES[0]} ... {SHARES[-1]}: percent of the total time; target: with the LNC.{of_peak}")
    simulated = [row for row in rows if row.source == "simulated"]
    lines += _simulated(simulated, len(rows))
    measured = [row for row in rows if row.source == "measured"]
    for name in dict.fromkeys(row.tool for row in measured):
        lines.append(f"Measured with {name}.")
    if simulated and measured:
        lines.append(
            "Simulated and measured rows are not to be compared: " + "; ".join(row.case for row in simulated) + "."
        )
    several = [row for row in rows if (row.executions or 0) > 1]
    if several:
        iqr = max(row.total_time_iqr_us or 0.0 for row in several)
        lines.append(
            f"Medians over {max(row.executions or 0 for row in several)} executions; largest IQR of the total {iqr:.2f} us."
        )
    for row in rows:
        if row.reason is not None:
            lines.append(f"{state(row)}: {row.case}: {row.reason}")
        told = [str(finding) for finding in row.findings if not (row.reason or "").startswith(str(finding))]
        lines.extend(f"finding: {row.case}: {finding}" for finding in told)
        lines.extend(f"warning: {row.case}: {warning}" for warning in row.warnings)
    return lines


def _simulated(simulated: Sequence[Row], total: int) -> list[str]:
    """One sentence for each simulator and model: how many rows, and the stated error of their times."""
    lines = []
    for tool, model in dict.fromkeys((row.tool, row.model) for row in simulated):
        errors = Counter(row.time_error for row in simulated if (row.tool, row.model) == (tool, model))
        spread = [error or "carry the error of the model" for error in errors]
        if len(errors) > 1:
            counts = ("1 row" if count == 1 else f"{count} rows" for count in errors.values())
            spread = [f"{text} in {count}" for text, count in zip(spread, counts)]
        count = errors.total()
        which = "" if count == total else f" ({count} of {total} rows)"
        named = f"SIMULATED by {tool}" + (f", model {model}" if model else "")
        lines.append(f"{named}{which}: {exact_part(spread)}times {'; '.join(spread)}.")
    return lines


def _cell(metric: Metric, row: Row) -> str:
    value = getattr(row, metric.name)
    return _percent(value, row.total_time_us) if metric.share else _number(value, DIGITS.get(metric.unit, 0))


def _number(value: float | None, digits: int) -> str:
    if value is None:
        return NONE
    return f"{value:.{digits}f}" if value < 99999.5 else f"{value:.0f}"


def _percent(part: float | None, total: float | None) -> str:
    return NONE if part is None or not total else f"{100 * part / total:.1f}"
