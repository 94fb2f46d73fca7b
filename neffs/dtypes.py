"""Names element types under their canonical names, the ones that NKI and the NEFF use.

Importing this module loads neither numpy nor ml_dtypes; `numpy_dtype` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from neff_bench.chips.dtypes import PACKED, SIZE_BYTES, VALUES
from neff_bench.neffs.errors import CaseError

if TYPE_CHECKING:
    import numpy as np

_ML_DTYPES = {"bfloat16", "float8_e4m3", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu"}


def size_bytes(dtype: str) -> int:
    """Return the bytes of one element. Raises `CaseError` for a name that is not canonical."""
    try:
        return SIZE_BYTES[dtype]
    except KeyError:
        raise CaseError(f"unknown dtype {dtype!r} (known: {', '.join(SIZE_BYTES)})") from None


def numpy_dtype(dtype: str) -> np.dtype:
    """Return the little-endian numpy dtype of a canonical name; `tfloat32` is stored as float32, a packed type as
    `neff_bench.parsers.formats.packed` has it."""
    import numpy as np

    size_bytes(dtype)
    if dtype in PACKED:
        from neff_bench.parsers.formats import packed

        return packed.DTYPES[dtype]
    if dtype in _ML_DTYPES:
        import ml_dtypes

        special: np.dtype = np.dtype(getattr(ml_dtypes, dtype))
        return special
    plain: np.dtype = np.dtype("float32" if dtype == "tfloat32" else dtype).newbyteorder("<")
    return plain


def value_shape(shape: tuple[int, ...], dtype: str) -> tuple[int, ...]:
    """Return the shape of the values of a tensor: its own, or four for each element of a packed type, along the last dimension."""
    return (*shape[:-1], VALUES * shape[-1]) if dtype in PACKED else shape


def stored(values: np.ndarray, dtype: str) -> np.ndarray:
    """Return the values as a tensor of a canonical dtype holds them, rounded once to nearest even; `value_shape` says their shape."""
    if dtype in PACKED:
        from neff_bench.parsers.formats import packed

        return packed.packed(values.astype("float32"), dtype)
    return values.astype(numpy_dtype(dtype))


def values_of(array: np.ndarray) -> np.ndarray:
    """Return the inverse of `stored`: integers as they are, all else as float32, exact."""
    if array.dtype.names is not None:
        from neff_bench.parsers.formats import packed

        return packed.unpacked(array)
    return array if array.dtype.kind in "iu" else array.astype("float32", copy=False)
