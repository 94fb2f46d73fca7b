"""Writes the page of a comparison: the table, and for each pair both timelines, one over the other."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from neff_bench.errors import NeffBenchError
from neff_bench.neffs.bundle import Bundle
from neff_bench.parsers.errors import ParseError
from neff_bench.parsers.kinds import kind_of
from neff_bench.stage2_profile.compare.asked import LETTERS
from neff_bench.stage2_profile.compare.verdict import Pair, Pairing, Record
from neff_bench.stage2_profile.directory import find_entries, profile_files, profiled_rows
from neff_bench.stage2_profile.options import Options
from neff_bench.stage2_profile.report.files import TIMELINES_MAX, ProfileFiles
from neff_bench.stage2_profile.report.page import roots_of, timeline_or_problem
from neff_bench.terminal.answer import Column, Grid
from neff_bench.viewer.page.cases import notes_of, texts_of
from neff_bench.viewer.page.document import Case, document
from neff_bench.viewer.page.events import Side
from neff_bench.viewer.roofline import point_of, roofline_of

OF_A_RANK = ProfileFiles(problem="the timeline is that of the slowest rank; neff-bench view shows the trace of another")
LEFT_OUT = f"this page has those of the {TIMELINES_MAX} cases that differ most; compare the two profiles of this one"
NO_TIMELINE = ProfileFiles(problem="rows and baselines hold no timeline; compare stores or profiles")


def comparison_page(
    grids: Sequence[Grid], pairings: Sequence[Pairing], a: Path | None, others: Sequence[Path]
) -> bytes:
    """Return the page of `grids`, each of another side against the same A. `a`, `others`: where the profiles of the sides lie; None for a baseline."""
    groups: dict[int, _Group] = {}
    numbers: dict[str, int] = {}
    for side, pairing in enumerate(pairings, 1):
        for pair in pairing.pairs:
            group = groups.setdefault(id(pair.a), _Group(pair, len(groups)))
            group.sides[side] = pair.b
            numbers[pair.label] = group.number
    found = grids[0]
    columns, lines = found.columns, _labelled(found)
    if len(grids) > 1:
        columns = [Column(head) for head in ("case", "side", "metric", "A", "of the side", "ratio", "is")]
        lines = [[line[0], letter, *line[1:]] for letter, grid in zip(LETTERS, grids) for line in _labelled(grid)]
    notes = dict.fromkeys(note for grid in grids for note in grid.notes)
    grid = replace(found, columns=columns, lines=lines, notes=list(notes))
    if len(pairings) > 1:
        for group in groups.values():
            group.label = str(group.sides[0]["case"])
    shown = sorted(groups.values(), key=lambda group: group.change, reverse=True)[:TIMELINES_MAX]
    files = [
        _Files(path, [group.sides[side] for group in shown if side in group.sides])
        for side, path in enumerate((a, *others))
    ]
    cases = [
        _case_of(group, files) if group in shown else Case(group.label, problem=LEFT_OUT) for group in groups.values()
    ]
    return document("neff-bench compare", cases, grid, [numbers.get(line[0]) for line in lines])


class _Files:
    """The files of some cases of a store, or of one profile whatever it is called."""

    def __init__(self, path: Path | None, records: Sequence[Record]) -> None:
        self._one = (
            ProfileFiles(path, path if _is_trace(path) else None) if path is not None and path.is_file() else None
        )
        names = {str(record["case"]) for record in records}
        found = find_entries(path) if path is not None and path.is_dir() else []
        self._entries = {entry.name: entry for entry in found if entry.name in names}
        del found  # the entries of all cases
        bundles = [name for name, entry in self._entries.items() if isinstance(entry, Bundle)]
        if path is not None and bundles:
            _make_whole_profiles(path, bundles)

    def of(self, record: Record) -> ProfileFiles:
        """Return the files behind a row record."""
        if record.get("rank") is not None:
            return OF_A_RANK
        entry = self._entries.get(str(record["case"]))
        if entry is not None:
            run = record.get("run")
            return profile_files(entry, run if isinstance(run, str) else None)
        return self._one or NO_TIMELINE


def _make_whole_profiles(store: Path, cases: Sequence[str]) -> None:
    """Have the captured runs of these cases viewed as a whole, as `profile-neffs --output x.html` does: a trace alone names no
    source lines. What cannot be viewed keeps its trace."""
    with contextlib.suppress(NeffBenchError, OSError):
        profiled_rows(Options(directory=store, only=tuple(cases), view_only=True, detail=True))


def _is_trace(path: Path | None) -> bool:
    try:
        return path is not None and kind_of(path) == "ntff"
    except (ParseError, OSError):
        return False


def _labelled(grid: Grid) -> list[list[str]]:
    """Return the lines, every one with its case, so that they can be sorted."""
    lines, label = [], ""
    for first, *rest in grid.lines:
        label = first or label
        lines.append([label, *rest])
    return lines


class _Group:
    """A case of A and the cases that are held against it. `sides`: their rows by the number of the side, 0 for A."""

    def __init__(self, pair: Pair, number: int) -> None:
        self.label, self.number = pair.label, number
        self.sides: dict[int, Record] = {0: pair.a}

    @property
    def change(self) -> tuple[float, float]:
        """Return by how much its total time differs most, as the logarithm of the ratio, and that time itself."""
        first, *others = (float(row.get("total_time_us") or 0.0) for row in self.sides.values())
        return max((abs(math.log(other / first)) for other in others if first and other), default=0.0), first


def _case_of(group: _Group, files: Sequence[_Files]) -> Case:
    return _case(group.label, {("A", *LETTERS)[side]: files[side].of(row) for side, row in sorted(group.sides.items())})


def _case(label: str, files: Mapping[str, ProfileFiles]) -> Case:
    if len({_is_trace(one.profile) for one in files.values()}) > 1:
        # A trace has other names for queues than a whole profile, and no source lines: all sides are read as traces then.
        if any(one.trace is None for one in files.values()):
            return Case(
                label, problem="one side is a trace, the other a whole profile without its trace; give both as one"
            )
        files = {letter: replace(one, profile=one.trace) for letter, one in files.items()}
    read = {letter: timeline_or_problem(one) for letter, one in files.items()}
    problems = [f"{letter}: {one}" for letter, one in read.items() if isinstance(one, str)]
    if problems:
        return Case(label, problem="; ".join(problems))
    timelines = {letter: one for letter, one in read.items() if not isinstance(one, str)}
    first, *others = (roofline_of(one) for one in timelines.values())
    return Case(
        label,
        tuple(Side(letter, one, texts_of(one, roots_of(files[letter]))) for letter, one in timelines.items()),
        notes=tuple(f"{letter}: {note}" for letter, one in timelines.items() for note in (one.path, *notes_of(one))),
        roofs=first if all(other == first for other in others) else None,
        points=tuple(point for letter, one in timelines.items() if (point := point_of(one, letter))),
    )
