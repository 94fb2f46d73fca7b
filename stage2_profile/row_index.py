"""Gives rows of an earlier call, each good for as long as no file that it was made from has changed.

A row is kept with a stamp: a hash over size, times and inode of the case's manifest, the records and summaries of its runs, and (where the device may be
used) its NEFF, inputs and references. Another version of this code or another tool makes the row anew. The rows lie in STORE/.store/.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from neff_bench.installation import PACKAGE
from neff_bench.neffs.aids import Aid, stamp
from neff_bench.neffs.bundle import MANIFEST, PROFILES, Bundle, used_files
from neff_bench.neffs.checksums import tree_digest
from neff_bench.stage2_profile.capture import runs
from neff_bench.stage2_profile.metrics.rows import Row


class Kept(msgspec.Struct, frozen=True):
    """`files`: what the stamp is of beside the records of the runs, by path in the bundle."""

    stamp: str
    files: tuple[str, ...]
    row: Row


class RowIndex:
    """The rows of the store at `path`. `name`: of the file; `asked`: everything beside files that the rows depend on."""

    def __init__(self, path: Path, name: str, asked: Iterable[object]) -> None:
        self._path = path
        asked_for = hashlib.sha256(repr([_code(), *asked]).encode()).hexdigest()
        self._rows: Aid[Kept] = Aid(path, f"rows-{name}.json", Kept, asked_for)

    def row(self, bundle: Bundle) -> Row | None:
        """Return the row of a bundle, None when it has to be made."""
        kept = self._rows.find(bundle.name)
        if kept is None:
            return None
        now = _stamp(bundle, kept.files)
        return kept.row if now is not None and now[0] == kept.stamp else None

    def keep(self, bundle: Bundle, row: Row, summaries: Iterable[str], *, with_inputs: bool) -> None:
        """Remember a row that was just made. `summaries`: the files that its numbers are from, by path in the bundle."""
        files = (*summaries, *(used_files(bundle.manifest) if with_inputs else ()))
        now = _stamp(bundle, files)
        if now is not None and now[1]:
            self._rows.keep(bundle.name, Kept(now[0], files, row))

    def save(self) -> None:
        """Write what was learned."""
        self._rows.save(lambda name: (self._path / name).is_dir())


def _stamp(bundle: Bundle, files: Iterable[str]) -> tuple[str, bool] | None:
    try:
        names = os.listdir(bundle.path / PROFILES)
    except OSError:
        return None
    records = [f"{PROFILES}/{name}/{runs.RECORD}" for name in sorted(names) if runs.order(name) is not None]
    return stamp(bundle.path, ((name, "") for name in (MANIFEST, *records, *files)))


def _code() -> str:
    """Return what tells the source that makes rows: a row of other code is not shown."""
    return " ".join(tree_digest(PACKAGE / room) for room in ("neffs", "parsers", "stage2_profile"))
