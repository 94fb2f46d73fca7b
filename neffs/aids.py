"""Keeps sealed documents that a store keeps for itself in STORE/.store. They are aids: without one, or with a damaged one, everything
is found anew."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from neff_bench.neffs.checksums import check_seal, seal
from neff_bench.neffs.store import OWN
from neff_bench.system.files import write_whole


def read_aid(store: Path, name: str) -> bytes:
    """Return the document. Raises `OSError`, also for a link, and `Unsealed`."""
    folder = os.open(store / OWN, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        found = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    finally:
        os.close(folder)
    with open(found, "rb") as file:
        document = file.read()
    check_seal(document)
    return document


def write_aid(store: Path, name: str, document: bytes) -> None:
    """Seal and write it. A directory that is no store, is another user's or cannot be written is left as it is."""
    try:
        status = os.lstat(store / OWN)
        if stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid():
            write_whole(store / OWN / name, seal(document))
    except OSError:
        pass
