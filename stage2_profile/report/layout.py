"""Makes an answer of rows: all keys for programs, the columns that people read for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from neff_bench.chips.dtypes import SHORT
from neff_bench.stage2_profile.metrics.exactness import is_exact, is_farthest, reason_of
from neff_bench.stage2_profile.metrics.metric import Metric
from neff_bench.stage2_profile.metrics.rows import METRICS, Clock, Row, columns, to_dict, to_flat, with_ranks
from neff_bench.stage2_profile.metrics.summaries import is_note
from neff_bench.terminal.answer import HIDDEN, NONE, Answer, Column, Grid
from neff_bench.terminal.text import listed

DIGITS = {"us": 2, "s": 2, "percent": 1, "TFLOPS": 1, "FLOPs/byte": 1}
"""Behind the decimal point, by unit; none of what is counted."""
SHAPES_MAX = 20


_RANKS = {"mfu_percent": 1, "tensor_active_us": 2, "dma_active_us": 3, "vector_active_us": 4, "scalar_active_us": 5}
"""Which columns a narrow terminal keeps longest; all other metrics go first."""


CLOCKS: Mapping[Clock, tuple[str, str, str]] = {
    "profile": ("total_time_us", "total_time_low_us", "total_time_high_us"),
    "execution": ("execution_time_us", "execution_time_low_us", "execution_time_high_us"),
}
"""The time by each clock, and the ends of its range."""


def _column(metric: Metric, times: Sequence[str]) -> Column:
    if metric.name == times[0]:
        return Column(metric.head, right=True, name=metric.name, meaning=metric.meaning)
    of_other_clock = metric.name not in times and any(metric.name in names for names in CLOCKS.values())
    rank = _RANKS.get(metric.name, 6) if metric.head and not of_other_clock else HIDDEN
    bound, meaning = metric.name in times, metric.meaning + (", in percent of the total time" if metric.share else "")
    return Column(metric.head or metric.name, right=True, name=metric.name, rank=rank, bound=bound, meaning=meaning)


def table_columns(clock: Clock) -> tuple[Column, ...]:
    """Return the columns of the table for people, whose time is by this clock."""
    return (
        Column("kernel", wraps=True),
        Column("by", name="implementation", common=True),
        Column("shape", wraps=True, name="dims"),
        Column("dtype", common=True),
        Column("target", common=True),
        Column("LNC", name="lnc", common=True),
        *(_column(metric, CLOCKS[clock]) for metric in _times(clock)),
        Column("", name="marks"),
        *(_column(metric, CLOCKS[clock]) for metric in _others(clock)),
        Column("check", common=True),
    )


def _times(clock: Clock) -> list[Metric]:
    return [METRICS[name] for name in CLOCKS[clock]]


def _others(clock: Clock) -> list[Metric]:
    return [metric for metric in METRICS.values() if metric.name not in CLOCKS[clock]]


def cells(row: Row, clock: Clock = "profile") -> list[str]:
    """Return one text for each of the table's columns."""
    dims = " ".join(f"{name}{size}" for name, size in row.dims) or _shapes(row)
    shape = " ".join(filter(None, (dims, *_ranks(row))))
    # A terminal rounds a time that has a range once more, to its width.
    digits = DIGITS["us"] + (row.total_time_low_us is not None)
    return [
        " ".join(filter(None, (row.kernel, row.kernel_path))) or row.case,
        row.implementation or "",
        shape,
        SHORT.get(row.dtype or "", row.dtype or ""),
        row.target or "",
        "" if row.lnc is None else str(row.lnc),
        *(_number(getattr(row, metric.name), digits) for metric in _times(clock)),
        _marks(row),
        *(_cell(metric, row) for metric in _others(clock)),
        state(row),
    ]


def state(row: Row) -> str:
    """Return the word for how a row ended: its check, or its status where there is nothing to check."""
    return row.check or row.status


def answer(rows: Sequence[Row], clock: Clock = "profile") -> Answer:
    """Return the table of rows, those of ranks among them, with what must be said under it. clock: that of its times."""
    every = with_ranks(rows)
    timed = any(row.total_time_us is not None for row in rows)
    about = "engines, DMA: % of total us" if timed else ""
    grid = Grid(table_columns(clock), [cells(row, clock) for row in every], notes(rows), about=about)
    return Answer(list(map(to_flat, every)), columns(every), [grid], list(map(to_dict, every)))


def html_of(rows: Sequence[Row]) -> str:
    """Return the table of rows for a notebook, with what must be said under it."""
    (grid,) = answer(rows).grids
    shown = grid.shown()
    head = "".join(f"<th>{escape(column.head)}</th>" for column in shown.columns)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in line)}</tr>" for line in shown.lines)
    notes = "".join(f"<p>{escape(note)}</p>" for note in shown.notes)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}"


def _shapes(row: Row) -> str:
    """Return the shapes of the inputs, cut to a width that a table can hold."""
    text = row.shapes or ""
    return text if len(text) <= SHAPES_MAX else text[: SHAPES_MAX - 2] + ".."


def _ranks(row: Row) -> list[str]:
    """Return which of its ranks a row is of."""
    if row.ranks is None:
        return []
    slowest = f", slowest {row.slowest_rank}" if row.slowest_rank is not None else ""
    return [f"rank {row.rank} of {row.ranks}" if row.rank is not None else f"{row.ranks} ranks{slowest}"]


NO_RANGE, UNLIKE = "~", "*"
"""Marks behind a simulated total time."""


def _marks(row: Row) -> str:
    simulated = row.source == "simulated" and row.total_time_us is not None
    no_range = NO_RANGE if simulated and row.total_time_low_us is None else ""
    unlike = simulated and (is_farthest(row.time_error) or not is_exact(row.time_error))
    return no_range + (UNLIKE if unlike else "")


def notes(rows: Sequence[Row]) -> list[str]:
    """Return what must be said under the numbers: what failed and why, then where the numbers come from, in at most three lines."""
    said: dict[tuple[str, str], list[str]] = {}  # what is said -> the cases that it is said of
    for row in rows:
        told = [(state(row), row.reason)] if row.reason is not None else []
        told += [("finding", str(each)) for each in row.findings if not (row.reason or "").startswith(str(each))]
        told += [("note" if is_note(warning) else "warning", warning) for warning in row.warnings]
        for each in told:
            said.setdefault(each, []).append(row.case)
    lines = [f"{kind}: {_cases(cases, len(rows))}: {text}" for (kind, text), cases in said.items()]
    return [*lines, *_measured(rows), *_simulated(rows)]


def _cases(cases: Sequence[str], of: int) -> str:
    """Return the cases that a line is about, in few words."""
    if len(cases) == 1:
        return cases[0]
    return f"all {of} cases" if len(cases) == of else f"{len(cases)} of {of} cases ({cases[0]}, ...)"


def _measured(rows: Sequence[Row]) -> list[str]:
    """Return with which tools the rows were measured, and how much their executions differ."""
    measured = [row for row in rows if row.source == "measured"]
    if not measured:
        return []
    tools = sorted({row.tool or "a tool that gives no name" for row in measured})
    traces = all(tool.startswith("NTFF") for tool in tools)
    said = f"Measured on a device; read from {'its trace' if len(measured) == 1 else 'traces'} ({', '.join(tools)})"
    if not traces:
        said = f"Measured with {', '.join(tools)}"
    several = [row for row in measured if (row.executions or 0) > 1]
    if several:
        most, iqr = max(row.executions or 0 for row in several), max(row.total_time_iqr_us or 0.0 for row in several)
        said += f"; medians over {most} executions, largest interquartile range of the total {iqr:.2f} us"
    others = [row for row in rows if row.source == "simulated"]
    apart = "; rows that are simulated are not comparable with them: " + ", ".join(row.case for row in others)
    return [said + (apart if others else "") + "."]


def _simulated(rows: Sequence[Row]) -> list[str]:
    """Return what is simulated and by what, what a range means, and what the marks mean."""
    simulated = [row for row in rows if row.source == "simulated"]
    if not simulated:
        return []
    models: dict[str, list[str]] = {}
    for row in simulated:
        tool = row.tool if row.tool and not row.tool.startswith("NTFF") else "neuron-sim"
        models.setdefault(tool.partition(" ")[0], []).append(row.model or "model not recorded")
    tools = [f"{tool} ({_models(set(of_tool))})" for tool, of_tool in sorted(models.items())]
    marks = dict.fromkeys("".join(map(_marks, simulated)))
    unlike = [UNLIKE in _marks(row) for row in simulated]
    counts = f"instructions, bytes exact unless {UNLIKE}" if any(unlike) else "instructions and bytes are exact"
    if all(unlike):
        counts = "its counts may not be exact"
    if any(row.model is None for row in simulated):
        counts = "its exactness is not known"
    lines = [f"SIMULATED by {', '.join(tools)}: {counts}."]
    ranges = {UNLIKE in _marks(row) for row in simulated if row.total_time_low_us is not None}
    if ranges:
        held = "held on hardware for 8 of 10 kernels" + (f", not {UNLIKE}" if True in ranges else "")
        means = "as wide as the largest errors yet seen" if ranges == {True} else held
        lines.append(f"(range): {means} (neff-bench explain range){_uncompared(simulated)}.")
    if marks:
        meaning = {NO_RANGE: "no range", UNLIKE: "widest range"}
        why = dict.fromkeys(reason_of(row.time_error) for row in simulated if _marks(row))
        said = next(iter(why)) if len(why) == 1 else "for several reasons, see time_error in --format json"
        lines.append(f"{', '.join(f'{mark} {meaning[mark]}' for mark in marks)}: {said}.")
    return lines


def _uncompared(simulated: Sequence[Row]) -> str:
    """Return which operations take much of the time of a row although their cost was never compared with hardware. Marked rows promise nothing."""
    said = [row.uncompared_operations or "" for row in simulated if not _marks(row)]
    names = [name for name in dict.fromkeys("; ".join(said).split("; ")) if name]
    return f"; never compared with it: {listed(names, most=1)}" if names else ""


def _models(names: set[str]) -> str:
    """Return the models in few words: those of several chips are one model where they differ in the chip alone."""
    digests = {name.partition("-")[2] for name in names}
    return (
        f"model {digests.pop()}" if len(names) > 1 and len(digests) == 1 and all(digests) else ", ".join(sorted(names))
    )


def _cell(metric: Metric, row: Row) -> str:
    value = getattr(row, metric.name)
    return _percent(value, row.total_time_us) if metric.share else _number(value, DIGITS.get(metric.unit, 0))


def _number(value: float | None, digits: int) -> str:
    if value is None:
        return NONE
    return f"{value:.{digits}f}" if value < 99999.5 else f"{value:.0f}"


def _percent(part: float | None, total: float | None) -> str:
    return NONE if part is None or not total else f"{100 * part / total:.1f}"
