"""Moves inside on-chip memory: between partitions of a quadrant, and by index inside a partition (AWS docs,
nki.isa.nc_stream_shuffle, nc_n_gather, local_gather).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from neff_bench.simulator.costs.engine_work import engine_work
from neff_bench.simulator.machine.addressing import bits
from neff_bench.simulator.machine.operands import Operands
from neff_bench.simulator.operations.declaration import operation
from neff_bench.simulator.recording import check
from neff_bench.simulator.recording.recorder import NkiInstruction, emit, invalid
from neff_bench.simulator.recording.tensor import NkiTensor

_QUADRANT = 32
_UNMODIFIED = 255
_PARTITIONS_OF_A_GPSIMD_CORE = 16


def _nc_stream_shuffle(o: Operands) -> None:
    """Shuffle partitions: in each quadrant of 32, partition i of dst is partition shuffle_mask[i] of src; 255 keeps dst's own."""
    source = o.raw("src")
    source = source.reshape(source.shape[0], -1)
    target = o.memory.read(o.access("dst"))
    result = target.reshape(target.shape[0], -1).copy()
    mask = o.attributes["shuffle_mask"]
    for row in range(len(result)):
        quadrant, place = divmod(row, _QUADRANT)
        if mask[place] == _UNMODIFIED:
            continue
        taken = quadrant * _QUADRANT + mask[place]
        if taken >= len(source):
            o.refuse(f"shuffle_mask[{place}] reads partition {taken} of a source with {len(source)}")
        bits(result)[row] = bits(source)[taken]
    o.write_bits("dst", result)


@operation(execute=_nc_stream_shuffle, cost=engine_work(), opcode="STREAM_SHUFFLE")
def nc_stream_shuffle(dst: NkiTensor, src: NkiTensor, shuffle_mask: Any, name: str | None = None) -> NkiInstruction:
    """Partition i of each 32 of `dst` = partition shuffle_mask[i] of `src`; 255 leaves it as it is. On Vector."""
    check.on_chip("nc_stream_shuffle", dst=dst, src=src)
    mask = [int(at) for at in shuffle_mask]
    if len(mask) != 32 or any(not 0 <= at < 32 and at != 255 for at in mask):
        raise invalid("nc_stream_shuffle: shuffle_mask is 32 numbers from 0 to 31, or 255")
    if dst.dtype != src.dtype or check.free(dst) != check.free(src):
        raise invalid(f"nc_stream_shuffle: dst must have dtype and elements of src: {dst!r}, {src!r}")
    active = -(-max(dst.shape[0], src.shape[0]) // 32) * 32
    for value in (dst, src):
        start = value.offset // (value.storage.free * value.storage.itemsize // value.itemsize)
        if start % {32: 32, 64: 64}.get(active, 128):
            raise invalid(f"nc_stream_shuffle: {active} partitions cannot start at partition {start}: {value!r}")
    return emit("nc_stream_shuffle", "vector", {"dst": dst}, {"src": src}, {"shuffle_mask": mask})


def _nc_n_gather(o: Operands) -> None:
    """dst[p, i] = data[p, indices[p, i]], free dimensions flattened."""
    data = o.raw("data")
    data = bits(data.reshape(data.shape[0], -1))
    indices = o.raw("indices")
    indices = indices.reshape(indices.shape[0], -1).astype(np.int64)
    if indices.max() >= data.shape[1]:
        o.refuse(f"index {indices.max()} of {data.shape[1]} elements a partition")
    o.write_bits("dst", np.take_along_axis(data, indices, axis=1).view(o.raw("data").dtype))


@operation(execute=_nc_n_gather, cost=engine_work(), opcode="GATHER")
def nc_n_gather(dst: NkiTensor, data: NkiTensor, indices: NkiTensor, name: str | None = None) -> NkiInstruction:
    """Compute `dst`[p, i] = `data`[p, indices[p, i]] with free dimensions flattened; on GpSimd in SBUF."""
    check.on_chip("nc_n_gather", dst=dst, data=data, indices=indices)
    check.no_psum_on_gpsimd("nc_n_gather", "gpsimd", dst, data, indices)
    check.same_tile("nc_n_gather", "indices", indices, dst)
    if data.shape[0] != dst.shape[0] or data.dtype != dst.dtype or indices.dtype != "uint32":
        raise invalid(f"nc_n_gather: one partition count, one dtype, indices uint32: {dst!r}, {data!r}, {indices!r}")
    return emit("nc_n_gather", "gpsimd", {"dst": dst}, {"data": data, "indices": indices}, {})


def _local_gather(o: Operands) -> None:
    """Gather on each GpSimd core from its 16 partitions with the indices of those partitions, column by column."""
    data = o.raw("src_buffer")
    data = data.reshape(data.shape[0], -1)
    index = o.raw("index")
    index = index.reshape(index.shape[0], -1).astype(np.int64)
    width = o.attributes.get("num_elem_per_idx", 1)
    count = o.attributes.get("num_valid_indices") or index.shape[1] * _PARTITIONS_OF_A_GPSIMD_CORE
    gathered = []
    for start in range(0, len(data), _PARTITIONS_OF_A_GPSIMD_CORE):
        core = slice(start, start + _PARTITIONS_OF_A_GPSIMD_CORE)
        first = index[core].T.reshape(-1)[:count]
        columns = (first[:, None] + np.arange(width)).reshape(-1)
        if columns.max() >= data.shape[1]:
            o.refuse(f"index {columns.max()} of {data.shape[1]} elements a partition")
        gathered.append(bits(data)[core][:, columns])
    o.write_bits("dst", np.concatenate(gathered).view(data.dtype))


@operation(execute=_local_gather, cost=engine_work(), opcode="GATHER")
def local_gather(
    dst: NkiTensor,
    src_buffer: NkiTensor,
    index: NkiTensor,
    num_elem_per_idx: int = 1,
    num_valid_indices: int | None = None,
    name: str | None = None,
) -> NkiInstruction:
    """Gather, in each group of 16 partitions, from `src_buffer` at the positions in its part of `index`; on GpSimd."""
    check.on_chip("local_gather", dst=dst, src_buffer=src_buffer, index=index)
    check.no_psum_on_gpsimd("local_gather", "gpsimd", dst, src_buffer, index)
    if index.shape[0] != src_buffer.shape[0] or index.shape[0] % 16 or index.dtype != "uint16":
        raise invalid(
            f"local_gather: index must be uint16 with the partitions of src_buffer, a multiple of 16: {index!r}"
        )
    if num_elem_per_idx not in (1, 2, 4, 8, 16, 32) or dst.dtype != src_buffer.dtype:
        raise invalid(f"local_gather: 1, 2, 4, 8, 16 or 32 elements for each index, one dtype: {dst!r}")
    held = check.free(index) * 16
    valid = held if num_valid_indices is None else int(num_valid_indices)
    if valid > min(held, 4096) or check.free(dst) != valid * num_elem_per_idx:
        raise invalid(f"local_gather: {valid} indices of {num_elem_per_idx} elements do not fill {dst!r}")
    attributes = {"num_elem_per_idx": int(num_elem_per_idx), "num_valid_indices": valid}
    reads = {"src_buffer": src_buffer, "index": index}
    return emit("local_gather", "gpsimd", {"dst": dst}, reads, attributes)
