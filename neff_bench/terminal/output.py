"""Writes the answer of a command: in which format, and where to."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from neff_bench.errors import OutputError
from neff_bench.system.files import write_whole
from neff_bench.terminal import streams
from neff_bench.terminal.answer import Answer
from neff_bench.terminal.formats import Page, render
from neff_bench.terminal.options import remembered

WIDTH = 120
"""Columns of a table where standard output is no terminal and COLUMNS is not set."""
PAGE = ".html"
"""The suffix of a page."""
HOW_TO_OPEN = {PAGE: "; open it in a browser", ".pftrace": "; open it at ui.perfetto.dev"}
"""What is said of a file that was written, by its suffix."""


def write_answer(answer: Answer, format: str, output: Path | None) -> None:
    """Write the answer to a file or to standard output. Raises `OutputError`."""
    write_text(render(answer, format, page(output)), output)


def write_text(text: str, output: Path | None) -> None:
    """Write text to a file, whole or not at all, or to standard output. Raises `OutputError`."""
    if output is None:
        streams.write(text)
        return
    write_bytes(text.encode("utf-8", "backslashreplace"), output)


def write_bytes(data: bytes, output: Path) -> None:
    """Write bytes to a file, whole or not at all. Raises `OutputError`."""
    try:
        if not output.parent.exists():
            output.parent.mkdir(parents=True)
        if output.exists() and not output.is_file():
            output.write_bytes(data)  # a pipe, or /dev/stdout
        else:
            write_whole(output.resolve(), data)
            streams.status(f"wrote {output}, {_size(len(data))}{HOW_TO_OPEN.get(output.suffix.lower(), '')}")
    except OSError as error:
        raise OutputError(f"{output}: cannot write it: {error.strerror}") from None


def is_page(output: Path | None) -> bool:
    """Return whether an answer that goes there is a page."""
    return output is not None and output.suffix.lower() == PAGE


def _size(count: int) -> str:
    """Return a number of bytes as people read it."""
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count / 1e3:.1f} kB" if count >= 1e3 else f"{count} bytes"


def page(output: Path | None) -> Page:
    """Return the page that an answer is laid out for: colour only on a terminal, and not with NO_COLOR."""
    wide = bool(remembered("wide"))
    columns = tuple(filter(None, map(str.strip, (remembered("columns") or "").split(","))))
    if output is not None:
        return Page(WIDTH, False, wide, columns)
    color = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    return Page(max(20, streams.width(WIDTH)), color, wide, columns)
