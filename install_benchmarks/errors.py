"""InstallError - a reason why `benchmarks/` was not written or removed."""

from __future__ import annotations


class InstallError(Exception):
    """One line: what, where, what to do."""
