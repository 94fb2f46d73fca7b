"""Takes numbers that kernels give, as Python's own: a program holds no others."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Real
from operator import index as as_int
from typing import Any

from neff_bench.simulator.recording.recorder import invalid


def number_of(value: Any) -> float | int | None:
    """Return Python's number for one of Python, numpy or ml_dtypes, and for an array of one value; None for anything else.

    numpy's float64 passes for Python's float, but no file takes it.
    """
    if hasattr(value, "item"):
        try:
            value = value.item()
        except ValueError:  # an array of several values
            return None
    if type(value) in (float, int, bool):
        return value  # type: ignore[no-any-return]
    return float(value) if isinstance(value, Real) else None  # numpy's longdouble is its own item


def whole_number(what: str, value: Any) -> int:
    """Return Python's integer for one of Python or numpy. Raises NkiValidationError for anything else."""
    if type(value) is int:
        return value
    try:
        return int(as_int(value))
    except TypeError:
        raise invalid(f"{what} must be a whole number, not {value!r}") from None


def whole_numbers(what: str, values: Iterable[Any]) -> tuple[int, ...]:
    """Return the same for several."""
    return tuple(whole_number(what, value) for value in values)
