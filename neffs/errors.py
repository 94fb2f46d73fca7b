"""Names what can go wrong with a store."""

from __future__ import annotations

from pathlib import Path

from neff_bench.errors import NeffBenchError, WrongCall


class NeffsError(NeffBenchError):
    """Base of everything that this room raises; its text is one line for the user."""


class CaseError(NeffsError):
    """A case that cannot exist: an unknown dtype, target and LNC that do not fit, an unsafe name."""


class BundleError(NeffsError):
    """`path` is not a good bundle: unreadable, incomplete or changed; `what` says why."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(f"{path}: {what}")
        self.path = path
        self.what = what

    @property
    def name(self) -> str:
        """Name of the bundle's directory."""
        return self.path.name


class StoreError(NeffsError, WrongCall):
    """`path` cannot be used as a store (or the part of it that `path` names); `what` says why."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(f"{path}: {what}")
        self.path = path
        self.what = what
