"""What can go wrong with a history."""

from __future__ import annotations


class HistoryError(Exception):
    """A wrong call, or a database that cannot be used. Its text is one line for the user."""
