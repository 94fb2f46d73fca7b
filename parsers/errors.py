"""Names what can go wrong when a file is read."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from neff_bench.errors import NeffBenchError
from neff_bench.terminal.text import plain

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

WHAT_MAX = 400
"""Characters of a message: a damaged file must not fill the screen."""


class ParseError(NeffBenchError):
    """One line for the user: file, offset (bytes) where that is known, and what was found against what was expected."""

    def __init__(self, path: str | os.PathLike[str], offset: int | None, what: str) -> None:
        super().__init__(path, offset, what)
        self.path = os.fspath(path)
        self.offset = offset
        self.what = _line(what)

    def __str__(self) -> str:
        place = self.path if self.offset is None else f"{self.path}: offset {self.offset}"
        return f"{plain(place)}: {self.what}"


class UnknownVersion(ParseError):
    """A container version that nobody has decoded: it is named and not guessed at."""


class NoProfile(ParseError):
    """JSON that can be read, and that none of the profilers wrote."""


def guarded(read: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Make a reader raise ParseError for whatever is wrong with the file that its first argument names, also for damage that nobody foresaw."""

    @functools.wraps(read)
    def reader(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        try:
            return read(*args, **kwargs)
        except ParseError:
            raise
        except Exception as error:
            first = args[0] if args else ""
            path = first if isinstance(first, (str, os.PathLike)) else "<bytes>"
            raise ParseError(path, None, _reason(error)) from error

    return reader


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if isinstance(error, MemoryError):
        return "reading it needs more memory than there is"
    return f"damaged ({type(error).__name__}: {error})"


def _line(text: str) -> str:
    return plain(text) if len(text) <= WHAT_MAX else f"{plain(text[:WHAT_MAX])}..."
