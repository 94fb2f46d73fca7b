"""Prepares types that msgspec decodes before threads use them.

msgspec looks at a type when it decodes it for the first time. Where two threads do so at once, one of them reads what the other
has not finished, and the process crashes. Each type that a thread may decode is therefore prepared when its module is imported.
"""

from __future__ import annotations

from threading import Lock
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")
_PREPARING = Lock()


def decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    """Return a decoder of JSON, of which two are never built at once."""
    with _PREPARING:
        return msgspec.json.Decoder(kind)


def prepare(*kinds: Any) -> None:
    """Let msgspec look at these types."""
    for kind in kinds:
        decoder(kind)
