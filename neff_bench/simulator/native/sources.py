"""The C files that are compiled, and their digest: what was built is used only as long as it is of these sources.

setup.py runs this file alone, so it imports nothing of this package.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


def c_files() -> list[Path]:
    """The C files and their headers, by name: those of the core, and in `recorder/` those of the recorder's extension."""
    return sorted(FOLDER.rglob("*.[ch]"))


def digest() -> str:
    """16 hex digits over their contents."""
    return _digest(tuple(c_files()))


@cache
def _digest(paths: tuple[Path, ...]) -> str:
    whole = hashlib.sha256()
    for path in paths:
        whole.update(path.name.encode() + b"\0" + path.read_bytes())
    return whole.hexdigest()[:16]
