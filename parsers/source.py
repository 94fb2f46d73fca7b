"""Where bytes come from: a regular file, opened without following the surprises a path may hold, or bytes in memory."""

from __future__ import annotations

import mmap
import os
import stat
from typing import BinaryIO

from neff_bench.parsers.errors import ParseError

MEMORY = "<bytes>"
"""The name that errors give to a source that is no file."""


def open_file(path: str | os.PathLike[str]) -> tuple[BinaryIO, int]:
    """The open file and its size in bytes. Raises ParseError for anything but a non-empty regular file that can be read."""
    try:
        # Checked before open: opening a FIFO would wait for its writer.
        mode = os.stat(path).st_mode
        if stat.S_ISREG(mode):
            file = open(path, "rb")
            size_bytes = os.fstat(file.fileno()).st_size
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise ParseError(path, None, reason or str(error)) from None
    if not stat.S_ISREG(mode):
        raise ParseError(
            path, None, f"{'a directory' if stat.S_ISDIR(mode) else 'not a regular file'}, expected a file"
        )
    if size_bytes == 0:
        file.close()
        raise ParseError(path, 0, "empty file")
    return file, size_bytes


def map_source(source: str | os.PathLike[str] | bytes) -> memoryview:
    """A read-only view of the whole source, paged in as it is read. Raises ParseError as `open_file` does.

    The mapping lives as long as the view and what is sliced from it.
    """
    if isinstance(source, bytes):
        return memoryview(source)
    file, size_bytes = open_file(source)
    with file:
        try:
            return memoryview(mmap.mmap(file.fileno(), size_bytes, access=mmap.ACCESS_READ))
        except (OSError, ValueError) as error:
            raise ParseError(source, None, f"cannot be mapped: {error}") from None


def source_name(source: str | os.PathLike[str] | bytes) -> str:
    """The name by which errors call `source`."""
    return MEMORY if isinstance(source, bytes) else os.fspath(source)


def forget_pages(view: memoryview) -> None:
    """Gives back the memory of the pages of a mapped file that have been read; they come back from the file when touched."""
    mapped = view.obj
    if isinstance(mapped, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)
