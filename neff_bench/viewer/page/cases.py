"""Finds cases of a page from timelines alone, and what all pages say of a timeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from neff_bench.parsers.event_columns import coded
from neff_bench.parsers.event_rows import Timeline
from neff_bench.parsers.plausibility import OF_THE_TIME, first_execution
from neff_bench.viewer.page.document import Case, document
from neff_bench.viewer.page.events import Side
from neff_bench.viewer.roofline import point_of, roofline_of
from neff_bench.viewer.sources import read_sources


def page_of(timelines: Sequence[Timeline], roots: Sequence[Path]) -> bytes:
    """Return the page of timelines, a case for each. `roots`: directories with the source files that they name."""
    return document("neff-bench view", (case_of(timeline, roots) for timeline in timelines))


def case_of(timeline: Timeline, roots: Sequence[Path]) -> Case:
    """Return a case of a page from a timeline alone, under the name that stands for its path."""
    point = point_of(timeline, timeline.path)
    return Case(
        timeline.path,
        (Side("", timeline, texts_of(timeline, roots)),),
        notes=(*notes_of(timeline), *filter(None, [_cold(timeline)])),
        roofs=roofline_of(timeline),
        points=(point,) if point else (),
    )


def _cold(timeline: Timeline) -> str | None:
    """Return what there is to say of an execution that is mostly the wait of a first one. The row of a bundle says it, a timeline alone has no row."""
    summary = timeline.summary
    times = [time for name in OF_THE_TIME[:-1] if isinstance(time := summary.get(name), float)]
    total = summary.get("total_time")
    return first_execution(total if isinstance(total, float) else None, sum(times) if times else None)


def notes_of(timeline: Timeline) -> tuple[str, ...]:
    """Return what must be said above a timeline: what it is of, and what is missing."""
    said = list(timeline.notes)
    if timeline.simulated:
        summary = timeline.summary
        said.append(
            f"SIMULATED by {summary.get('profiler_version') or 'neuron-sim'}, model {summary.get('simulator_model') or 'of the trace'}:"
            f" no device ran. Times: {summary.get('simulator_time_error') or 'the trace does not say how far off they are'}."
        )
    if timeline.unnamed_count:
        count = f"{timeline.unnamed_count} of {len(timeline.instructions)} instructions"
        said.append(f"{count} could not be laid over the NEFF's: they have no name and no source line.")
    return tuple(said)


def texts_of(timeline: Timeline, roots: Sequence[Path]) -> Mapping[str, str]:
    """Return the text of the source files that the events and their call stacks name, as far as it lies below `roots`."""
    stacks: set[tuple[str, ...]] = set()
    for table in (timeline.instructions, timeline.dma):
        fields = ("nki_source_location", "nki_call_stack")
        stacks |= {*coded(table, fields, lambda line, calls: (line or "", *calls)).values}
    return read_sources(dict.fromkeys(line for stack in sorted(stacks) for line in stack if stack[0]), roots)
