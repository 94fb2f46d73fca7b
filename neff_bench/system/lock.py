"""Provides locks that die with their holder: `flock` on a file that is removed on release and says who holds it.

Whoever takes a lock checks that the file is still the one that the name stands for. A holder that is killed leaves the file but not the lock.
"""

from __future__ import annotations

import errno
import fcntl
import os
import pwd
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

PRIVATE, SHARED = 0o600, 0o666
"""Permissions of a lock file: for one user, or for all users of the host."""
_POLL_S = 0.05
_HOLDER_BYTES = 200
_WHY = {
    errno.ENOLCK: "this file system has no locks; put it on one that has them, such as a local disk",
    errno.EISDIR: "it is a directory; remove it",
    errno.ELOOP: "it is a link; remove it",
}


def try_lock(path: Path, mode: int = PRIVATE) -> int | None:
    """Return a file descriptor that holds the lock, or None when another process holds it. Raises `OSError` that names the file, for a link
    too."""
    try:
        return _try(path, mode)
    except OSError as error:
        why = _WHY.get(error.errno or 0, error.strerror)
        raise OSError(error.errno, f"cannot be locked: {why}", str(path)) from None


def _try(path: Path, mode: int) -> int | None:
    descriptor = _open(path, mode)
    if descriptor is None:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_at(path, descriptor):
            if os.fstat(descriptor).st_nlink == 1:
                _sign(descriptor)
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        pass
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def unlock(path: Path, descriptor: int) -> None:
    """Remove the file, where that is allowed, and drop the lock, in that order. Where its directory was replaced meanwhile, the file that is
    there now is another one's lock."""
    try:
        if _is_at(path, descriptor):
            path.unlink()
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        pass
    os.close(descriptor)


def _is_at(path: Path, descriptor: int) -> bool:
    return os.path.samestat(os.fstat(descriptor), os.lstat(path))


def is_held(path: Path) -> bool:
    """Return whether a process holds the lock; also so for one that may not be asked. Raises `FileNotFoundError`."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except PermissionError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def holder(path: Path) -> str:
    """Return who holds the lock, in words."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            said = os.read(descriptor, _HOLDER_BYTES).decode("utf-8", "replace").strip()
        finally:
            os.close(descriptor)
    except OSError:
        said = ""
    return said if said and said.isprintable() else "another process"


@contextmanager
def locked(path: Path, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold the lock; wait for it, calling `waiting` before each new try (it may raise to give up)."""
    while (descriptor := try_lock(path)) is None:
        waiting()
        time.sleep(_POLL_S)
    try:
        yield
    finally:
        unlock(path, descriptor)


def _open(path: Path, mode: int) -> int | None:
    """Return the file, made where it is absent; None when another process made or removed it at this moment.

    It is opened before it is made: in a sticky directory Linux forbids O_CREAT on another user's file (fs.protected_regular).
    """
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        return os.open(path, flags)
    except FileNotFoundError:
        pass
    try:
        descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL, mode)
    except FileExistsError:
        return None
    os.fchmod(descriptor, mode)
    return descriptor


def _sign(descriptor: int) -> None:
    """Write into the file who holds it; a full disk costs no lock."""
    try:
        user = pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        user = f"uid {os.geteuid()}"
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"process {os.getpid()} of {user}\n".encode(), 0)
    except OSError:
        pass
