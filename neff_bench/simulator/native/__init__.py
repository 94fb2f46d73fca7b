"""Passes over columns, one file for each: compiled where there was a compiler, else the same files as Python runs them.

`run` calls a pass. tests/simulator/native compares both forms.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from neff_bench.simulator.native.cython import Column
from neff_bench.system.compiled import usable


@cache
def compiled_passes() -> ModuleType | None:
    """Return the compiled passes; None where they are not compiled, or from other sources than those that lie here, or for another machine."""
    if usable("passes") is None:
        return None
    try:
        return import_module(f"{__name__}.passes")
    except ImportError:
        return None


def run(work: Callable[[Any], int], struct: Any) -> int:
    """Run a pass on a struct of numbers and arrays; return the part of its answer that is not in these arrays."""
    compiled = compiled_passes()
    if compiled is None:
        lists = _lists(struct)
        result = work(lists)
        _give_back(lists, struct)
        return result
    kept: list[bytearray] = []
    found: int = getattr(compiled, work.__name__)(_packed(struct, kept))
    return found


def _packed(struct: Any, kept: list[bytearray]) -> int:
    """Return the address of a struct in the layout of the compiled passes. `kept` holds what must not be freed before the pass ends."""
    words = [
        (
            _address_of(value, kind)
            if type(kind) is Column
            else _packed(value, kept)
            if hasattr(kind, "_types")
            else value
        )
        for kind, value in zip(struct._types, struct, strict=True)
    ]
    kept.append(bytearray(struct._form.pack(*words)))
    return address(kept[-1])


def _address_of(array: Any, column: Column) -> int:
    """Return where the elements of an array lie. Raises TypeError for another dtype, which the pass would misread."""
    if array.dtype.char == column.letter:
        try:
            return _addressof(_from_buffer(array))
        except (TypeError, ValueError):
            pass  # it has gaps, is empty or may not be written to
    if array.dtype != column.dtype or not array.flags.c_contiguous:
        raise TypeError(f"an array of {array.dtype}, expected {column.dtype} without gaps")
    return address(array)


def _lists(struct: Any) -> Any:
    """Return the struct with lists instead of arrays."""
    return struct._make(
        value.tolist() if isinstance(kind, Column) else _lists(value) if hasattr(kind, "_types") else value
        for kind, value in zip(struct._types, struct, strict=True)
    )


def _give_back(lists: Any, struct: Any) -> None:
    for kind, found, value in zip(struct._types, lists, struct, strict=True):
        if hasattr(kind, "_types"):
            _give_back(found, value)
        elif isinstance(kind, Column) and not kind.const:
            value[...] = found


def address(array: Any) -> int:
    """Return the address of the elements of an array."""
    try:
        return _addressof(_from_buffer(array))  # a third of the time of `ctypes.data`
    except ValueError:
        return 0  # it is empty
    except TypeError:  # it may not be written to
        return int(array.ctypes.data)


_addressof, _from_buffer = ctypes.addressof, ctypes.c_char.from_buffer
