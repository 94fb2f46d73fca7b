"""Says which directories of a store were compared with their checksums, so that each file is hashed once and not at each call.

A bundle, or a run in it, is known by a stamp: a hash over size, times and inode of its files and over the sha256 that was expected of each. The stamps lie
in STORE/.store/verified.json; without them everything is hashed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from neff_bench.neffs.aids import Aid, stamp
from neff_bench.neffs.checksums import FileSum, wrong_file


class Verified:
    """Holds what is known of the store at `path`. Its methods may be called by several threads."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamps: Aid[str] = Aid(path, "verified.json", str)

    def wrong(self, directory: Path, files: Mapping[str, FileSum]) -> str | None:
        """Return what is wrong with the files of a directory of this store, None when nothing is."""
        key = os.path.relpath(directory, self._path)
        now = stamp(directory, ((name, str(expected.sha256)) for name, expected in files.items()))
        if now is not None and self._stamps.find(key) == now[0]:
            return None
        found = wrong_file(directory, files)
        if found is None and now is not None and now[1]:
            self._stamps.keep(key, now[0])
        return found

    def save(self) -> None:
        """Keep what was learned."""
        self._stamps.save(lambda key: (self._path / key).is_dir())
