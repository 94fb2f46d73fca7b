"""Names what can go wrong in stage 1."""

from __future__ import annotations

from neff_bench.errors import NeffBenchError, WrongCall


class GenerateError(NeffBenchError):
    """Base of everything that this room raises; its text is one line for the user."""


class ShapesError(GenerateError, WrongCall):
    """A mistake in a shapes file, told as `file:line: key: found ..., allowed: ...`."""

    def __init__(self, file: str, line: int | None, what: str) -> None:
        super().__init__(f"{file}:{line}: {what}" if line is not None else f"{file}: {what}")
        self.file = file
        self.line = line
        self.what = what


class ToolchainError(GenerateError, WrongCall):
    """A toolchain, package or checkout that was asked for is absent."""


class BuildError(GenerateError):
    """One case cannot be built; the text becomes the reason of a failed bundle."""
