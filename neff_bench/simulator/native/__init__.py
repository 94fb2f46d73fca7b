"""The compiled core: passes over columns in C, one file for each. `library()` is None where nothing was compiled.

Every pass has a plain form in Python beside the place that calls it, with the same bits; tests/simulator/native compares both.
A pass gets the addresses of its columns. It allocates what it needs inside and frees it.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterable
from functools import cache
from itertools import starmap
from typing import TYPE_CHECKING, Any, cast

from neff_bench.system.compiled import usable

if TYPE_CHECKING:
    import numpy as np

NO_MEMORY = -1
"""What a pass returns when it cannot allocate."""


@cache
def library() -> ctypes.CDLL | None:
    """The passes; None where they are not compiled, from other sources than those that lie here, or for another machine."""
    path = usable("core")
    try:
        return ctypes.CDLL(str(path)) if path is not None else None
    except OSError:
        return None


def call(name: str, *arguments: Any) -> int:
    """Run a pass: the answer that is not in its columns, often a count. Raises MemoryError.

    A number is passed as int64 or double, an array as its address, and a tuple as a struct: see `record`.
    """
    result: int = _pass(name)(*map(_passed, arguments))
    if result == NO_MEMORY:
        raise MemoryError(f"the compiled pass {name} has no memory")
    return result


@cache
def _pass(name: str) -> Any:
    found = getattr(library(), name)
    found.restype = ctypes.c_int64
    return found


def _passed(argument: Any) -> Any:
    if isinstance(argument, int):
        return ctypes.c_int64(argument)
    if isinstance(argument, float):
        return ctypes.c_double(argument)
    if isinstance(argument, bytes):
        return ctypes.c_char_p(argument)
    return _record(argument) if isinstance(argument, tuple) else ctypes.c_int64(address(argument))


def _record(fields: tuple[Any, ...]) -> ctypes.Array[ctypes.c_int64]:
    """A struct of numbers and of the addresses of arrays."""
    words = [field if isinstance(field, int) else address(field) for field in fields]
    return (ctypes.c_int64 * len(words))(*words)


def structs(form: str, rows: Iterable[tuple[Any, ...]]) -> bytearray:
    """An array of structs. `form`: of one, as in Python's `struct`."""
    return bytearray().join(starmap(struct.Struct(form).pack, rows))


def address(array: np.ndarray | bytearray) -> int:
    """Where the elements of an array lie."""
    try:
        return ctypes.addressof(_BYTE.from_buffer(cast("Any", array)))  # a third of the time of `ctypes.data`
    except ValueError:
        return 0  # it is empty
    except TypeError:  # it may not be written to
        return int(cast("Any", array).ctypes.data)


_BYTE = ctypes.c_char


def rows(block: np.ndarray) -> list[int]:
    """The addresses of the rows of an array, for a record."""
    first, apart = address(block), block.strides[0]
    return [first + number * apart for number in range(len(block))]
