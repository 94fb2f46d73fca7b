"""Declares InstallError - a reason why `benchmarks/` was not written or removed."""

from __future__ import annotations

from neff_bench.errors import NeffBenchError


class InstallError(NeffBenchError):
    """One line: what, where, what to do."""
