"""Draws the inputs of a case, computes its reference, writes both as raw little-endian C-order bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from neff_bench.neffs.bundle import TensorFile, write_tensor
from neff_bench.neffs.case import Case
from neff_bench.neffs.dtypes import numpy_dtype, stored, value_shape, values_of
from neff_bench.stage1_generate.errors import BuildError
from neff_bench.stage1_generate.kernel import FP8_TOLERANCES, TOLERANCES, Dims, Kernel, Tensor
from neff_bench.stage1_generate.reference import call_values, check_count

if TYPE_CHECKING:
    import numpy as np

BLOCK_ELEMENTS = 1 << 14
"""Elements drawn at a time: 64 KiB of float32."""
DRAWN_ELEMENTS = 1 << 16
"""Elements of a large tensor of two bytes or less that are drawn; the others are picked from them, which takes a quarter of the
time. A dtype of two bytes has no more values than that, so equal elements are common in any case."""


def draw(tensors: Sequence[Tensor], seed: int, rank: int = 0) -> dict[str, np.ndarray]:
    """Return one array per tensor, in its dtype, from one generator in the order given. Raises `BuildError` for a function of the user's.

    `rank`: its values are others than those of another rank, except where all elements are one constant.
    """
    import numpy as np

    generator = np.random.default_rng([seed, rank] if rank else seed)
    return {tensor.name: _drawn(generator, tensor, rank) for tensor in tensors}


def _drawn(generator: np.random.Generator, tensor: Tensor, rank: int) -> np.ndarray:
    import numpy as np

    shape = value_shape(tensor.shape, tensor.dtype)
    if tensor.values == "normal":
        return _scaled(generator, generator.standard_normal, tensor)
    if tensor.values == "uniform":
        return _scaled(generator, generator.random, tensor)
    if tensor.values == "constant":
        return stored(np.full(shape, tensor.scale, dtype=np.float32), tensor.dtype)
    if tensor.values == "integers":
        return stored(generator.integers(0, int(tensor.scale), shape), tensor.dtype)
    return stored(call_values(tensor.values, shape, rank), tensor.dtype)


def _scaled(generator: np.random.Generator, fill: Callable[..., np.ndarray], tensor: Tensor) -> np.ndarray:
    """Return the scaled float32 values of `fill`, a function of the generator, in the dtype of a tensor. They are drawn a block at a time, which stays
    in the cache; the values are those of one call."""
    import numpy as np

    array = np.empty(tensor.shape, numpy_dtype(tensor.dtype))
    flat, block = array.reshape(-1), np.empty(BLOCK_ELEMENTS, np.float32)
    drawn = flat if array.itemsize > 2 else flat[:DRAWN_ELEMENTS]
    (in_one,) = value_shape((1,), tensor.dtype)  # values of an element
    for start in range(0, drawn.size, BLOCK_ELEMENTS // in_one):
        part = block[: (drawn.size - start) * in_one]
        fill(dtype=np.float32, out=part)
        part *= np.float32(tensor.scale)
        drawn[start : start + part.size // in_one] = stored(part, tensor.dtype)
    _pick(generator, drawn, flat[drawn.size :])
    return array


def _pick(generator: np.random.Generator, drawn: np.ndarray, others: np.ndarray) -> None:
    """Fill the others with picks from `DRAWN_ELEMENTS` drawn ones, a block at a time."""
    import numpy as np

    codes = f"u{drawn.itemsize}"
    for start in range(0, others.size, BLOCK_ELEMENTS):
        part = others[start : start + BLOCK_ELEMENTS].view(codes)
        drawn.view(codes).take(generator.integers(0, DRAWN_ELEMENTS, part.size, np.uint16), out=part, mode="clip")


def references(
    kernel: Kernel, case: Case, outputs: Sequence[Tensor], inputs: Sequence[Mapping[str, np.ndarray]]
) -> list[tuple[np.ndarray, ...]]:
    """Return the kernel's float32 reference on the inputs of each rank as they were rounded to their dtype: for each rank, one array per output.

    With several ranks the reference gets each input with the ranks as its first dimension, and returns each output so. Each result is rounded once, to the
    dtype of its output. Raises `BuildError`.
    """
    import numpy as np

    dims, several = Dims(**dict(case.dims)), case.ranks > 1
    if kernel.reference is None:
        raise BuildError(f"{kernel.name} has no reference")
    together = {name: np.stack([of[name] for of in inputs]) if several else array for name, array in inputs[0].items()}
    arrays = kernel.reference(dims, _Values(together))
    check_count(arrays, len(outputs))
    rounded = []
    for tensor, array in zip(outputs, arrays):
        shape = value_shape(tensor.shape, tensor.dtype)
        if array.shape != ((case.ranks, *shape) if several else shape):
            ranks = f" on each of {case.ranks} ranks, which come first" if several else ""
            raise BuildError(f"reference of {tensor.name} has shape {array.shape}, the kernel's output {shape}{ranks}")
        rounded.append(stored(array if several else array[np.newaxis], tensor.dtype))
    return [tuple(array[rank] for array in rounded) for rank in range(case.ranks)]


class _Values(Mapping[str, "np.ndarray"]):
    """The inputs as float32 values, converted when a reference asks for one: it need not hold all of them at a time."""

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._arrays = arrays

    def __getitem__(self, name: str) -> np.ndarray:
        return values_of(self._arrays[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)


def default_tolerance(dtypes: Sequence[str], expected: Sequence[np.ndarray]) -> tuple[float, float]:
    """Return (rtol, atol) for a kernel that says none: the largest rtol of its element types, and that many root mean squares of
    the smallest expected output. Integers are compared exactly."""
    import numpy as np

    known = {**TOLERANCES, **FP8_TOLERANCES}
    rtol = max(known[dtype][0] if dtype in known else 0.0 for dtype in dtypes)
    sizes = [
        float(np.sqrt(np.mean(np.square(values_of(array).astype(np.float64))))) for array in expected if array.size
    ]
    return rtol, rtol * min((size for size in sizes if 0 < size < float("inf")), default=1.0)


def write_array(
    directory: Path, prefix: str, name: str, dtype: str, array: np.ndarray, rank: int | None = None
) -> TensorFile:
    """Write `<prefix>-<name>-000.bin`, `-rank2.bin` for a rank of several; `prefix` is `inp` or `ref`, `name` the tensor's name in
    the NEFF."""
    import numpy as np

    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
    return write_tensor(
        directory,
        f"{prefix}-{name}-{'000' if rank is None else f'rank{rank}'}.bin",
        name,
        tuple(array.shape),
        dtype,
        data,
    )


def write_rank_inputs(directory: Path, ranks: Sequence[Sequence[TensorFile]]) -> str:
    """Write the file that `capture --multi-input` reads in the directory of a run: a line of `NAME FILE ...` for each rank. Returns
    its name, that of nki-library."""
    lines = [" ".join(f"{tensor.name} ../../{tensor.file}" for tensor in tensors) for tensors in ranks]
    name = f"{len(ranks)}rank_inputs.txt"
    (directory / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return name
