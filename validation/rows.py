"""One line of a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeVar


class Row(NamedTuple):
    """One comparison. Times in microseconds; None where the source says nothing."""

    name: str
    column: str
    model: float
    measured: float | None

    @property
    def error(self) -> float | None:
        return self.model / self.measured - 1 if self.measured else None


Case = TypeVar("Case")


def spread(cases: Sequence[Case], limit: int | None) -> list[Case]:
    """Return `limit` cases, evenly spread over all; all of them without a limit."""
    if limit is None or limit >= len(cases):
        return list(cases)
    return [cases[int(n * len(cases) / limit)] for n in range(limit)]
