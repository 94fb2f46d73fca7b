"""What a report may call exact of simulated rows: their stated errors say where counts or bytes are not."""

from __future__ import annotations

from collections.abc import Collection

NOT_EXACT = "not exact"
"""In the stated error of a program whose counts or bytes AWS's compiler may change."""


def exact_part(errors: Collection[str]) -> str:
    """The beginning of a sentence on simulated rows with these stated errors; "" where all of them say "not exact"."""
    inexact = [error for error in errors if NOT_EXACT in error]
    if not inexact:
        return "counts and bytes are exact, "
    return "" if len(inexact) == len(errors) else "counts and bytes are exact where nothing else is said, "
