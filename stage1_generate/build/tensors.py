"""Draw the inputs of a case, compute its reference, write both as raw little-endian C-order bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from neff_bench.neffs.bundle import TensorFile
from neff_bench.neffs.case import Case
from neff_bench.neffs.dtypes import numpy_dtype
from neff_bench.stage1_generate.errors import BuildError
from neff_bench.stage1_generate.kernel import Dims, Kernel, Tensor

if TYPE_CHECKING:
    import numpy as np


def draw(tensors: Sequence[Tensor], seed: int) -> dict[str, np.ndarray]:
    """One array per tensor, in its dtype, from one generator in the order given (so the order belongs to the result)."""
    import numpy as np

    generator = np.random.default_rng(seed)
    arrays = {}
    for tensor in tensors:
        values: np.ndarray
        if tensor.values == "normal":
            values = generator.standard_normal(tensor.shape, dtype=np.float32) * np.float32(tensor.scale)
        elif tensor.values == "constant":
            values = np.full(tensor.shape, tensor.scale, dtype=np.float32)
        else:
            values = generator.integers(0, int(tensor.scale), tensor.shape)
        arrays[tensor.name] = values.astype(numpy_dtype(tensor.dtype))
    return arrays


def references(kernel: Kernel, case: Case, inputs: Mapping[str, np.ndarray]) -> tuple[np.ndarray, ...]:
    """The kernel's float32 reference on the inputs as they were rounded to their dtype, one array per output.

    Each result is rounded once, to the dtype of its output. Raises `BuildError` when a reference has not the declared shape.
    """
    import numpy as np

    dims = Dims(**dict(case.dims))
    exact = {
        name: array.astype(np.float32) if array.dtype.kind not in "iu" else array for name, array in inputs.items()
    }
    rounded = []
    for tensor, array in zip(kernel.outputs(dims, case.dtype), kernel.reference(dims, exact), strict=True):
        if array.shape != tensor.shape:
            raise BuildError(f"reference of {tensor.name} has shape {array.shape}, declared as {tensor.shape}")
        rounded.append(array.astype(numpy_dtype(tensor.dtype)))
    return tuple(rounded)


def write_tensor(directory: Path, prefix: str, name: str, dtype: str, array: np.ndarray) -> TensorFile:
    """Write `<prefix>-<name>-000.bin`; `prefix` is `inp` or `ref`, `name` the tensor's name in the NEFF."""
    import numpy as np

    file = f"{prefix}-{name}-000.bin"
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
    (directory / file).write_bytes(data)
    return TensorFile(name, tuple(array.shape), dtype, data.nbytes, file, hashlib.sha256(data).hexdigest())
