"""One line of a comparison."""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """One comparison. Times in microseconds; None where the source says nothing."""

    name: str
    column: str
    model: float
    measured: float | None

    @property
    def error(self) -> float | None:
        return self.model / self.measured - 1 if self.measured else None
