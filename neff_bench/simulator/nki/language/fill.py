"""Holds tensors with contents: zeros, ones, full, identity, random; and transfers between HBM and SBUF."""

from __future__ import annotations

from typing import Any

from neff_bench.simulator.nki import isa
from neff_bench.simulator.program import PARTITIONS
from neff_bench.simulator.recording import regions
from neff_bench.simulator.recording.creation import ndarray, shared_constant
from neff_bench.simulator.recording.recorder import not_modelled
from neff_bench.simulator.recording.tensor import NkiTensor


def full(shape: Any, fill_value: Any, dtype: Any, buffer: Any = regions.sbuf, name: str = "") -> NkiTensor:
    """Return a new tensor filled with `fill_value`: a memset on chip, from a constant tile in HBM."""
    made = ndarray(shape, dtype, buffer, name)
    if made.on_chip:
        isa.memset(made, fill_value)
        return made
    rows = made.reshape((1, made.size)) if made.ndim < 2 else made.reshape((-1, made.shape[-1]))
    limit = min(rows.shape[1], regions.partition_bytes("sbuf") // 4 // made.itemsize)
    height = min(rows.shape[0], PARTITIONS)
    tile = ndarray((height, limit), dtype, regions.sbuf)
    isa.memset(tile, fill_value)
    for row in range(0, rows.shape[0], height):
        for column in range(0, rows.shape[1], limit):
            part = rows[row : min(row + height, rows.shape[0]), column : min(column + limit, rows.shape[1])]
            isa.dma_copy(part, tile[: part.shape[0], : part.shape[1]])
    return made


def zeros(shape: Any, dtype: Any, buffer: Any = regions.sbuf, name: str = "") -> NkiTensor:
    """Return a new tensor of zeros."""
    return full(shape, 0, dtype, buffer, name)


def ones(shape: Any, dtype: Any, buffer: Any = regions.sbuf, name: str = "") -> NkiTensor:
    """Return a new tensor of ones."""
    return full(shape, 1, dtype, buffer, name)


def empty_like(x: NkiTensor, dtype: Any = None, buffer: Any = None, name: str = "") -> NkiTensor:
    """Return a new, uninitialised tensor with the shape of `x`, and its dtype and buffer unless others are given."""
    return ndarray(x.shape, x.dtype if dtype is None else dtype, x.buffer if buffer is None else buffer, name)


def zeros_like(x: NkiTensor, dtype: Any = None, buffer: Any = None, name: str = "") -> NkiTensor:
    """Return a new tensor of zeros with the shape of `x`, and its dtype and buffer unless others are given."""
    return zeros(x.shape, x.dtype if dtype is None else dtype, x.buffer if buffer is None else buffer, name)


def load(src: NkiTensor, dtype: Any = None) -> NkiTensor:
    """Return a new SBUF tile with the values of an HBM tensor."""
    tile = ndarray(src.shape if src.ndim > 1 else (src.shape[0], 1), src.dtype if dtype is None else dtype)
    isa.dma_copy(tile, src)
    return tile


def store(dst: NkiTensor, value: Any) -> None:
    """Write a tile (from SBUF, or from PSUM through SBUF) or a number into an HBM tensor."""
    if not isinstance(value, NkiTensor):
        value = (
            full((1, 1), value, dst.dtype).broadcast(1, dst.size) if dst.size > 1 else full((1, 1), value, dst.dtype)
        )
    elif value.storage.memory == "psum":
        staged = ndarray(value.shape, dst.dtype)
        isa.tensor_copy(staged, value)
        value = staged
    isa.dma_copy(dst, value)


def assign(tensor: NkiTensor, key: Any, value: Any) -> None:
    """Do `tensor[key] = value`: a copy, by DMA where one of the two is in HBM; a number fills. With which instructions AWS does it is not documented."""
    target = tensor[key]
    if not target.on_chip:
        store(target, value)
    elif not isinstance(value, NkiTensor):
        isa.memset(target, value)
    elif not value.on_chip:
        isa.dma_copy(target, value)
    else:
        same = value.shape == target.shape or value.ndim != target.ndim
        isa.tensor_copy(target, value if same else value.broadcast_to(target.shape))


# A tensor cannot import what writes it: instructions stand above tensors.
NkiTensor.__setitem__ = assign  # type: ignore[index]


def load_transpose2d(src: NkiTensor, dtype: Any = None) -> NkiTensor:
    """Return a new SBUF tile with the transposed values of a 2-d HBM tensor."""
    tile = ndarray((src.shape[1], src.shape[0]), src.dtype if dtype is None else dtype)
    isa.dma_transpose(tile, src)
    return tile


def shared_identity_matrix(n: int, dtype: Any = "uint8", dst: NkiTensor | None = None) -> NkiTensor:
    """Return the identity [n, n] in SBUF, loaded from a constant."""
    import numpy as np

    from neff_bench.simulator.numpy_dtypes import numpy_dtype
    from neff_bench.simulator.recording.dtype_names import dtype_of

    kind = dtype_of(dtype)
    tile = ndarray((n, n), kind) if dst is None else dst
    isa.dma_copy(tile, shared_constant(np.eye(n).astype(numpy_dtype(kind))))
    return tile


def random_seed(seed: NkiTensor) -> None:
    """Seed the generator of the Vector Engine with one 32-bit element."""
    isa.set_rng_seed(seed)


def rand(shape: Any, dtype: Any, buffer: Any = regions.sbuf, name: str = "") -> NkiTensor:
    """Return uniform in [0, 1]: 16 random bits divided by 65535."""
    bits = ndarray(shape, "uint16")
    isa.rng(bits)
    made = ndarray(shape, dtype, buffer, name)
    if not made.on_chip:
        raise not_modelled("nl.rand in HBM")
    isa.tensor_scalar(made, bits, "multiply", 1.0 / 65535.0)
    return made


def device_print(print_prefix: str, tensor: NkiTensor) -> None:
    """Print nothing: no value is known while recording."""
