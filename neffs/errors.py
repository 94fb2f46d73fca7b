"""Names what can go wrong with a store."""

from __future__ import annotations

from pathlib import Path

from neff_bench.errors import NeffBenchError, WrongCall


class NeffsError(NeffBenchError):
    """Base of everything that this room raises; its text is one line for the user."""


class CaseError(NeffsError):
    """A case that cannot exist: an unknown dtype, target and LNC that do not fit, an unsafe name."""


class PathError(NeffsError):
    """Something is wrong with `path`; `what` says what."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(f"{path}: {what}")
        self.path = path
        self.what = what


class BundleError(PathError):
    """`path` is not a good bundle: unreadable, incomplete or changed."""

    @property
    def name(self) -> str:
        """Name of the bundle's directory."""
        return self.path.name


class StoreError(PathError, WrongCall):
    """`path` cannot be used as a store (or the part of it that `path` names)."""
