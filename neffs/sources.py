"""Keeps the text of a kernel's files inside its bundle: `sources/<name>`, where `name` is what the compiler calls the file, without a leading `/`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

SOURCES = "sources"
BYTES_MAX = 4 * 1024 * 1024
"""The largest file."""


def keep_sources(directory: Path, names: Iterable[str], folders: Sequence[str | os.PathLike[str]]) -> None:
    """Copy the Python files of these names, which are absolute or lie in one of the folders; what is not there is left out. Raises `OSError`."""
    for name in names:
        inside = name.lstrip("/")
        if not name.endswith(".py") or ".." in name.split("/") or "\0" in name:
            continue
        for path in (Path(folder, name) for folder in folders):
            if path.is_file() and path.stat().st_size <= BYTES_MAX:
                copy = directory / SOURCES / inside
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, copy)
                break
