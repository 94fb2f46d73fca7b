"""Reads an input as programs give it: an array, or its shape and element type."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from neff_bench.errors import WrongCall

if TYPE_CHECKING:
    import numpy as np

    Input = np.ndarray | tuple[tuple[int, ...], str]


class InputShape(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An input: `shape` in elements of the canonical `dtype`."""

    shape: tuple[int, ...]
    dtype: str


def read_input(name: str, given: Input) -> tuple[tuple[int, ...], str, np.ndarray | None]:
    """Return shape in elements, canonical dtype, and the array of numpy, torch or jax where one was given. Raises `WrongCall`."""
    from neff_bench.simulator.errors import SimulatorError
    from neff_bench.simulator.nki.launch import as_numpy, kind_of
    from neff_bench.simulator.numpy_dtypes import dtype_name
    from neff_bench.simulator.recording.dtype_names import dtype_of

    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], str):
        try:
            dtype_of(given[1])
        except SimulatorError as error:
            raise WrongCall(f"input {name}: {error.what}") from None
        return tuple(int(size) for size in given[0]), given[1], None
    if kind_of(given) is None:
        raise WrongCall(f"input {name}: expected an array or ((rows, columns), dtype), got {type(given).__name__}")
    array = as_numpy(given)
    return tuple(array.shape), dtype_name(array.dtype), array
