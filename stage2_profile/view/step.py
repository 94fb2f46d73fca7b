"""Calls the profiler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Step:
    """A call of the tool on one trace. `file`: where the JSON of its standard output goes, None for a tool that writes a file
    of its own."""

    name: Literal["view", "show-session", "systrace"]
    argv: list[str]
    log: str
    file: str | None
