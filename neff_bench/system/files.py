"""Writes files and directories that are there whole or not at all, also after the power went."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
from pathlib import Path


def read_plain(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a file, of a pipe or a device nothing: who reads one may wait for ever. Raises `OSError`."""
    with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "not a plain file", os.fspath(path))
        return file.read()


def user_cache() -> Path:
    """Return the folder for what costs time alone when it is lost. Raises `RuntimeError` for a user without a home."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "neff-bench")


def write_whole(path: str | os.PathLike[str], data: bytes | memoryview) -> None:
    """Write beside, sync and rename; an earlier file stays when that fails. A link is replaced, not followed. Raises `OSError`."""
    target = Path(path)
    beside = target.with_name(f".{target.name[:200]}.{os.getpid()}-{secrets.token_hex(4)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        with open(os.open(beside, flags, 0o666), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def remove(path: Path) -> None:
    """Remove a file, a folder with all in it, or a link but not what it leads to; nothing where there is none. Raises `OSError`."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Put a file, or the names in a directory, on the disk. Raises `OSError`."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
