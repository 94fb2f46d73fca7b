"""What passes take from Cython, for where they run as they are written: types that name columns, and decorators that change nothing.

The build puts Cython itself in the place of this module: see `neff_bench/system/compiled.py`.
"""

from __future__ import annotations

from collections import namedtuple
from contextlib import nullcontext
from typing import Any, NamedTuple


class Column(NamedTuple):
    """A pointer to the elements of an array of this dtype. A pass gives back what is in it, unless it is `const`."""

    dtype: str
    const: bool = False


p_schar, p_int, p_longlong, p_double = map(Column, ("int8", "int32", "int64", "float64"))
p_const_schar, p_const_int, p_const_longlong, p_const_double = (
    Column(one.dtype, const=True) for one in (p_schar, p_int, p_longlong, p_double)
)
longlong, double, size_t = int, float, int


class pointer:
    """`pointer[State]`"""

    def __class_getitem__(cls, of: Any) -> Any:
        return of


def struct(**fields: Any) -> Any:
    """A type of named tuples; `_types` has the type of each field."""
    made = namedtuple("struct", list(fields))  # type: ignore[misc]  # noqa: PYI024  (the types are data here)
    return type(made.__name__, (made,), {"_types": tuple(fields.values()), "__slots__": ()})


def cast(_: Any, value: Any) -> Any:
    """The value."""
    return value


declare = cast
"""A global of the compiled form."""


def inner(function: Any) -> Any:
    """A function that only passes call: it has no Python object and raises nothing."""
    return function


nogil = nullcontext()
