"""Says where the timeline of a row is read from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class ProfileFiles:
    """`profile`: a whole profile, or a trace, for which `neff` has names. `trace`: the trace that the whole profile was made from.
    `bundle`: its directory. `problem`: why there is no profile."""

    profile: Path | None = None
    trace: Path | None = None
    neff: Path | None = None
    bundle: Path | None = None
    problem: str | None = None
