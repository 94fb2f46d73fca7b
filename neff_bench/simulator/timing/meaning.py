"""Says what source files mean: digests that a comment, a docstring or another formatting leaves as they are."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from neff_bench.system.files import user_cache

_C_LAYOUT = re.compile(
    rb'("(?:\\.|[^"\\])*"|^[ \t]*#(?:\\\n|[^\n])*\n)|/\*.*?\*/|//[^\n]*|\s+', re.DOTALL | re.MULTILINE
)
"""Strings and preprocessor lines, which stay as written; and comments and blanks, of which one blank stays."""

_KEPT = 600
"""Digests that are remembered: those of several installations, which take turns where they are compared."""


def meanings(paths: Iterable[Path]) -> list[str]:
    """Return the digest of each file's meaning. Parsing costs half a second for a hundred files, so digests are remembered by
    the bytes that they follow from, in the user's cache, as far as one can be written."""
    remembered = _remembered()
    texts = [path.read_bytes() for path in paths]
    own = Path(__file__).read_bytes()  # another way to read a meaning makes other digests
    keys = [hashlib.sha256(own + text).hexdigest() for text in texts]
    found = {
        key: remembered.get(key) or meaning_of(text, path.suffix)
        for key, text, path in zip(keys, texts, paths, strict=True)
    }
    if not found.keys() <= remembered.keys():
        others = {key: digest for key, digest in remembered.items() if key not in found}
        _remember(dict([*others.items(), *found.items()][-max(_KEPT, len(found)) :]))
    return [found[key] for key in keys]


def meaning_of(text: bytes, suffix: str) -> str:
    """Return the digest of what one file means: of its syntax tree in Python, of its text without comments in C."""
    if suffix == ".py":
        return hashlib.sha256(repr(_plain(ast.parse(text))).encode()).hexdigest()
    return hashlib.sha256(_C_LAYOUT.sub(lambda found: found[1] or b" ", text).strip()).hexdigest()


def _plain(node: Any) -> Any:
    """Return a syntax tree as lists, the same in every version of Python: fields without a value are left out, and so are
    strings that stand alone, which are docstrings."""
    if isinstance(node, ast.AST):
        fields = [(name, _plain(getattr(node, name, None))) for name in node._fields if name != "kind"]
        return [type(node).__name__, *(field for field in fields if field[1] not in (None, []))]
    if isinstance(node, list):
        return [_plain(each) for each in node if not _is_docstring(each)]
    return node


def _is_docstring(node: Any) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _cache() -> Path:
    return user_cache() / "model-sources.json"


def _remembered() -> dict[str, str]:
    try:
        found = json.loads(_cache().read_text(encoding="utf-8"))
    except (OSError, ValueError, RuntimeError):  # RuntimeError: a user without a home
        return {}
    whole = isinstance(found, dict) and all(isinstance(value, str) for value in found.values())
    return found if whole else {}


def _remember(found: dict[str, str]) -> None:
    try:
        path = _cache()
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_suffix(f".{os.getpid()}")
        beside.write_text(json.dumps(found), encoding="utf-8")
        beside.replace(path)
    except (OSError, RuntimeError):
        return  # a cache that cannot be written costs time, nothing else
