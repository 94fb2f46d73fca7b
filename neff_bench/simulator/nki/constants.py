"""Provides `nki.tensor`: numpy arrays that kernels hand to `nl.shared_constant`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


def identity(n: int, dtype: Any) -> np.ndarray:
    """Return the identity matrix [n, n]."""
    import numpy

    from neff_bench.simulator.numpy_dtypes import numpy_dtype
    from neff_bench.simulator.recording.dtype_names import dtype_of

    return numpy.eye(n).astype(numpy_dtype(dtype_of(dtype)))
