"""Prepares types that msgspec decodes before threads use them: two threads that decode a type for the first time at once crash the process."""

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
