"""Two timelines beside each other as tables: by engine and queue, by source line, by counter of the summary."""

from __future__ import annotations

from collections.abc import Mapping

from neff_bench.viewer.page.events import Events
from neff_bench.viewer.page.html import table
from neff_bench.viewer.page.panels import LINES_MAX, us
from neff_bench.viewer.page.totals import line_totals, track_totals

RIGHT = (False, True, True, True, True)


def by_track(events: Events) -> str:
    """Busy time of each engine and queue on both sides."""
    sides: dict[str, dict[str, float]] = {"A": {}, "B": {}}
    for one in track_totals(events):
        sides[one.letter][one.title.removeprefix(f"{one.letter} ")] = one.busy_ns
    return _times("engine or queue", sides["A"], sides["B"])


def by_line(events: Events) -> str:
    """Time of each source line on both sides, the largest difference first."""
    sides = {
        letter: {events.lines[one.line]: one.with_calls_ns for one in line_totals(events, (), letter)}
        for letter in ("A", "B")
    }
    if not any(sides.values()):
        return "<p>Neither profile names source lines.</p>"
    return _times("line", sides["A"], sides["B"])


def by_counter(a: Mapping[str, object], b: Mapping[str, object]) -> str:
    """The numbers of both summaries that differ."""
    rows = []
    for key in sorted({*a, *b}):
        old, new = a.get(key), b.get(key)
        if old != new and any(_is_number(value) for value in (old, new)):
            both = isinstance(old, (int, float)) and isinstance(new, (int, float))
            ratio = f"{float(new) / float(old):.4f}" if both and old else ""  # type: ignore[arg-type]
            rows.append((key, _shown(old), _shown(new), ratio))
    if not rows:
        return "<p>The summaries say the same.</p>"
    return table(("counter", "A", "B", "B/A"), rows, (False, True, True, True))


def _times(head: str, a: Mapping[str, float], b: Mapping[str, float]) -> str:
    keys = sorted({*a, *b}, key=lambda key: (-abs(b.get(key, 0.0) - a.get(key, 0.0)), key))
    rows = [
        (
            key,
            us(a[key]) if key in a else "",
            us(b[key]) if key in b else "",
            f"{(b.get(key, 0.0) - a.get(key, 0.0)) / 1000:+.3f}",
            f"{b[key] / a[key]:.3f}" if a.get(key) and key in b else "",
        )
        for key in keys[:LINES_MAX]
    ]
    return table((head, "A us", "B us", "B - A us", "B/A"), rows, RIGHT)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _shown(value: object) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
