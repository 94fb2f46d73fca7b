"""The compiled core: passes over columns in C, one file for each. `library()` is None where nothing was compiled.

Every pass has a plain form in Python beside the place that calls it, with the same bits; tests/simulator/native compares both.
A pass gets the addresses of its columns. It allocates what it needs inside and frees it.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from neff_bench.simulator.native.sources import FOLDER, digest

if TYPE_CHECKING:
    import numpy as np

NO_MEMORY = -1
"""What a pass returns when it cannot allocate."""


@cache
def library() -> ctypes.CDLL | None:
    """The passes; None where they are not compiled, or from other sources than those that lie here."""
    for path in FOLDER.glob("core*.so"):
        try:
            found = ctypes.CDLL(str(path))
            built = ctypes.c_char_p.in_dll(found, "built_from").value
        except (OSError, ValueError):  # of another machine; of other sources
            continue
        if built == digest().encode():
            return found
    return None


def call(name: str, *arguments: Any) -> int:
    """Run a pass: the answer that is not in its columns, often a count. Raises MemoryError.

    A number is passed as int64 or double, an array as its address, and a tuple as a struct: see `record`.
    """
    run = getattr(library(), name)
    run.restype = ctypes.c_int64
    result: int = run(*map(_passed, arguments))
    if result == NO_MEMORY:
        raise MemoryError(f"the compiled pass {name} has no memory")
    return result


@dataclass(frozen=True)
class Record:
    """A struct of numbers and of the addresses of arrays, to pass to several calls. It keeps the arrays."""

    words: ctypes.Array[ctypes.c_int64]
    fields: tuple[Any, ...]


def record(fields: tuple[Any, ...]) -> Record:
    """The struct of these numbers and arrays."""
    words = [field if isinstance(field, int) else address(field) for field in fields]
    return Record((ctypes.c_int64 * len(words))(*words), fields)


def _passed(argument: Any) -> Any:
    if isinstance(argument, int):
        return ctypes.c_int64(argument)
    if isinstance(argument, float):
        return ctypes.c_double(argument)
    if isinstance(argument, bytes):
        return ctypes.c_char_p(argument)
    if isinstance(argument, Record):
        return argument.words
    return record(argument).words if isinstance(argument, tuple) else ctypes.c_int64(address(argument))


def address(array: np.ndarray) -> int:
    """Where the elements of an array lie."""
    try:
        return ctypes.addressof(_BYTE.from_buffer(cast("Any", array)))  # a third of the time of `ctypes.data`
    except (TypeError, ValueError):  # it may not be written to, or is empty
        return array.ctypes.data


_BYTE = ctypes.c_char


def rows(block: np.ndarray) -> list[int]:
    """The addresses of the rows of an array, for a record."""
    first, apart = address(block), block.strides[0]
    return [first + number * apart for number in range(len(block))]
