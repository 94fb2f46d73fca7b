"""Says what the files of a closure import, by their content, so that an unchanged file is not parsed at each call (STORE/.store/imports.json)."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import orjson

from neff_bench.neffs.aids import read_aid, write_aid
from neff_bench.neffs.checksums import Unsealed

FILE = "imports.json"


class KnownImports:
    """The imports of files by (sha256 of the content, package). `parser`: the file whose code finds them; other code or another
    Python finds them anew."""

    def __init__(self, store: Path, parser: Path) -> None:
        self._store = store
        self._maker = f"{hashlib.sha256(parser.read_bytes()).hexdigest()} {sys.version_info[:2]}"
        self._known = self._read()
        self._new: dict[str, list[str]] = {}

    def find(self, sha256: str, package: str) -> list[str] | None:
        """Return the names that the file imports, None when they have to be found."""
        key = f"{sha256} {package}"
        return self._new.get(key, self._known.get(key))

    def keep(self, sha256: str, package: str, names: list[str]) -> None:
        """Remember what was found."""
        self._new[f"{sha256} {package}"] = names

    def save(self) -> None:
        """Write what was learned."""
        if self._new:
            document = {"maker": self._maker, "imports": {**self._read(), **self._new}}
            form = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
            write_aid(self._store, FILE, orjson.dumps(document, option=form))

    def _read(self) -> dict[str, list[str]]:
        try:
            document = orjson.loads(read_aid(self._store, FILE))
            known = document["imports"] if document["maker"] == self._maker else {}
            return {key: names for key, names in known.items() if isinstance(names, list)}
        except (OSError, Unsealed, ValueError, KeyError, TypeError, AttributeError):
            return {}
