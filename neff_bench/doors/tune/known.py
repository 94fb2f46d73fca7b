"""Keeps what earlier calls of `tune` answered, in the user's cache: the same variant of the same files is estimated once.

An answer is known by all that it follows from: the variant, the files that its kernel imports, this program, the release, calibration
and environment. A file that a kernel opens by itself is not seen, as in the keys of `generate-neffs`.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from neff_bench.installation import PACKAGE
from neff_bench.system.files import user_cache

Entries = tuple[str, ...]
"""Functions as `file.py:name` or `package.module:name`: a kernel, and its reference."""
Stamp = tuple[str, int, int]
"""A file, when it was written, and its size."""

KEPT = 50_000
"""Answers, of some 4 KB. The oldest go."""
_VARIABLES = ("NEURON", "NKI", "NEFF", "JAX", "XLA")
"""How the names of variables begin that simulators, kernels and compilers read."""


class Known:
    """The answers of earlier calls, but none with `force`. Where the cache cannot be used, nothing is known."""

    def __init__(self, sdk: str, force: bool) -> None:
        from neff_bench.chips.calibration import active
        from neff_bench.sdk.installed import version_of

        calibration = active()
        variables = sorted(item for item in os.environ.items() if item[0].startswith(_VARIABLES))
        libraries = (sys.version, version_of("numpy"), version_of("ml_dtypes"))
        self._same = (
            sdk, calibration.digest if calibration else "", _stamps(_own_files()), libraries, variables, sys.path, os.getcwd(),
        )  # fmt: skip
        self._force = force
        self._asked: dict[bytes, tuple[bytes, Entries, str]] = {}
        self._sources: dict[Entries, tuple[tuple[Stamp, ...], str]] = {}
        self._table: sqlite3.Connection | None = None
        with suppress(OSError, RuntimeError, sqlite3.Error):  # RuntimeError: a user without a home
            path = user_cache() / "tuned.sqlite3"
            path.parent.mkdir(parents=True, exist_ok=True)
            table = sqlite3.connect(path, isolation_level=None)
            table.execute("PRAGMA synchronous = OFF")
            table.execute("CREATE TABLE IF NOT EXISTS answers (id INTEGER PRIMARY KEY, key TEXT UNIQUE, answer BLOB)")
            table.execute("DELETE FROM answers WHERE id <= (SELECT max(id) FROM answers) - ?", (KEPT,))
            self._table = table

    def find(self, line: bytes, variant: bytes, entries: Entries) -> bytes | None:
        """Return the answer to a line, which may have another id; None where there is none yet. `variant`: what it says but for the id.
        `entries`: what of it lies in files."""
        key = self._key(variant, entries)
        found = None
        if self._table is not None and not self._force:
            with suppress(sqlite3.Error):
                found = self._table.execute("SELECT answer FROM answers WHERE key = ?", (key,)).fetchone()
        if found is None:
            self._asked[line] = variant, entries, key
            return None
        answer: bytes = found[0]
        return answer

    def keep(self, line: bytes, answer: bytes) -> None:
        """Keep the answer to a line that `find` did not know, unless its files have changed since."""
        variant, entries, key = self._asked.pop(line, (b"", (), ""))
        if self._table is not None and key and self._key(variant, entries) == key:
            with suppress(sqlite3.Error):
                self._table.execute("INSERT OR REPLACE INTO answers (key, answer) VALUES (?, ?)", (key, answer))

    def _key(self, variant: bytes, entries: Entries) -> str:
        return hashlib.sha256(repr((variant, self._digest(entries), self._same)).encode()).hexdigest()

    def _digest(self, entries: Entries) -> str:
        """Return a hash of all files that these functions are made of. A file may change between two lines."""
        from neff_bench.stage1_generate.jobs.closure import Closures, search_path

        stamps, digest = self._sources.get(entries, ((), ""))
        if not stamps or stamps != _stamps(file for file, *_ in stamps):
            closures = Closures(search_path())
            modules = [entry.rpartition(":")[0] for entry in entries]
            roots = [Path(module).resolve() if module.endswith(".py") else module for module in modules]
            digest = closures.digest(*roots)
            self._sources[entries] = _stamps(closures.files(*roots)), digest
        return digest


def _own_files() -> list[str]:
    """Return the files of this program."""
    return [
        os.path.join(folder, name)
        for folder, _, names in os.walk(PACKAGE, followlinks=True)
        if not folder.endswith("__pycache__")
        for name in names
    ]


def _stamps(files: Iterable[str | Path]) -> tuple[Stamp, ...]:
    """Return which files these are, when each was written, and its size."""
    found = []
    for file in sorted(map(str, files)):
        with suppress(OSError):
            status = os.stat(file)
            found.append((file, status.st_mtime_ns, status.st_size))
    return tuple(found)
