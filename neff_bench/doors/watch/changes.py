"""Says what two looks at the same cases differ in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from neff_bench.doors.watch.drawing import Figures

SHOWN_MAX = 12
"""The most engines, and the most lines, that are told: those with the largest differences."""
LEAST_US = 0.0005
"""What is less is shown as 0."""


class Change(msgspec.Struct, frozen=True):
    """One thing before and after, in microseconds; None where it was not there. `place`: of a line, as it is now."""

    name: str
    before_us: float | None
    after_us: float | None
    place: str = ""

    @property
    def delta_us(self) -> float:
        """Positive where it takes longer now."""
        return (self.after_us or 0.0) - (self.before_us or 0.0)


class Changes(msgspec.Struct, frozen=True):
    """Holds what differs in one case; the largest difference first. `lines`: time on all engines. `path`: what the critical path is spent on."""

    case: str
    total: Change
    engines: list[Change]
    lines: list[Change]
    path: list[Change]


def changes(
    before: tuple[Iterable[Mapping[str, Any]], Mapping[str, Figures]],
    after: tuple[Iterable[Mapping[str, Any]], Mapping[str, Figures]],
) -> list[Changes]:
    """Return the changes by case, for those that both looks have. Each side: rows, and figures by case."""
    was = {row["case"]: row["total_time_us"] for row in before[0]}
    found = []
    for row in after[0]:
        case = row["case"]
        if case in was:
            old, new = before[1].get(case), after[1].get(case)
            total = Change("total", was[case], row["total_time_us"])
            found.append(Changes(case, total, *(_parts(old, new) if old and new else ([], [], []))))
    return found


def _parts(old: Figures, new: Figures) -> tuple[list[Change], list[Change], list[Change]]:
    before, after = _lines(old), _lines(new)
    lines = [
        Change(text, _us(before, key), _us(after, key), after.get(key, ("", 0.0))[0])
        for key in {**before, **after}
        for text in (key[1],)
    ]
    return (
        _differing(_paired(old.busy_us, new.busy_us)),
        _differing(lines),
        _differing(_paired(old.path_us, new.path_us)),
    )


def _paired(old: Mapping[str, float], new: Mapping[str, float]) -> list[Change]:
    return [Change(name, old.get(name), new.get(name)) for name in {**old, **new}]


def _differing(every: Iterable[Change]) -> list[Change]:
    found = [one for one in every if abs(one.delta_us) >= LEAST_US]
    return sorted(found, key=lambda one: (-abs(one.delta_us), one.name))[:SHOWN_MAX]


_Key = tuple[str, str, int]


def _lines(figures: Figures) -> dict[_Key, tuple[str, float]]:
    """Return place and time of each line, by its file, its own text, and how many lines above it in that file say the same: a line that others push
    down is still the same line."""
    keys: dict[str, _Key] = {}
    for file, whole in figures.texts.items():
        seen: defaultdict[str, int] = defaultdict(int)
        for number, text in enumerate(whole.splitlines(), 1):
            keys[f"{file}:{number}"] = (file, text.strip(), seen[text.strip()])
            seen[text.strip()] += 1
    return {keys.get(place, ("", place, 0)): (place, own) for place, own in figures.lines.items()}


def _us(side: Mapping[_Key, tuple[str, float]], key: _Key) -> float | None:
    return side[key][1] if key in side else None
