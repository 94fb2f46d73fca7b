"""Makes names from files and users fit to be shown: every renderer and every message passes its text through `plain` first."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|[-+](inf|nan)")
_MARKDOWN = str.maketrans(
    {
        "\\": "\\\\",
        "|": "\\|",
        "[": "&#91;",
        "]": "&#93;",
        "`": "&#96;",
        "<": "&lt;",
        "@": "&#64;",
    }
)


def plain(text: str) -> str:
    """Return the text on one line, in characters that only print; any other is written as Python writes it, such as \\x1b."""
    if text.isprintable():
        return text
    return "".join(c if _prints(c) else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


def _prints(character: str) -> bool:
    return character.isprintable() or unicodedata.category(character) == "Zs"


def listed(names: Iterable[str], most: int = 8) -> str:
    """Return `a, b, c and 5 more`: what there is, for a message."""
    every = [plain(name) for name in names]
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return ", ".join(every[:most]) + more


def plain_lines(text: str) -> str:
    """Return a text whose lines are each as `plain` makes them."""
    if text.replace("\n", "").isprintable():
        return text
    return "\n".join(map(plain, text.split("\n")))


def plain_texts(texts: Sequence[str]) -> Sequence[str]:
    """Return what `plain_lines` says of each; all are looked at together first."""
    whole = "".join(texts)
    return texts if plain_lines(whole) is whole else [*map(plain_lines, texts)]


def plain_json(document: bytes) -> str:
    """Return a JSON document, what does not print in its strings written as an escape: it still says the same."""
    text = document.decode()
    if text.isprintable():
        return text
    import json  # rare: the text of nearly every document prints

    return "".join(c if c == "\n" or _prints(c) else json.dumps(c)[1:-1].replace("\x7f", "\\u007f") for c in text)


def shell_word(text: str) -> str:
    """Return a word for a shell command that is shown: quoted, and what does not print written as bash's $'...' has it."""
    if text.isprintable():
        from shlex import quote

        return quote(text)
    return (
        "$'" + "".join(chr(b) if 32 <= b < 127 and b not in b"'\\" else f"\\x{b:02x}" for b in os.fsencode(text)) + "'"
    )


def plain_values(value: Any) -> Any:
    """Return the same for every string in a tree of dictionaries, lists and tuples."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, dict):
        return {plain_values(key): plain_values(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_values(item) for item in value]
    return value


def csv_cell(value: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula: text that begins like one, and is no number, begins with `'`."""
    if isinstance(value, (list, tuple)):
        value = "; ".join(map(str, value))
    if not isinstance(value, str):
        return value
    shown = plain(value)
    return f"'{shown}" if shown.startswith(("=", "+", "-", "@")) and not _NUMBER.fullmatch(shown) else shown


def markdown(text: str) -> str:
    """Return text that makes no markup, link, image, mention or cell of its own."""
    shown = plain(text).translate(_MARKDOWN).replace("://", "&#58;//")
    return re.sub(r"www\.", "www&#46;", shown, flags=re.IGNORECASE)
