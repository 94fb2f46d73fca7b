"""Reads nodes of a YAML file: what kind they are, how they are shown in a message, which value a plain scalar has."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from neff_bench.stage1_generate.errors import ShapesError

_WHOLE = re.compile(r"[+-]?[0-9][0-9_]*")
_REAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
Error = Callable[[Any, str], ShapesError]
_WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}


def is_kind(node: Any, kind: str) -> bool:
    """Return the node as a `kind`: Scalar, Sequence or Mapping."""
    return type(node).__name__ == f"{kind}Node"


def shown(node: Any) -> str:
    """Return what the user wrote, in few words."""
    if is_kind(node, "Mapping"):
        return "a mapping"
    if is_kind(node, "Sequence"):
        return "a list" if node.value else "an empty list"
    text = node.value if len(node.value) <= 60 else node.value[:57] + "..."
    return f"the text {text!r}" if node.style in ("'", '"', "|", ">") or not text.isascii() else repr(text)


def mapping(node: Any, where: str, allowed: Sequence[str], error: Error) -> dict[str, Any]:
    """Return keys and their value nodes. Raises what `error` makes of a node and a text for a key that is unknown or appears twice."""
    if not is_kind(node, "Mapping"):
        raise error(node, f"{where}: found {shown(node)}, allowed: a mapping with {', '.join(allowed)}")
    found: dict[str, Any] = {}
    for key, value in node.value:
        if not is_kind(key, "Scalar") or key.value not in allowed:
            raise error(key, f"{where}: found key {shown(key)}, allowed: {', '.join(allowed)}")
        if key.value in found:
            raise error(key, f"{where}: found key {shown(key)} twice, allowed: once")
        found[key.value] = value
    return found


def plain(node: Any) -> Any:
    """Return the value of a node as JSON has it: a number, true, false, null or a text; lists and mappings of them.

    Unlike YAML 1.1, `1e-6` is a number and `yes` a text.
    """
    if is_kind(node, "Mapping"):
        return {str(plain(key)): plain(value) for key, value in node.value}
    if is_kind(node, "Sequence"):
        return [plain(item) for item in node.value]
    text: str = node.value
    if node.style in ("'", '"', "|", ">"):
        return text
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _REAL.fullmatch(text) else text
