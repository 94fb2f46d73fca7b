"""Sets several timelines beside each other as tables: by engine and queue, by source line, by counter of the summary. The first is what the others are held
against."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from neff_bench.viewer.page.events import Events, Side
from neff_bench.viewer.page.html import table, us
from neff_bench.viewer.page.totals import line_totals, track_totals
from neff_bench.viewer.sources import place_of

LINES_MAX = 400
Times = Mapping[str, float]
"""By side."""


def by_track(events: Events, letters: Sequence[str]) -> str:
    """Return the busy time of each engine and queue on all sides."""
    found: dict[str, dict[str, float]] = {}
    for one in track_totals(events):
        found.setdefault(one.title.removeprefix(f"{one.letter} "), {})[one.letter] = one.busy_ns
    return _table("engine or queue", [(title, times, "") for title, times in found.items()], letters)


def by_line(events: Events, sides: Sequence[Side]) -> str:
    """Return the time of each source line on all sides, the largest difference first. A click finds the events of a line on all sides."""
    letters = [side.letter for side in sides]
    times = {one.line: one.with_calls_ns for letter in letters for one in line_totals(events, (), letter)}
    if not times:
        return "<p>No profile names source lines.</p>"
    rows = []
    for group in aligned_lines(events, sides):
        of_side = {events.letters[line]: times[line] for line in group if line in times}
        names = dict.fromkeys(events.lines[line] for line in group)
        rows.append((" / ".join(names), of_side, ",".join(map(str, group))))
    return _table("line", rows, letters)


def by_counter(sides: Sequence[Side]) -> str:
    """Return the numbers of the summaries that differ."""
    summaries = [side.timeline.summary for side in sides]
    rows = []
    for key in sorted({key for summary in summaries for key in summary}):
        values = [summary.get(key) for summary in summaries]
        if any(value != values[0] for value in values) and any(map(_is_number, values)):
            ratios = [_ratio(values[0], value) for value in values[1:]]
            rows.append((key, *map(_shown, values), *ratios))
    if not rows:
        return "<p>The summaries say the same.</p>"
    first, *others = (side.letter for side in sides)
    heads = ("counter", first, *others, *(f"{other}/{first}" for other in others))
    return table(heads, rows, (False, *(True for _ in heads[1:])))


def aligned_lines(events: Events, sides: Sequence[Side]) -> list[list[int]]:
    """Return the lines of all sides that are the same line: of files of one name, with the same text for the same time in it. Where the text is not known, lines of the
    same number."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    for side in sides:
        same = {name: list(_counted(text.split("\n"))) for name, text in side.texts.items()}
        for line, (letter, name) in enumerate(zip(events.letters, events.lines)):
            if letter == side.letter:
                place = place_of(name)
                texts = same.get(place.file, ()) if place else ()
                key: tuple[Any, ...] = (name,)
                if place and 1 <= place.number <= len(texts):
                    key = (PurePath(place.file).name, *texts[place.number - 1])
                groups.setdefault(key, []).append(line)
    return list(groups.values())


def _counted(lines: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Yield each line with how often it stood there before."""
    seen: Counter[str] = Counter()
    for line in lines:
        text = line.strip()
        yield text, seen[text]
        seen[text] += 1


def _table(head: str, rows: Sequence[tuple[str, Times, str]], letters: Sequence[str]) -> str:
    """Return the rows of (name, times by side, lines that a click on it finds)."""
    first, *others = letters

    def largest(times: Times) -> float:
        return max(abs(times.get(other, 0.0) - times.get(first, 0.0)) for other in others)

    ordered = sorted(rows, key=lambda row: (-largest(row[1]), row[0]))[:LINES_MAX]
    heads = [head, *(f"{letter} us" for letter in letters)]
    for other in others:
        heads += [f"{other} - {first} us", f"{other}/{first}"]
    cells = []
    for name, times, _ in ordered:
        line = [name, *(us(times[letter]) if letter in times else "" for letter in letters)]
        for other in others:
            change = times.get(other, 0.0) - times.get(first, 0.0)
            line += [f"{change / 1000:+.3f}", _ratio(times.get(first), times.get(other))]
        cells.append(line)
    return table(heads, cells, (False, *(True for _ in heads[1:])), [lines for _, _, lines in ordered])


def _ratio(old: object, new: object) -> str:
    return f"{float(new) / float(old):.4g}" if _is_number(old) and _is_number(new) and old else ""  # type: ignore[arg-type]


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _shown(value: object) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
