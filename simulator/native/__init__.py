"""The compiled core: passes over columns in C, one file for each. `library()` is None where nothing was compiled.

Every pass has a plain form in Python beside the place that calls it, with the same bits; tests/simulator/native compares both.
A pass gets the addresses of its columns. It allocates what it needs inside and frees it.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from neff_bench.simulator.native.sources import FOLDER, digest

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

    A number is passed as int64 or double, an array as its address, a record of arrays as a struct of their addresses.
    """
    run = getattr(library(), name)
    run.restype = ctypes.c_int64
    result: int = run(*map(_passed, arguments))
    if result == NO_MEMORY:
        raise MemoryError(f"the compiled pass {name} has no memory")
    return result


def _passed(argument: Any) -> Any:
    if isinstance(argument, int):
        return ctypes.c_int64(argument)
    if isinstance(argument, float):
        return ctypes.c_double(argument)
    if isinstance(argument, bytes):
        return ctypes.c_char_p(argument)
    if isinstance(argument, tuple):
        return (ctypes.c_void_p * len(argument))(*(column.ctypes.data for column in argument))
    return ctypes.c_void_p(argument.ctypes.data)
