"""Says what a stated error says of a simulated row: whether its counts are exact, and what its range is."""

from __future__ import annotations

from collections.abc import Collection

NOT_EXACT = "not exact"
"""In the stated error of a program whose counts or bytes AWS's compiler may change."""
FARTHEST = "the farthest of"
"""In the stated error of a program unlike all that were measured, before the reason."""


def is_exact(error: str | None) -> bool:
    """Return whether counts and bytes are those of the program that AWS's compiler makes."""
    return NOT_EXACT not in (error or "")


def is_farthest(error: str | None) -> bool:
    """Return whether the range reaches to the largest errors that were seen, because nothing like the row was measured."""
    return FARTHEST in (error or "")


def reason_of(error: str | None) -> str:
    """Return why nothing like a row was measured, or why its counts are not exact, in one clause."""
    said = (error or "the trace does not say how far off its times are").partition(": ")
    return (said[2] if is_farthest(said[0]) else error or said[0]).partition(";")[0]


def exact_part(errors: Collection[str | None]) -> str:
    """Return whether the counts of simulated rows with these stated errors are exact, in one clause. A bare trace has none."""
    exact = [*map(is_exact, errors)]
    if not all(exact):
        return f"instructions and bytes{' of some cases' if any(exact) else ''} may differ"
    if not all(errors):
        return "whether instructions and bytes are exact is not known"
    return "instructions and bytes are exact"
