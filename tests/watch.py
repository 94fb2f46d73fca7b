"""What a test sees of other processes: who runs, which lock is free, what comes true soon."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Callable
from pathlib import Path


def running(*words: str) -> bool:
    """Whether a process with exactly this command line is alive."""
    wanted = b"\0".join(word.encode() for word in words) + b"\0"
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if entry.read_bytes() == wanted:
                return True
        except OSError:
            continue
    return False


def free(lock: Path) -> bool:
    """Whether nobody holds this lock."""
    with lock.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def soon(condition: Callable[[], bool]) -> bool:
    """Whether it holds within a minute, on a machine however busy."""
    deadline = time.monotonic() + 60
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
