"""Says which directories of a store were compared with their checksums, so that each file is hashed once and not at each call.

A bundle, or a run in it, is known by a stamp: a hash over size, times and inode of its files and over the sha256 that was expected of each. A file that
was written less than a second before it was hashed is not remembered: it could change once more within the resolution of the clock.
The stamps lie in STORE/.store/verified.json; without them everything is hashed.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping
from pathlib import Path

import orjson

from neff_bench.neffs.aids import read_aid, write_aid
from neff_bench.neffs.checksums import FileSum, Unsealed, plain_status, wrong_content, wrong_size

FILE = "verified.json"
_SETTLED_NS = 1_000_000_000


class Verified:
    """Holds what is known of the store at `path`. Its methods may be called by several threads."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known = _read(path)
        self._new: dict[str, str] = {}

    def wrong(self, directory: Path, files: Mapping[str, FileSum]) -> str | None:
        """Return what is wrong with the files of a directory of this store, None when nothing is."""
        key, stamp, newest_ns = os.path.relpath(directory, self._path), _stamp(directory, files), None
        if stamp is None:
            return wrong_size(directory, files) or wrong_content(directory, files)
        digest, newest_ns = stamp
        if self._new.get(key) == digest or self._known.get(key) == digest:
            return None
        settled = newest_ns < time.time_ns() - _SETTLED_NS
        found = wrong_size(directory, files) or wrong_content(directory, files)
        if found is None and settled:
            self._new[key] = digest
        return found

    def save(self) -> None:
        """Keep what was learned."""
        if not self._new:
            return
        stamps = {**_read(self._path), **self._new}
        known = {key: stamp for key, stamp in stamps.items() if (self._path / key).is_dir()}
        document = orjson.dumps({"stamps": known}, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
        write_aid(self._path, FILE, document)


def _read(store: Path) -> dict[str, str]:
    try:
        stamps = orjson.loads(read_aid(store, FILE))["stamps"]
        return {key: stamp for key, stamp in stamps.items() if isinstance(stamp, str)}
    except (OSError, Unsealed, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _stamp(directory: Path, files: Mapping[str, FileSum]) -> tuple[str, int] | None:
    """Return the stamp and the latest time of change in ns; None when a file is absent or not a plain one."""
    digest, newest_ns, prefix = hashlib.sha256(), 0, os.fspath(directory) + "/"
    for name, expected in files.items():
        try:
            status = plain_status(prefix + name)
        except OSError:
            return None
        if status is None:
            return None
        newest_ns = max(newest_ns, status.st_mtime_ns, status.st_ctime_ns)
        digest.update(
            f"{name} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino} {expected.sha256}\n".encode()
        )
    return digest.hexdigest(), newest_ns
