"""Element types under their canonical names, the ones that NKI and the NEFF use.

Importing this module loads neither numpy nor ml_dtypes; `numpy_dtype` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from neff_bench.chips.dtypes import PACKED, SIZE_BYTES
from neff_bench.neffs.errors import CaseError

if TYPE_CHECKING:
    import numpy as np

_ML_DTYPES = {"bfloat16", "float8_e4m3", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu"}


def size_bytes(dtype: str) -> int:
    """Bytes of one element. Raises `CaseError` for a name that is not canonical."""
    try:
        return SIZE_BYTES[dtype]
    except KeyError:
        raise CaseError(f"unknown dtype {dtype!r} (known: {', '.join(SIZE_BYTES)})") from None


def numpy_dtype(dtype: str) -> np.dtype:
    """The little-endian numpy dtype of a canonical name; `tfloat32` is stored as float32, a packed type as
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
