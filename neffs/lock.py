"""Locks that die with their holder: `flock` on a file that is removed on release.

Whoever takes a lock checks that the file is still the one that the name stands for, so that a file removed between
`open` and `flock` never counts. A holder that is killed leaves the file but not the lock.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_POLL_S = 0.05


def try_lock(path: Path) -> int | None:
    """A file descriptor that holds the lock, or None when another process holds it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        here, there = os.fstat(descriptor), os.stat(path, follow_symlinks=False)
        if (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino):
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        pass
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def unlock(path: Path, descriptor: int) -> None:
    """Remove the file and drop the lock, in that order."""
    path.unlink(missing_ok=True)
    os.close(descriptor)


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
