"""Gives rows of an earlier call, each good for as long as no file that it was made from has changed.

A row is kept with a stamp: a hash over size, times and inode of the case's manifest, the records and summaries of its runs, and (where the device may be
used) its NEFF, inputs and references. Another version of this code or another tool makes the row anew. A row is not kept when one of its files was written
less than a second before: it could change again within the resolution of the clock. The rows lie in STORE/.store/.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable
from pathlib import Path

import msgspec

from neff_bench.installation import PACKAGE
from neff_bench.neffs.aids import read_aid, write_aid
from neff_bench.neffs.bundle import MANIFEST, PROFILES, Bundle, used_files
from neff_bench.neffs.checksums import Unsealed, plain_status
from neff_bench.stage2_profile.capture import runs
from neff_bench.stage2_profile.metrics.rows import Row
from neff_bench.system.decoding import decoder

_SETTLED_NS = 1_000_000_000


class _Kept(msgspec.Struct, frozen=True):
    """`files`: what the stamp is of beside the records of the runs, by path in the bundle."""

    stamp: str
    files: tuple[str, ...]
    row: Row


class _Index(msgspec.Struct, frozen=True):
    """`asked`: hash over the code and the options that the rows depend on."""

    asked: str
    rows: dict[str, _Kept]


_DECODER = decoder(_Index)
_ENCODER = msgspec.json.Encoder()
_DECODER.decode(_ENCODER.encode(_Index("", {"": _Kept("", (), Row(case="", status="failed"))})))


class RowIndex:
    """The rows of the store at `path`. `name`: of the file; `asked`: everything beside files that the rows depend on."""

    def __init__(self, path: Path, name: str, asked: Iterable[object]) -> None:
        self._path = path
        self._file = f"rows-{name}.json"
        self._asked = hashlib.sha256(repr([_code(), *asked]).encode()).hexdigest()
        self._known = self._read()
        self._new: dict[str, _Kept] = {}

    def row(self, bundle: Bundle) -> Row | None:
        """Return the row of a bundle, None when it has to be made."""
        kept = self._known.get(bundle.name)
        if kept is None:
            return None
        stamp = _stamp(bundle, kept.files)
        return kept.row if stamp is not None and stamp[0] == kept.stamp else None

    def keep(self, bundle: Bundle, row: Row, summaries: Iterable[str], *, with_inputs: bool) -> None:
        """Remember a row that was just made. `summaries`: the files that its numbers are from, by path in the bundle."""
        files = (*summaries, *(used_files(bundle.manifest) if with_inputs else ()))
        stamp = _stamp(bundle, files)
        if stamp is not None and stamp[1] < time.time_ns() - _SETTLED_NS:
            kept = _Kept(stamp[0], files, row)
            if kept != self._known.get(bundle.name):
                self._new[bundle.name] = kept

    def save(self) -> None:
        """Write what was learned."""
        if not self._new:
            return
        rows = {**self._read(), **self._new}
        rows = {name: kept for name, kept in rows.items() if (self._path / name).is_dir()}
        document = msgspec.json.format(_ENCODER.encode(_Index(self._asked, rows)), indent=2)
        write_aid(self._path, self._file, document + b"\n")

    def _read(self) -> dict[str, _Kept]:
        try:
            index = _DECODER.decode(read_aid(self._path, self._file))
        except (OSError, Unsealed, msgspec.DecodeError, UnicodeDecodeError):
            return {}
        return index.rows if index.asked == self._asked else {}


def _stamp(bundle: Bundle, files: Iterable[str]) -> tuple[str, int] | None:
    """Return the stamp and the latest time of change in ns; None when a file is absent or not a plain one."""
    prefix, lines, newest_ns = os.fspath(bundle.path) + "/", [], 0
    try:
        names = os.listdir(prefix + PROFILES)
        records = [f"{PROFILES}/{name}/{runs.RECORD}" for name in sorted(names) if runs.order(name) is not None]
        for name in (MANIFEST, *records, *files):
            status = plain_status(prefix + name)
            if status is None:
                return None
            newest_ns = max(newest_ns, status.st_mtime_ns, status.st_ctime_ns)
            lines.append(f"{name} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}")
    except OSError:
        return None
    return hashlib.sha256("\n".join(lines).encode()).hexdigest(), newest_ns


def _code() -> str:
    """Return the sha256 in hex over the source that makes rows: a row of other code is not shown."""
    digest = hashlib.sha256()
    for room in ("neffs", "parsers", "stage2_profile"):
        for path in sorted((PACKAGE / room).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()
