"""Reads JSON as tools leave it in files: after a byte-order mark, in UTF-16, or between lines of a log."""

from __future__ import annotations

import codecs
import os
import re

from neff_bench.parsers.errors import ParseError
from neff_bench.parsers.source import open_source, read_whole, source_name

JSON_BYTES_MAX = 16 * 1024**3
UTF16_BYTES_MAX = 64 * 1024**2
"""It is held three times over while it is converted."""
LOG_BYTES_MAX = 1024 * 1024
"""Before the JSON, and after it."""

_START = re.compile(rb'^[ \t]*(?=\{|\[\s*[\{\["\]])', re.MULTILINE)
"""A log line may begin with a bracket too: `[WARN] ...`."""
_LOG_LINE = re.compile(rb'\s*(?:time="|[A-Z]{4}\[\d+\]|\{(?=[^\n]*"level")[^\n]*"msg")')
"""The three forms of logrus: such a line may end in a bracket."""


def read_json(source: str | os.PathLike[str] | bytes) -> tuple[memoryview, int]:
    """Return the JSON in UTF-8, and where it starts in the file (for UTF-16: in the text). Raises ParseError as `read_whole` does."""
    head = source[:4] if isinstance(source, bytes) else open_source(source).read(0, 4)
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        whole = read_whole(source, UTF16_BYTES_MAX)
        try:
            return _without_log(memoryview(str(whole, "utf-16").encode()), 0)
        except UnicodeDecodeError as error:
            raise ParseError(
                source_name(source), error.start, "the text is no UTF-16, though it begins as such"
            ) from None
    whole = read_whole(source, JSON_BYTES_MAX)
    return _without_log(whole, len(codecs.BOM_UTF8) if head.startswith(codecs.BOM_UTF8) else 0)


def _without_log(text: memoryview, start: int) -> tuple[memoryview, int]:
    """Return the text from its first line that can start JSON to the last that can end it: one with a bracket at its end that is no log line."""
    found = _START.search(text[start : start + LOG_BYTES_MAX])
    start += found.start() if found else 0
    text = text[start:]
    tail = bytes(text[-LOG_BYTES_MAX:])
    end = len(tail)
    while (newline := tail.rfind(b"\n", 0, end)) >= 0:
        line = tail[newline + 1 : end]
        if line.rstrip().endswith((b"}", b"]")) and not _LOG_LINE.match(line):
            break
        end = newline
    return text[: len(text) - len(tail) + end], start
