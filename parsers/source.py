"""Says where bytes come from: a regular file, or bytes in memory. Files are read, never mapped: one that gets shorter would kill the process."""

from __future__ import annotations

import mmap
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from neff_bench.parsers.errors import ParseError

MEMORY = "<bytes>"
"""The name that errors give to a source that is no file."""

READ_BYTES = 4 * 1024 * 1024
HUGE_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True)
class Source:
    """A file as it was when it was first looked at. `stamp`: device, inode, size and time of change (ns).

    `has_holes`: less than half of it is stored, so it is sparse, or on a file system that compresses.
    """

    path: str
    size_bytes: int
    stamp: tuple[int, int, int, int]
    has_holes: bool

    def read(self, offset: int, length: int) -> bytes:
        """Return `length` bytes from `offset`, or what there is up to the end. Raises ParseError when the file has changed."""
        return b"".join(self.pieces(offset, length))

    def pieces(self, offset: int, length: int, piece_bytes: int = READ_BYTES) -> Iterator[bytes]:
        """Yield the same bytes, a piece at a time."""
        end = min(offset + length, self.size_bytes)
        with self.opened() as descriptor:
            while offset < end:
                piece = os.pread(descriptor, min(piece_bytes, end - offset), offset)
                if not piece:
                    raise ParseError(self.path, offset, "the file became shorter while it was read")
                yield piece
                offset += len(piece)

    @contextmanager
    def opened(self) -> Iterator[int]:
        """Yield a descriptor. Raises ParseError when the file has changed, and for what goes wrong while it is open."""
        descriptor = _open(self.path)
        try:
            if _stamp(os.fstat(descriptor)) != self.stamp:
                raise ParseError(self.path, None, "the file changed while it was read")
            yield descriptor
        except OSError as error:
            raise ParseError(self.path, None, error.strerror or str(error)) from None
        finally:
            os.close(descriptor)


def open_source(path: str | os.PathLike[str]) -> Source:
    """Open a file. Raises ParseError for anything but a non-empty regular file that can be read."""
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
    return Source(name, status.st_size, _stamp(status), has_holes=status.st_blocks * 512 < status.st_size // 2)


def read_whole(source: str | os.PathLike[str] | bytes, bytes_max: int) -> memoryview:
    """Return the whole content, in memory of its own, from which `forget` can give parts back. Raises ParseError for more than `bytes_max` bytes.

    In a file with holes the first zero byte ends the reading.
    """
    if isinstance(source, bytes):
        return memoryview(source)
    file = open_source(source)
    if file.size_bytes > bytes_max:
        raise ParseError(
            source, None, f"{file.size_bytes} bytes, more than the {bytes_max} that are read of such a file"
        )
    try:
        mapping = mmap.mmap(-1, file.size_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except (OSError, OverflowError):
        raise ParseError(source, None, f"{file.size_bytes} bytes, more than there is memory for") from None
    if file.size_bytes >= HUGE_BYTES and hasattr(mmap, "MADV_HUGEPAGE"):
        mapping.madvise(mmap.MADV_HUGEPAGE)  # a fault for each 4 KiB takes longer than the copy
    memory, at = memoryview(mapping), 0
    with file.opened() as descriptor:
        while at < file.size_bytes:
            count = os.preadv(descriptor, [memory[at : at + READ_BYTES]], at)
            if count == 0:
                raise ParseError(source, at, "the file became shorter while it was read")
            if file.has_holes and (zero := mapping.find(b"\0", at, at + count)) >= 0:
                raise ParseError(source, zero, "a zero byte, expected text")
            at += count
    return memory.toreadonly()


def source_name(source: str | os.PathLike[str] | bytes) -> str:
    """Return the name by which errors call `source`."""
    return MEMORY if isinstance(source, bytes) else os.fspath(source)


def forget(whole: memoryview, start: int, end: int) -> None:
    """Give back the memory of `[start, end)` of what `read_whole` returned; the bytes there must not be used again."""
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
