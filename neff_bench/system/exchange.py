"""Swaps two directories.

Linux does it in one step (`renameat2` with RENAME_EXCHANGE). Where the file system does not know it (NFS, some overlays), the old directory is moved
aside first; whoever finds it aside and nothing in its place moves it back.
"""

from __future__ import annotations

import ctypes
import errno
import os
from pathlib import Path

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_UNSUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM}


def aside(new: Path) -> Path:
    """Return where `exchange(new, old)` keeps the old directory when it cannot swap in one step."""
    return new.with_name(new.name + ".old")


def exchange(new: Path, old: Path) -> None:
    """Exchange two paths: `old` names what `new` named. What `old` named is at `new` or at `aside(new)`. Raises `OSError` as `os.rename` does."""
    error = _renameat2(new, old)
    if error == 0:
        return
    if error not in _UNSUPPORTED:
        raise OSError(error, os.strerror(error), str(old))
    os.rename(old, aside(new))
    try:
        os.rename(new, old)
    except OSError:
        os.rename(aside(new), old)
        raise


def _renameat2(new: Path, old: Path) -> int:
    function = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if function is None:
        return errno.ENOSYS
    if function(_AT_FDCWD, os.fsencode(new), _AT_FDCWD, os.fsencode(old), _RENAME_EXCHANGE) == 0:
        return 0
    return ctypes.get_errno()
