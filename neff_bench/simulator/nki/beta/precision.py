"""Chooses dtypes: of a result whose operands have different ones, and for the code of the host (AWS docs, nki.api.shared, "NKI Type Promotion", SDK 2.26)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any

from neff_bench.simulator.numpy_dtypes import INTEGERS, SIZE_BYTES, numpy_dtype
from neff_bench.simulator.recording import check
from neff_bench.simulator.recording.dtype_names import dtype_of
from neff_bench.simulator.recording.recorder import invalid

_WIDENED = {
    frozenset({"float16", "bfloat16"}): "float32",
    frozenset({"float32", "tfloat32"}): "float32",
    frozenset({"int8", "uint8"}): "int16",
    frozenset({"int8", "uint16"}): "int32",
    frozenset({"int16", "uint16"}): "int32",
    frozenset({"int8", "uint32"}): "float32",
    frozenset({"int16", "uint32"}): "float32",
    frozenset({"int32", "uint32"}): "float32",
}


def highest(dtypes: Iterable[str]) -> str:
    """Return a float before an integer, then the wider one; a wider one than either where neither holds all values."""
    return reduce(_promoted, dtypes)


def _promoted(first: str, second: str) -> str:
    if first == second:
        return first
    widened = _WIDENED.get(frozenset({first, second}))
    if widened is not None:
        return widened
    if first.startswith("float8") and second.startswith("float8"):
        return "bfloat16"
    return max(first, second, key=lambda name: (name not in INTEGERS, SIZE_BYTES[name]))


def of_result(name: str, operands: Iterable[Any]) -> str:
    """Return the dtype of `name` on tiles and numbers, also numpy's. A fraction makes integers float32, and so does a division, as
    numpy's operators do; AWS's documentation speaks of tiles alone."""
    given = list(operands)
    tiles = [value for value in given if isinstance(getattr(value, "dtype", None), str)]
    numbers = [value for value in given if not isinstance(getattr(value, "dtype", None), str)]
    for value in numbers:
        if getattr(value, "shape", ()):
            raise invalid(f"nl.{name}: an operand is a tile or a number, not {check.shown(value)}")
    found = highest(tile.dtype for tile in tiles)
    if found in INTEGERS and (name == "divide" or any(_is_fraction(value) for value in numbers)):
        return "float32"
    return found


def _is_fraction(value: Any) -> bool:
    return isinstance(value, float) or getattr(getattr(value, "dtype", None), "kind", "") == "f"


def host_dtype(dtype: Any) -> Any:
    """Return numpy's dtype of the same name, for the host's code."""
    return numpy_dtype(dtype_of(dtype))


def finfo(dtype: Any) -> Any:
    """Return the limits of a float dtype, for the host's code."""
    import ml_dtypes

    return ml_dtypes.finfo(host_dtype(dtype))  # type: ignore[no-untyped-call, unused-ignore]
