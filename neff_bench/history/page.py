"""Writes the page of a history: one HTML file with its data inside, which opens from disk without a network."""

from __future__ import annotations

import base64
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

from neff_bench.history import database, verdicts
from neff_bench.history.errors import HistoryError
from neff_bench.terminal.output import write_bytes

TEMPLATE = Path(__file__).with_name("page.html")


def write(directory: Path, output: Path, link: str | None) -> None:
    """Write the page of the history in `directory`. `link`: address of a commit, with {sha}. Raises `HistoryError` and `OutputError`."""
    if link is not None and (not link.startswith(("https://", "http://")) or "{sha}" not in link):
        raise HistoryError(
            f"--link {link!r}: expected an address with {{sha}} in it, such as https://host/commit/{{sha}}"
        )
    text = TEMPLATE.read_text(encoding="utf-8").replace(
        "/*DATA*/null", _script_safe(orjson.dumps(content(directory, link)))
    )
    write_bytes(text.encode(), output)


def content(directory: Path, link: str | None) -> dict[str, Any]:
    """Return what the page shows. A commit is its place in `commits`; values are packed by `packed`."""
    with database.opened(directory) as connection:
        commits = database.commits(connection)
        place = {commit.id: at for at, commit in enumerate(commits)}
        known = {one.id: one for one in database.series(connection)}
        lines = []
        for series_id, metric, ids, values in database.points(connection):
            series = known[series_id]
            places = [place[id_] for id_ in ids]
            changes = [
                [places[change.at], change.before, change.after, verdicts.direction(metric, change)]
                for change in verdicts.changes_of(series, metric, values)
            ]
            lines.append([series_id, metric, packed(places, values), changes])
    return {
        "link": link,
        "commits": [[commit.sha, commit.date, commit.subject] for commit in commits],
        "series": {
            str(one.id): [one.label, one.key.source, one.key.made_by, one.key.machine, one.key.case_name]
            for one in known.values()
        },
        "lines": lines,
    }


def packed(places: Sequence[int], values: Sequence[float]) -> list[Any]:
    """Return [place, value, place, value ...] at each change of an exact series, or base64 of float32 where that is shorter."""
    whole = places[-1] - places[0] + 1 == len(places)
    where: list[int] = [places[0], places[-1]] if whole else list(places)
    steps = [0, *(at for at in range(1, len(values)) if values[at] != values[at - 1])]
    if len(steps) <= len(values) // 4 + 1:
        return [int(whole), where, [number for at in steps for number in (at, values[at])]]
    return [int(whole), where, base64.b64encode(array("f", values).tobytes()).decode()]


def _script_safe(data: bytes) -> str:
    """Return JSON that cannot end the script element it stands in."""
    return data.decode().replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
