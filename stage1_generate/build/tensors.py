"""Draw the inputs of a case, compute its reference, write both as raw little-endian C-order bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from neff_bench.neffs.bundle import TensorFile, write_tensor
from neff_bench.neffs.case import Case
from neff_bench.neffs.dtypes import numpy_dtype
from neff_bench.stage1_generate.errors import BuildError
from neff_bench.stage1_generate.kernel import FP8_TOLERANCES, TOLERANCES, Dims, Kernel, Tensor
from neff_bench.stage1_generate.reference import call_values

if TYPE_CHECKING:
    import numpy as np


def draw(tensors: Sequence[Tensor], seed: int) -> dict[str, np.ndarray]:
    """One array per tensor, in its dtype, from one generator in the order given (so the order belongs to the result).

    Raises `BuildError` when a function of the user's does not give the values.
    """
    import numpy as np

    generator = np.random.default_rng(seed)
    arrays = {}
    for tensor in tensors:
        values: np.ndarray
        if tensor.values == "normal":
            values = generator.standard_normal(tensor.shape, dtype=np.float32) * np.float32(tensor.scale)
        elif tensor.values == "uniform":
            values = generator.random(tensor.shape, dtype=np.float32) * np.float32(tensor.scale)
        elif tensor.values == "constant":
            values = np.full(tensor.shape, tensor.scale, dtype=np.float32)
        elif tensor.values == "integers":
            values = generator.integers(0, int(tensor.scale), tensor.shape)
        else:
            values = call_values(tensor.values, tensor.shape)
        arrays[tensor.name] = values.astype(numpy_dtype(tensor.dtype))
    return arrays


def references(
    kernel: Kernel, case: Case, outputs: Sequence[Tensor], inputs: Mapping[str, np.ndarray]
) -> tuple[np.ndarray, ...]:
    """The kernel's float32 reference on the inputs as they were rounded to their dtype, one array per output.

    Each result is rounded once, to the dtype of its output. Raises `BuildError` when they do not fit `outputs`, or
    the kernel has no reference.
    """
    import numpy as np

    dims = Dims(**dict(case.dims))
    exact = {
        name: array.astype(np.float32) if array.dtype.kind not in "iu" else array for name, array in inputs.items()
    }
    if kernel.reference is None:
        raise BuildError(f"{kernel.name} has no reference")
    arrays = kernel.reference(dims, exact)
    if len(arrays) != len(outputs):
        raise BuildError(f"the reference returns {len(arrays)} arrays, the kernel {len(outputs)}")
    rounded = []
    for tensor, array in zip(outputs, arrays):
        if array.shape != tensor.shape:
            raise BuildError(f"reference of {tensor.name} has shape {array.shape}, the kernel's output {tensor.shape}")
        rounded.append(array.astype(numpy_dtype(tensor.dtype)))
    return tuple(rounded)


def default_tolerance(dtypes: Sequence[str], expected: Sequence[np.ndarray]) -> tuple[float, float]:
    """(rtol, atol) for a kernel that says none: the largest rtol of its element types, and that many root mean squares of
    the smallest expected output. Integers are compared exactly."""
    import numpy as np

    known = {**TOLERANCES, **FP8_TOLERANCES}
    rtol = max(known[dtype][0] if dtype in known else 0.0 for dtype in dtypes)
    sizes = [float(np.sqrt(np.mean(np.square(array.astype(np.float64))))) for array in expected if array.size]
    return rtol, rtol * min((size for size in sizes if 0 < size < float("inf")), default=1.0)


def write_array(directory: Path, prefix: str, name: str, dtype: str, array: np.ndarray) -> TensorFile:
    """Write `<prefix>-<name>-000.bin`; `prefix` is `inp` or `ref`, `name` the tensor's name in the NEFF."""
    import numpy as np

    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
    return write_tensor(directory, f"{prefix}-{name}-000.bin", name, tuple(array.shape), dtype, data)
