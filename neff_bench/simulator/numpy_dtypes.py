"""Knows the element types of programs: canonical names, numpy types, sizes, and conversion through float32.

Engines compute in float32 and round once, to nearest even, when they write. The generic casts are slow, but for
that of bfloat16 to float32: others round by integer arithmetic, float8 goes through tables of every code.
"""

from __future__ import annotations

from functools import cache

import ml_dtypes
import numpy as np

from neff_bench.chips.dtypes import PACKED as PACKED
from neff_bench.chips.dtypes import SIZE_BYTES as SIZE_BYTES
from neff_bench.parsers.formats import packed
from neff_bench.simulator.errors import ExecutionError, SimulatorError

_NUMPY: dict[str, np.dtype] = {
    "float32": np.dtype(np.float32),
    "tfloat32": np.dtype(np.float32),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
    "float16": np.dtype(np.float16),
    "float8_e4m3": np.dtype(ml_dtypes.float8_e4m3),
    "float8_e5m2": np.dtype(ml_dtypes.float8_e5m2),
    "float8_e4m3fn": np.dtype(ml_dtypes.float8_e4m3fn),
    "int8": np.dtype(np.int8),
    "uint8": np.dtype(np.uint8),
    "int16": np.dtype(np.int16),
    "uint16": np.dtype(np.uint16),
    "int32": np.dtype(np.int32),
    "uint32": np.dtype(np.uint32),
    "float8_e8m0fnu": np.dtype(ml_dtypes.float8_e8m0fnu),
    **packed.DTYPES,
}

DTYPES = tuple(_NUMPY)
"""Every canonical name."""

FLOATS = frozenset(name for name in _NUMPY if "float" in name and name not in PACKED)
INTEGERS = frozenset(name for name in _NUMPY if "int" in name)

_NAMES = {dtype: name for name, dtype in _NUMPY.items() if name != "tfloat32"}
_ALIASES = {"float8e4": "float8_e4m3", "float8e5": "float8_e5m2", "float8_e4m3_fn": "float8_e4m3fn", "bool": "uint8"}

# The ten mantissa bits of TF32: 13 of float32's 23 are dropped.
_TF32_DROPPED_BITS = 13


def canonical(name: str) -> str:
    """Return the canonical name of a dtype name or documented alias. Raises SimulatorError for an unknown one."""
    found = _ALIASES.get(name, name)
    if found not in _NUMPY:
        raise SimulatorError(f"unknown dtype {name!r}; known: {', '.join(DTYPES)}")
    return found


def numpy_dtype(name: str) -> np.dtype:
    """Return the numpy type that stores a canonical dtype. Raises SimulatorError for an unknown name."""
    try:
        return _NUMPY[name]
    except KeyError:
        raise SimulatorError(f"unknown dtype {name!r}; known: {', '.join(DTYPES)}") from None


def dtype_name(dtype: np.dtype | type) -> str:
    """Return the canonical name of a numpy type. Raises SimulatorError for a type that no program holds (int64, float64...)."""
    try:
        return _NAMES[np.dtype(dtype)]
    except KeyError:
        raise SimulatorError(f"no canonical dtype for numpy {np.dtype(dtype)}; known: {', '.join(DTYPES)}") from None


def size_bytes(name: str) -> int:
    """Return the bytes of one element. Raises SimulatorError for an unknown name."""
    return numpy_dtype(name).itemsize


def to_float32(array: np.ndarray) -> np.ndarray:
    """Return the values as float32, exact for every float type; a float32 array as it is, not copied. Raises ExecutionError for a packed type."""
    dtype = array.dtype
    if dtype == np.float32:
        return array
    if dtype.names is not None:
        raise _packed(_NAMES[dtype])
    if dtype.itemsize == 1 and dtype.kind not in "iu":
        return _table(_NAMES[dtype], "float32").take(array.view(np.uint8))
    return array.astype(np.float32)


def copy_to_float32(array: np.ndarray, out: np.ndarray) -> None:
    """Write the same values into `out`, float32 of the same shape, in one pass."""
    out[...] = array if array.dtype == ml_dtypes.bfloat16 else to_float32(array)


def convert(array: np.ndarray, name: str) -> np.ndarray:
    """Return the values in another dtype, rounded as `from_float32` rounds."""
    if array.dtype.itemsize == 1:
        return _table(_NAMES[array.dtype], name).take(array.view(np.uint8))
    return from_float32(to_float32(array), name)


def from_float32(values: np.ndarray, name: str) -> np.ndarray:
    """Return float32 values rounded once, to nearest even, to a canonical dtype.

    Floats overflow to infinity where the type has one, else to NaN (float8_e4m3fn); integers saturate and NaN gives 0.
    """
    dtype = numpy_dtype(name)
    if name == "float32":
        return values
    if name == "bfloat16":
        return _to_bfloat16(values)
    if name in PACKED:
        raise _packed(name)
    if name == "tfloat32":
        return _to_tfloat32(values)
    if name in INTEGERS:
        return _to_integer(values, dtype)
    if dtype.itemsize == 1:
        return _to_float8(values, name)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        return values.astype(dtype)


def _packed(name: str) -> ExecutionError:
    return ExecutionError(
        f"an operand is {name}, four values an element; quantize_mx writes it, nc_matmul_mx reads it, all else moves it unchanged"
    )


@cache
def _table(source: str, target: str) -> np.ndarray:
    """Return every code of a dtype of one or two bytes, in order, converted."""
    dtype = _NUMPY[source]
    with np.errstate(all="ignore"):
        values = np.arange(256**dtype.itemsize, dtype=f"u{dtype.itemsize}").view(dtype).astype(np.float32)
        return values.astype(_NUMPY[target]) if "float8" in target else from_float32(values, target)


def _to_float8(values: np.ndarray, name: str) -> np.ndarray:
    """Return the upper half of a float32, its last bit set when the lower half is not zero, rounds as the whole does."""
    bits = np.ascontiguousarray(values).view(np.uint32)
    upper = (bits >> 16).astype(np.uint16)
    upper |= bits.astype(np.uint16) != 0
    return _table("bfloat16", name).take(upper)


def _round_bits(values: np.ndarray, dropped: int) -> np.ndarray:
    """Return float32 bit patterns rounded to nearest even with the low `dropped` bits no longer significant; NaN stays NaN."""
    values = np.ascontiguousarray(values)
    bits = values.view(np.uint32)
    rounded = bits >> dropped
    rounded &= np.uint32(1)
    rounded += np.uint32((1 << (dropped - 1)) - 1)
    rounded += bits
    nan = np.isnan(values)
    if nan.any():
        rounded[nan] = np.uint32(0x7FC00000)
    return rounded


def _to_bfloat16(values: np.ndarray) -> np.ndarray:
    rounded = _round_bits(values, 16)
    rounded >>= 16
    return rounded.astype(np.uint16).view(ml_dtypes.bfloat16)


def _to_tfloat32(values: np.ndarray) -> np.ndarray:
    rounded = _round_bits(values, _TF32_DROPPED_BITS)
    rounded &= np.uint32(0xFFFFFFFF << _TF32_DROPPED_BITS & 0xFFFFFFFF)
    return rounded.view(np.float32)


def _to_integer(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    limits = np.iinfo(dtype)
    exact = np.rint(values.astype(np.float64))
    exact = np.nan_to_num(np.clip(exact, limits.min, limits.max), nan=0.0)
    whole: np.ndarray = exact.astype(dtype)
    return whole
