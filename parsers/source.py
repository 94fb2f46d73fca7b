"""Where bytes come from: a regular file of somebody else's, or bytes in memory.

Files are read, never mapped: a mapped file that another process makes shorter kills the process that touches the lost pages.
"""

from __future__ import annotations

import mmap
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from neff_bench.parsers.errors import ParseError

MEMORY = "<bytes>"
"""The name that errors give to a source that is no file."""

READ_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True)
class Source:
    """A file as it was when it was first looked at. `stamp`: device, inode, size and time of change (ns)."""

    path: str
    size_bytes: int
    stamp: tuple[int, int, int, int]

    def read(self, offset: int, length: int) -> bytes:
        """`length` bytes from `offset`, or what there is up to the end. Raises ParseError when the file has changed."""
        return b"".join(self.pieces(offset, length))

    def pieces(self, offset: int, length: int, piece_bytes: int = READ_BYTES) -> Iterator[bytes]:
        """The same bytes, a piece at a time."""
        end = min(offset + length, self.size_bytes)
        descriptor = _open(self.path)
        try:
            if _stamp(os.fstat(descriptor)) != self.stamp:
                raise ParseError(self.path, None, "the file changed while it was read")
            while offset < end:
                piece = os.pread(descriptor, min(piece_bytes, end - offset), offset)
                if not piece:
                    raise ParseError(self.path, offset, "the file became shorter while it was read")
                yield piece
                offset += len(piece)
        except OSError as error:
            raise ParseError(self.path, offset, error.strerror or str(error)) from None
        finally:
            os.close(descriptor)


def open_source(path: str | os.PathLike[str]) -> Source:
    """Raises ParseError for anything but a non-empty regular file that can be read."""
    name = os.fspath(path)
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError) as error:
        raise ParseError(path, None, getattr(error, "strerror", None) or str(error)) from None
    # Checked before open: opening a FIFO would wait for its writer.
    if not stat.S_ISREG(mode):
        what = "a directory" if stat.S_ISDIR(mode) else "not a regular file"
        raise ParseError(path, None, f"{what}, expected a file")
    descriptor = _open(name)
    try:
        status = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    if status.st_size == 0:
        raise ParseError(path, 0, "empty file")
    return Source(name, status.st_size, _stamp(status))


def read_whole(source: str | os.PathLike[str] | bytes, bytes_max: int, refused: bytes = b"") -> memoryview:
    """The whole content. Raises ParseError when it has more than `bytes_max` bytes, or holds a byte of `refused`.

    Memory of its own, from which `forget` can give parts back.
    """
    if isinstance(source, bytes):
        return memoryview(source)
    file = open_source(source)
    if file.size_bytes > bytes_max:
        raise ParseError(
            source, None, f"{file.size_bytes} bytes, more than the {bytes_max} that are read of such a file"
        )
    try:
        memory = memoryview(mmap.mmap(-1, file.size_bytes))
    except (OSError, OverflowError):
        raise ParseError(source, None, f"{file.size_bytes} bytes, more than there is memory for") from None
    at = 0
    for piece in file.pieces(0, file.size_bytes):
        for byte in refused:
            if (found := piece.find(byte)) >= 0:
                raise ParseError(source, at + found, f"a byte 0x{byte:02x}, which no such file holds")
        memory[at : at + len(piece)] = piece
        at += len(piece)
    return memory.toreadonly()


def source_name(source: str | os.PathLike[str] | bytes) -> str:
    """The name by which errors call `source`."""
    return MEMORY if isinstance(source, bytes) else os.fspath(source)


def forget(whole: memoryview, start: int, end: int) -> None:
    """Gives back the memory of `[start, end)` of what `read_whole` returned; the bytes there must not be used again."""
    memory = whole.obj
    if isinstance(memory, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        page = mmap.PAGESIZE
        first, last = -(-start // page) * page, end // page * page
        if last > first:
            memory.madvise(mmap.MADV_DONTNEED, first, last - first)


def _open(path: str) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise ParseError(path, None, error.strerror or str(error)) from None


def _stamp(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
