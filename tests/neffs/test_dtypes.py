import subprocess
import sys

import pytest

from neff_bench.neffs.dtypes import SIZE_BYTES, numpy_dtype, size_bytes
from neff_bench.neffs.errors import CaseError


@pytest.mark.parametrize("dtype", SIZE_BYTES)
def test_sizes_are_those_of_numpy(dtype):
    assert numpy_dtype(dtype).itemsize == size_bytes(dtype)


def test_an_unknown_dtype_is_named():
    with pytest.raises(CaseError, match="unknown dtype 'float64'"):
        size_bytes("float64")


def test_reading_bundles_does_not_load_numpy():
    code = "import sys, neff_bench.neffs.store, neff_bench.neffs.dtypes; sys.exit('numpy' in sys.modules or 'ml_dtypes' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
