"""Holds arrays of the packed element types, which hold four values of a scaled group: their numpy types, packing and unpacking.

An element is a structure of one unsigned integer under the name of the type: it has its size, and arithmetic on it is an error.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

import ml_dtypes
import numpy as np

from neff_bench.chips.dtypes import PACKED, SIZE_BYTES, VALUES

DTYPES = {name: np.dtype([(name, f"<u{SIZE_BYTES[name]}")]) for name in PACKED}
"""The numpy type of each packed type."""

_known_to_numpy: dict[str, Any] = vars(np)["sctypeDict"]
_known_to_numpy.update(DTYPES)  # by name, as the types of ml_dtypes: np.zeros(shape, nl.float8_e5m2_x4)

_NAMES = {dtype: name for name, dtype in DTYPES.items()}
_numpys = import_module("numpy._core._dtype" if int(np.__version__.split(".")[0]) > 1 else "numpy.core._dtype")
_fields_of = vars(_numpys)["_struct_str"]


def _shown(dtype: np.dtype, include_align: bool) -> Any:
    """Return what numpy prints for a structure: host code of nki-library compares `str(dtype)` with the names of packed types."""
    return _NAMES.get(dtype) or _fields_of(dtype, include_align)


vars(_numpys)["_struct_str"] = _shown


def is_packed(dtype: np.dtype) -> bool:
    """Return whether a numpy type is one of `DTYPES`."""
    return dtype.names is not None and dtype in DTYPES.values()


def unpacked(array: np.ndarray) -> np.ndarray:
    """Return the values as float32, exact: [..., n] of a packed type gives [..., 4 n]."""
    codes = np.ascontiguousarray(array).view(np.uint8)
    values: np.ndarray = _values_of_bytes(_name(array)).take(codes, 0)
    return values.reshape(*array.shape[:-1], -1)


@cache
def _values_of_bytes(name: str) -> np.ndarray:
    """Return the values that each byte holds, lowest bits first: (256, 1) of float8, (256, 2) of float4."""
    codes = np.arange(256, dtype=np.uint8)
    halves = [codes] if SIZE_BYTES[name] == VALUES else [codes & 15, codes >> 4]
    dtype = np.dtype(getattr(ml_dtypes, PACKED[name]))
    with np.errstate(all="ignore"):
        values: np.ndarray = np.stack(halves, -1).view(dtype).astype(np.float32)
    return values


def packed(values: np.ndarray, name: str) -> np.ndarray:
    """Return float32 values [..., 4 n] rounded to nearest even and packed: [..., n]. A value beyond the largest finite one becomes
    what ml_dtypes makes of it: infinity, NaN, or in float4_e2m1fn, which has neither, the largest one. Raises ValueError where the last dimension is no multiple of four."""
    if values.shape[-1:] == () or values.shape[-1] % VALUES:
        raise ValueError(f"{list(values.shape)} is no multiple of {VALUES} values of {name}")
    with np.errstate(all="ignore"):
        codes: np.ndarray = np.ascontiguousarray(values).astype(getattr(ml_dtypes, PACKED[name])).view(np.uint8)
    if SIZE_BYTES[name] != VALUES:
        codes = codes[..., ::2] | codes[..., 1::2] << 4
    return np.ascontiguousarray(codes).view(DTYPES[name])


def _name(array: np.ndarray) -> str:
    return _NAMES[array.dtype]
