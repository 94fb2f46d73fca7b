"""Makes what a history keeps from rows."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from neff_bench.history.database import SeriesKey
from neff_bench.history.errors import HistoryError
from neff_bench.stage2_profile.compare.comparison import COMPARED, label_of

METRICS = tuple(metric for metric in COMPARED if metric != "compile_time_s")
"""What is kept. The time to compile depends on how busy the host was, also for simulated rows."""


@dataclass(frozen=True)
class At:
    """The commit that rows belong to."""

    sha: str
    date: str
    subject: str


def here(directory: Path) -> At:
    """Return the commit that is checked out in `directory`. Raises HistoryError when it is no git checkout."""
    words = ["git", "-C", str(directory), "log", "-1", "--format=%H%n%cI%n%s"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, encoding="utf-8")
    except OSError:
        raise HistoryError("git is not installed: name the commit with --commit SHA --date DATE") from None
    if done.returncode != 0:
        raise HistoryError(f"{directory}: not a git checkout: name the commit with --commit SHA --date DATE")
    sha, date, subject = done.stdout.rstrip("\n").split("\n", 2)
    return At(sha, _utc(date), subject)


def named(sha: str, date: str | None) -> At:
    """Return a commit by name. `date`: ISO 8601; today's when absent. Raises HistoryError for another form of date."""
    return At(sha, _utc(date) if date else datetime.now(timezone.utc).isoformat(timespec="seconds"), "")


def _utc(date: str) -> str:
    try:
        found = datetime.fromisoformat(date.replace("Z", "+00:00"))
    except ValueError:
        raise HistoryError(f"--date {date!r}: expected ISO 8601, such as 2026-11-21T10:00:00+00:00") from None
    if found.tzinfo is None:
        found = found.replace(tzinfo=timezone.utc)
    return found.astimezone(timezone.utc).isoformat(timespec="seconds")


SPREAD = tuple(f"total_time_{end}_us" for end in ("iqr", "ci_low", "ci_high", "low", "high"))
"""What the verdict on a time needs beside the time."""
_ABOUT = "case kernel implementation dims shapes dtype target lnc ranks rank source status check model tool reason"
SAID = (*_ABOUT.split(), *SPREAD)
"""What is kept of a row beside its metrics."""


def kept(
    records: Sequence[Mapping[str, Any]], machine: str | None
) -> list[tuple[SeriesKey, str, dict[str, float], dict[str, Any]]]:
    """Return (series, label, value by metric, what else is known) of each row. One that failed has no metrics, and a series of its own."""
    found: list[tuple[SeriesKey, str, dict[str, float], dict[str, Any]]] = []
    for row in records:
        said = {name: row[name] for name in SAID if row.get(name) is not None}
        values = {metric: float(row[metric]) for metric in METRICS if isinstance(row.get(metric), (int, float))}
        if row.get("status") != "profiled" or not values:
            found.append((SeriesKey(str(row["case"]), "", "", ""), label_of(row), {}, said))
            continue
        simulated = row.get("source") == "simulated"
        made_by = row.get("model") if simulated else row.get("tool")
        where = "" if simulated else machine or f"{platform.system()} {platform.machine()}"
        found.append(
            (SeriesKey(str(row["case"]), str(row.get("source")), str(made_by), where), label_of(row), values, said)
        )
    return found
