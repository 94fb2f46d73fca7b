"""Allocates tensors in SBUF, PSUM and HBM."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import TYPE_CHECKING, Any

from neff_bench.chips.dtypes import SIZE_BYTES
from neff_bench.simulator.native.recorder import compiled
from neff_bench.simulator.program import PARTITIONS, Kind, Memory
from neff_bench.simulator.recording import regions, views
from neff_bench.simulator.recording.dtype_names import dtype_of
from neff_bench.simulator.recording.numbers import whole_numbers
from neff_bench.simulator.recording.recorder import Recorder, Storage, invalid, recorder
from neff_bench.simulator.recording.regions import MemoryRegion
from neff_bench.simulator.recording.tensor import NkiTensor


def ndarray(
    shape: Any, dtype: Any, buffer: Any = regions.sbuf, name: str | None = "", address: tuple[int, int] | None = None
) -> NkiTensor:
    """Return a new, uninitialised tensor. `address`: (partition, byte offset inside it) where the kernel places it."""
    now = recorder()
    if type(shape) is not tuple:
        shape = tuple(shape) if isinstance(shape, Iterable) else (shape,)
    region = buffer if type(buffer) is MemoryRegion else _region(buffer)
    kind = dtype_of(dtype)
    for size in shape:
        if type(size) is not int:
            shape = whole_numbers("a size of a shape", shape)
            break
    if not shape or min(shape) < 1:
        raise invalid(f"shape {list(shape)} has an empty dimension")
    if region is MemoryRegion.shared_hbm:
        storage = _shared(now, shape, kind, name or "")
    else:
        source = now.source()
        storage = allocate(now, shape, kind, region, name or "", "internal", now.core, source)
        if storage.memory != "hbm":
            _check_tile(storage, address)
    return whole(storage)


def form_of(shape: tuple[int, ...], dtype: str, memory: Memory) -> tuple[str, int, int, int, tuple[int, ...], int]:
    """Return what tensors of one shape have in common: dtype, bytes and number of elements, how many of them are in one partition (all in
    HBM), steps, and the bytes of a partition beside one, which are negative where it does not fit."""
    kind = dtype_of(dtype)
    size = prod(shape)
    free = size if memory == "hbm" else size // shape[0]
    fits = min(shape) > 0 and (memory == "hbm" or shape[0] <= PARTITIONS)
    room = regions.partition_bytes(memory) - free * SIZE_BYTES[kind] if fits and memory != "hbm" else 0 if fits else -1
    return kind, SIZE_BYTES[kind], size, free, views.row_major(shape), room


def allocate(
    now: Recorder,
    shape: tuple[int, ...],
    dtype: str,
    region: MemoryRegion,
    name: str,
    kind: Kind,
    core: int | None,
    source: int,
) -> Storage:
    """Enter an allocation in the recorder's table."""
    memory = region.memory
    size = prod(shape)
    free = size if memory == "hbm" else size // shape[0]
    storage = Storage(
        len(now.storages), name, memory, region, shape, dtype, SIZE_BYTES[dtype], size, free, kind, core, source
    )
    now.storages.append(storage)
    return storage


def whole(storage: Storage) -> NkiTensor:
    """Return the view of all of an allocation."""
    return NkiTensor(storage, 0, storage.shape, views.row_major(storage.shape), storage.dtype)


def _shared(now: Recorder, shape: tuple[int, ...], dtype: str, name: str) -> Storage:
    """Return HBM that both cores see: the same name (or line), shape and dtype the n-th time is the same tensor."""
    source = now.source()
    call = (name or source, shape, dtype)
    count = now.shared_count.get(call, 0)
    now.shared_count[call] = count + 1
    key = (call, count)
    storage = now.shared.get(key)
    if storage is None:
        storage = allocate(now, shape, dtype, MemoryRegion.shared_hbm, name, "internal", None, source)
        now.shared[key] = storage
    return storage


def _region(buffer: Any) -> MemoryRegion:
    try:
        return regions.region_of(buffer)
    except (KeyError, ValueError):
        raise invalid(f"unknown buffer {buffer!r}; known: nl.sbuf, nl.psum, nl.shared_hbm, nl.private_hbm") from None


def _check_tile(storage: Storage, address: tuple[int, int] | None) -> None:
    if storage.shape[0] > PARTITIONS:
        raise invalid(f"{storage.memory} tensor {list(storage.shape)} has {storage.shape[0]} partitions; at most 128")
    used = storage.free * storage.itemsize
    limit = regions.partition_bytes(storage.memory)
    if address is not None:
        storage.partition, storage.address = whole_numbers("a part of an address", address)
        if storage.partition + storage.shape[0] > PARTITIONS:
            raise invalid(f"address {address} puts {storage.shape[0]} partitions past partition 128")
        used += storage.address or 0
    if used > limit:
        raise invalid(
            f"{storage.memory} tensor {list(storage.shape)} {storage.dtype} needs {used} bytes of each partition;"
            f" a kernel may use {limit}"
        )


def shared_constant(constant: Any) -> NkiTensor:
    """Return shared HBM that the program carries: a numpy array, or the path of a .npy file. Both cores see one copy."""
    import numpy as np

    from neff_bench.simulator.numpy_dtypes import dtype_name, numpy_dtype

    now = recorder()
    if isinstance(constant, (str, bytes)) or hasattr(constant, "__fspath__"):
        constant = np.load(constant)
    array = np.asarray(constant)
    if array.dtype == np.bool_:
        array = array.astype(np.uint8)
    kind = dtype_name(array.dtype)
    data = np.ascontiguousarray(array, dtype=numpy_dtype(kind).newbyteorder("<")).tobytes()
    shape = array.shape or (1,)
    key = ("constant", shape, kind, data)
    storage = now.shared.get(key)
    if storage is None:
        storage = allocate(now, shape, kind, MemoryRegion.shared_hbm, "", "constant", None, now.source())
        storage.data = data
        now.shared[key] = storage
    return whole(storage)


plain_ndarray = ndarray
if not TYPE_CHECKING and (_core := compiled()) is not None:
    _regions = MemoryRegion, MemoryRegion.sbuf, MemoryRegion.shared_hbm
    _core.bind_creation(plain_ndarray, form_of, NkiTensor, *_regions)
    ndarray = _core.ndarray
