import subprocess
import sys

import numpy as np
import pytest

from neff_bench.chips.dtypes import PACKED
from neff_bench.neffs.dtypes import SIZE_BYTES, numpy_dtype, size_bytes, stored, value_shape, values_of
from neff_bench.neffs.errors import CaseError


@pytest.mark.parametrize("dtype", SIZE_BYTES)
def test_sizes_are_those_of_numpy(dtype):
    assert numpy_dtype(dtype).itemsize == size_bytes(dtype)


@pytest.mark.parametrize("dtype", [name for name in SIZE_BYTES if "float" in name])
def test_values_are_stored_and_come_back(dtype):
    shape = value_shape((2, 3), dtype)
    assert shape == ((2, 12) if dtype in PACKED else (2, 3))
    values = np.exp2(np.arange(np.prod(shape)) % 3).reshape(shape).astype(np.float32)
    array = stored(values, dtype)
    assert (array.shape, array.nbytes) == ((2, 3), 6 * SIZE_BYTES[dtype])
    np.testing.assert_array_equal(values_of(array), values)


def test_the_first_of_four_values_has_the_lowest_bits():
    """The order of AWS's mx_cpu_utils.py, whose host arrays are words of float8 and bytes of two float4."""
    values = np.array([[0.5, -1.0, 2.0, 6.0]], np.float32)
    assert stored(values, "float4_e2m1fn_x4").view(np.uint16).tolist() == [[0x74A1]]
    assert stored(values, "float8_e4m3fn_x4").view(np.uint32).tolist() == [[0x4C40B830]]


def test_integers_are_no_floats():
    assert values_of(np.array([7], np.uint8)).dtype == np.uint8


def test_an_unknown_dtype_is_named():
    with pytest.raises(CaseError, match="unknown dtype 'float64'"):
        size_bytes("float64")


def test_reading_bundles_does_not_load_numpy():
    code = "import sys, neff_bench.neffs.store, neff_bench.neffs.dtypes; sys.exit('numpy' in sys.modules or 'ml_dtypes' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
