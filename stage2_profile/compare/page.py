"""The page of a comparison: the table, and for each pair both timelines, one over the other."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from neff_bench.errors import NeffBenchError
from neff_bench.neffs.bundle import Bundle
from neff_bench.parsers.errors import ParseError
from neff_bench.parsers.kinds import kind_of
from neff_bench.stage2_profile.compare.asked import LETTERS
from neff_bench.stage2_profile.compare.verdict import Pair, Pairing
from neff_bench.stage2_profile.directory import find_entries, profile_files, profiled_rows
from neff_bench.stage2_profile.options import Options
from neff_bench.stage2_profile.report.files import TIMELINES_MAX, ProfileFiles
from neff_bench.stage2_profile.report.page import roots_of, timeline_or_problem
from neff_bench.terminal.answer import Answer, Column, Grid
from neff_bench.viewer.page.cases import notes_of, texts_of
from neff_bench.viewer.page.document import Case, document
from neff_bench.viewer.page.events import Side
from neff_bench.viewer.roofline import point_of, roofline_of

OF_A_RANK = ProfileFiles(problem="the timeline is that of the slowest rank; neff-bench view shows the trace of another")
NO_TIMELINE = ProfileFiles(problem="rows and baselines hold no timeline; compare stores or profiles")


def comparison_page(
    answers: Sequence[Answer], pairings: Sequence[Pairing], a: Path | None, others: Sequence[Path]
) -> bytes:
    """Return the page of `answers`, each of another side against the same A. `a`, `others`: where the profiles of the sides lie; None for a baseline."""
    groups: dict[int, _Group] = {}
    numbers: dict[str, int] = {}
    for side, pairing in enumerate(pairings):
        for pair in pairing.pairs:
            group = groups.setdefault(id(pair.a), _Group(pair, len(groups)))
            group.others[side] = pair.b
            numbers[pair.label] = group.number
    found = answers[0].grids[0]
    columns, lines = found.columns, _labelled(found)
    if len(answers) > 1:
        columns = [Column(head) for head in ("case", "side", "metric", "A", "of the side", "ratio", "is")]
        lines = [
            [line[0], letter, *line[1:]]
            for letter, answer in zip(LETTERS, answers)
            for line in _labelled(answer.grids[0])
        ]
    notes = dict.fromkeys(note for answer in answers for note in answer.grids[0].notes)
    grid = replace(found, columns=columns, lines=lines, notes=list(notes))
    if len(pairings) > 1:
        for group in groups.values():
            group.label = str(group.a["case"])
    cases = _cases([*groups.values()], _Files(a), [_Files(path) for path in others])
    return document("neff-bench compare", cases, grid, [numbers.get(line[0]) for line in lines])


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


def _labelled(grid: Grid) -> list[list[str]]:
    """Return the lines, every one with its case, so that they can be sorted."""
    lines, label = [], ""
    for first, *rest in grid.lines:
        label = first or label
        lines.append([label, *rest])
    return lines


class _Group:
    """A case of A and the cases that are held against it, by the number of their side."""

    def __init__(self, pair: Pair, number: int) -> None:
        self.label, self.a, self.number = pair.label, pair.a, number
        self.others: dict[int, Mapping[str, object]] = {}


def _cases(groups: Sequence[_Group], a: _Files, others: Sequence[_Files]) -> Iterator[Case]:
    def total_us(group: _Group) -> float:
        total = group.a.get("total_time_us")
        return total if isinstance(total, float) else 0.0

    shown = {group.label for group in sorted(groups, key=total_us, reverse=True)[:TIMELINES_MAX]}
    for group in groups:
        if group.label not in shown:
            yield Case(
                group.label,
                problem=f"this page has those of the {TIMELINES_MAX} slowest cases; compare the two profiles of this one",
            )
            continue
        sides = {LETTERS[number]: others[number].of(record) for number, record in sorted(group.others.items())}
        yield _case(group.label, {"A": a.of(group.a), **sides})


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
