"""Finds the source lines that a profile points at, in `.py` files below the given directories alone: a page may be given to others."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_LINE = re.compile(r"(?P<file>.+?):(?P<number>\d+)(:\d+)?")
BYTES_MAX = 4 * 1024 * 1024


@dataclass(frozen=True)
class Place:
    """A line of a file, counted from 1."""

    file: str
    number: int


def place_of(location: str) -> Place | None:
    """Return the place that a text such as `kernel.py:33` names; None for what is none."""
    found = _LINE.fullmatch(location)
    return Place(found["file"], int(found["number"])) if found else None


def read_sources(locations: Iterable[str], roots: Sequence[Path]) -> Mapping[str, str]:
    """Return the text of each file that is found, by the name that the profile has for it."""
    places = filter(None, map(place_of, locations))
    texts = {name: _read(name, roots) for name in dict.fromkeys(place.file for place in places)}
    return {name: content for name, content in texts.items() if content is not None}


def _read(name: str, roots: Sequence[Path]) -> str | None:
    if not name.endswith(".py") or "\0" in name:
        return None
    for root in roots:
        inside = os.path.realpath(root)
        for place in _places(name, os.path.basename(inside)):
            path = os.path.realpath(os.path.join(inside, place))
            if path.startswith(inside + os.sep) and os.path.isfile(path) and os.path.getsize(path) <= BYTES_MAX:
                try:
                    return Path(path).read_text(encoding="utf-8")
                except (OSError, UnicodeDecodeError):
                    continue
    return None


def _places(name: str, root: str) -> list[str]:
    """Return where a file may lie below a folder: as it is called, or, when that is its place on another machine, by the end of it. A file name alone says too
    little; its folder has to agree, which may be the one that is searched (`root`, its name)."""
    if not name.startswith("/"):
        return [name]
    parts = name.strip("/").split("/")
    ends = ["/".join(parts[at:]) for at in range(len(parts) - 1)]
    return [name, *ends, *(parts[-1:] if parts[-2:-1] == [root] else ())]
