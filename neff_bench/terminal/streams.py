"""Writes the answer to standard output and all else to standard error. A closed stream, a full disk or an ASCII terminal costs one line."""

from __future__ import annotations

import codecs
import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, get_ident
from typing import Any, TextIO

from neff_bench.errors import OutputError
from neff_bench.terminal.text import plain

_SUBSTITUTES = {"─": "-", "━": "=", "│": "|", "…": "...", "→": "->", "×": "x", "±": "+-", "µ": "u", "\ufffd": "?"}
_HANDLER = "neff_bench.substitute"


def prepare() -> None:
    """Make the three standard streams usable; call it before anything is opened or printed.

    The number of a closed stream is taken, so that no file gets it by chance. Characters that the encoding of a stream lacks are substituted.
    """
    for number, flags in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, flags), True)
    if sys.stdout is None:
        sys.stdout = _stream(os.O_RDONLY)
    if sys.stderr is None:
        sys.stderr = _stream(os.O_WRONLY)
    codecs.register_error(_HANDLER, _substitute)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=_HANDLER)


def width(otherwise: int) -> int:
    """Return the columns of the terminal, or of COLUMNS, as shutil does it. Its import would make every `--help` slower."""
    said = os.environ.get("COLUMNS", "")
    if said.isdecimal() and int(said):
        return int(said)
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or otherwise  # type: ignore[union-attr]
    except (AttributeError, ValueError, OSError):
        return otherwise


def write(text: str) -> None:
    """Print a part of the answer. Raises `OutputError`, and `BrokenPipeError` when nobody reads it."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as error:
        raise OutputError(f"standard output: {_why(error)}") from None


def line(text: str = "") -> None:
    """Write the text and a newline."""
    write(f"{text}\n")


def finish() -> None:
    """Flush both streams, and let go of what cannot be written. Raises `OutputError` for a lost answer, `BrokenPipeError` when nobody reads it."""
    _let_go(sys.stderr)
    error = _let_go(sys.stdout)
    if isinstance(error, BrokenPipeError):
        raise error
    if error is not None:
        raise OutputError(f"standard output: {_why(error)}")


@contextmanager
def prints_to_stderr() -> Iterator[None]:
    """Send what this thread prints to standard output inside to standard error."""
    thread = get_ident()
    with _GUARD:
        shared = sys.stdout if isinstance(sys.stdout, _ByThread) else _ByThread(sys.stdout)
        sys.stdout = shared
        shared.aside[thread] += 1
    try:
        yield
    finally:
        with _GUARD:
            shared.aside[thread] -= 1
            if not shared.aside[thread]:
                del shared.aside[thread]
            if not shared.aside and sys.stdout is shared:
                sys.stdout = shared.out


class _ByThread:
    """Standard output `out`, which is standard error to the threads that count in `aside`."""

    def __init__(self, out: TextIO) -> None:
        self.out = out
        self.aside: Counter[int] = Counter()

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stderr if get_ident() in self.aside else self.out, name)


_GUARD = Lock()


def error(text: str) -> None:
    """Say why the command fails."""
    _say("error", text)


def warning(text: str) -> None:
    """Say what may spoil the answer."""
    _say("warning", text)


def notice(text: str) -> None:
    """Say what is worth knowing."""
    _say("notice", text)


def status(text: str) -> None:
    """Write one line on standard error as it is; it is lost where standard error cannot be written."""
    try:
        print(plain(text), file=sys.stderr, flush=True)
    except (OSError, ValueError):
        pass


def _say(kind: str, text: str) -> None:
    status(f"{kind}: {text}")


def _stream(flags: int) -> TextIO:
    return open(os.open(os.devnull, flags), "w", encoding="utf-8")


def _let_go(stream: TextIO) -> Exception | None:
    """Flush; when that fails, send what is left to nowhere and return the error."""
    try:
        stream.flush()
        return None
    except (OSError, ValueError) as error:
        try:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
            stream.flush()
        except (OSError, ValueError):
            pass
        return error


def _why(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def _substitute(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return "".join(
        _SUBSTITUTES.get(c) or c.encode("unicode_escape", "surrogatepass").decode() for c in missing
    ), error.end
