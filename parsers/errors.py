"""What can go wrong when a file is read.

ParseError             the file is missing, is not what was asked for, or is damaged
└── UnknownVersion     a sound container of a version that this reader does not know
"""

from __future__ import annotations

import os

from neff_bench.terminal.errors import NeffBenchError


class ParseError(NeffBenchError):
    """One line for the user: file, offset (bytes) where that is known, and what was found against what was expected."""

    def __init__(self, path: str | os.PathLike[str], offset: int | None, what: str) -> None:
        super().__init__(path, offset, what)
        self.path = os.fspath(path)
        self.offset = offset
        self.what = what

    def __str__(self) -> str:
        place = self.path if self.offset is None else f"{self.path}: offset {self.offset}"
        return f"{place}: {self.what}"


class UnknownVersion(ParseError):
    """A container version that nobody has decoded: it is named and not guessed at."""
