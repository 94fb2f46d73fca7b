"""Names what can go wrong with a history."""

from __future__ import annotations

from neff_bench.errors import WrongCall


class HistoryError(WrongCall):
    """A history that is not there, cannot be used, or lacks a package."""
