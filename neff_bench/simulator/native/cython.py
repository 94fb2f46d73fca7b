"""What passes take from Cython, for where they run as they are written: types that name columns, and decorators that change nothing.

The build puts Cython itself in the place of this module: see `neff_bench/system/compiled.py`.
"""

from __future__ import annotations

from collections import namedtuple
from contextlib import nullcontext
from itertools import starmap
from struct import Struct
from typing import Any, NamedTuple


class Column(NamedTuple):
    """A pointer to the elements of an array of this dtype, with numpy's letter for it. A pass gives back what is in it, unless it is
    `const`."""

    dtype: str
    letter: str
    const: bool = False


p_schar, p_int, p_longlong, p_double = starmap(
    Column, (("int8", "b"), ("int32", "i"), ("int64", "l"), ("float64", "d"))
)
p_const_schar, p_const_int, p_const_longlong, p_const_double = (
    one._replace(const=True) for one in (p_schar, p_int, p_longlong, p_double)
)
longlong, double, size_t = int, float, int


class pointer:
    """Return the type for `pointer[State]`."""

    def __class_getitem__(cls, of: Any) -> Any:
        return of


def struct(**fields: Any) -> Any:
    """Return a type of named tuples. `_types` has the type of each field; `_form` is the format for Python's `struct`."""
    made = namedtuple("struct", list(fields))  # type: ignore[misc]  # noqa: PYI024  (the types are data here)
    types = tuple(fields.values())
    form = Struct("".join("d" if kind is double else "q" for kind in types))
    return type(made.__name__, (made,), {"_types": types, "_form": form, "__slots__": ()})


def cast(_: Any, value: Any) -> Any:
    """Return the value as it is."""
    return value


declare = cast
"""A global of the compiled form."""


def inner(function: Any) -> Any:
    """Mark a function that only passes call: it has no Python object and raises nothing."""
    return function


nogil = nullcontext()
