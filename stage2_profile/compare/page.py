"""The page of a comparison: the table, and for each pair both timelines, one over the other."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from neff_bench.errors import NeffBenchError
from neff_bench.neffs.bundle import Bundle
from neff_bench.parsers.errors import ParseError
from neff_bench.parsers.kinds import kind_of
from neff_bench.stage2_profile.compare.verdict import Pair, Pairing
from neff_bench.stage2_profile.directory import find_entries, profile_files, profiled_rows
from neff_bench.stage2_profile.options import Options
from neff_bench.stage2_profile.report.files import ProfileFiles
from neff_bench.stage2_profile.report.page import timeline_or_problem
from neff_bench.terminal.answer import Answer, Grid
from neff_bench.viewer.page.cases import notes_of
from neff_bench.viewer.page.document import Case, document
from neff_bench.viewer.page.events import Side
from neff_bench.viewer.roofline import point_of, roofline_of

OF_A_RANK = ProfileFiles(problem="the timeline is that of the slowest rank; neff-bench view shows the trace of another")
NO_TIMELINE = ProfileFiles(problem="rows and baselines hold no timeline; compare stores or profiles")


def comparison_page(answer: Answer, pairing: Pairing, a: Path | None, b: Path | None) -> bytes:
    """Return the page of `answer`. `a`, `b`: where the profiles of the two sides lie; None for a baseline."""
    [grid] = answer.grids
    numbers = {pair.label: number for number, pair in enumerate(pairing.pairs)}
    labelled = _labelled(grid)
    cases = _cases(pairing, _Files(a), _Files(b))
    return document("neff-bench compare", cases, labelled, [numbers.get(line[0]) for line in labelled.lines])


class _Files:
    """The files of each case of a store, or of one profile whatever it is called."""

    def __init__(self, path: Path | None) -> None:
        self._one = (
            ProfileFiles(path, path if _is_trace(path) else None) if path is not None and path.is_file() else None
        )
        entries = find_entries(path) if path is not None and path.is_dir() else []
        if path is not None and any(isinstance(entry, Bundle) for entry in entries):
            _make_whole_profiles(path)
        self._entries = {entry.name: entry for entry in entries}

    def of(self, record: Mapping[str, object]) -> ProfileFiles:
        """Return the files behind a row record."""
        if record.get("rank") is not None:
            return OF_A_RANK
        entry = self._entries.get(str(record["case"]))
        if entry is not None:
            run = record.get("run")
            return profile_files(entry, run if isinstance(run, str) else None)
        return self._one or NO_TIMELINE


def _make_whole_profiles(store: Path) -> None:
    """Have each captured run of a store viewed as a whole, as `profile-neffs --output x.html` does: a trace alone names no
    source lines. What cannot be viewed keeps its trace."""
    with contextlib.suppress(NeffBenchError, OSError):
        profiled_rows(Options(directory=store, view_only=True, detail=True))


def _is_trace(path: Path | None) -> bool:
    try:
        return path is not None and kind_of(path) == "ntff"
    except (ParseError, OSError):
        return False


def _labelled(grid: Grid) -> Grid:
    """Return every line with its case, so that lines can be sorted."""
    lines, label = [], ""
    for first, *rest in grid.lines:
        label = first or label
        lines.append([label, *rest])
    return replace(grid, lines=lines)


def _cases(pairing: Pairing, a: _Files, b: _Files) -> Iterator[Case]:
    for pair in pairing.pairs:
        yield _case(pair, a.of(pair.a), b.of(pair.b))


def _case(pair: Pair, a: ProfileFiles, b: ProfileFiles) -> Case:
    if _is_trace(a.profile) != _is_trace(b.profile):
        # A trace has other names for queues than a whole profile, and no source lines: both sides are read as traces then.
        if a.trace is None or b.trace is None:
            return Case(
                pair.label, problem="one side is a trace, the other a whole profile without its trace; give both as one"
            )
        a, b = replace(a, profile=a.trace), replace(b, profile=b.trace)
    old, new = timeline_or_problem(a), timeline_or_problem(b)
    if isinstance(old, str) or isinstance(new, str):
        said = [f"{side}: {one}" for side, one in (("A", old), ("B", new)) if isinstance(one, str)]
        return Case(pair.label, problem="; ".join(said))
    notes = [f"{letter}: {note}" for letter, one in (("A", old), ("B", new)) for note in (one.path, *notes_of(one))]
    points = [point for letter, one in (("A", old), ("B", new)) if (point := point_of(one, letter))]
    roofs = roofline_of(old), roofline_of(new)
    return Case(
        pair.label,
        (Side("A", old), Side("B", new)),
        notes=tuple(notes),
        roofs=roofs[0] if roofs[0] == roofs[1] else None,
        points=tuple(points),
    )
