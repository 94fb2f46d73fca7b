"""`nki.typing`: names for annotations. They say something to the reader, nothing to the recorder."""

from __future__ import annotations

from typing import Any


class Annotation:
    """`nt.tensor`, `nt.tensor[128, 512]`."""

    def __getitem__(self, shape: Any) -> Annotation:
        return self

    def __call__(self, *_: Any, **__: Any) -> Annotation:
        """Annotations of a kernel's arguments are only read."""
        return self

    def __or__(self, other: Any) -> Annotation:
        return self

    __ror__ = __or__


tensor = Annotation()
mutable_tensor = Annotation()
scalar = Annotation()
