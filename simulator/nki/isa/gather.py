"""Moving elements inside and across partitions (AWS docs, nki.isa.nc_stream_shuffle, nc_n_gather, local_gather)."""

from __future__ import annotations

from typing import Any

from neff_bench.simulator.recording import check
from neff_bench.simulator.recording.recorder import NkiInstruction, invalid, recorder
from neff_bench.simulator.recording.tensor import NkiTensor, access


def nc_stream_shuffle(dst: NkiTensor, src: NkiTensor, shuffle_mask: Any, name: str | None = None) -> NkiInstruction:
    """Partition i of each 32 of `dst` = partition shuffle_mask[i] of `src`; 255 leaves it as it is. On Vector."""
    now = recorder()
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
    return now.emit("nc_stream_shuffle", "vector", {"dst": access(dst)}, {"src": access(src)}, {"shuffle_mask": mask})


def nc_n_gather(dst: NkiTensor, data: NkiTensor, indices: NkiTensor, name: str | None = None) -> NkiInstruction:
    """`dst`[p, i] = `data`[p, indices[p, i]] with free dimensions flattened; on GpSimd in SBUF."""
    now = recorder()
    check.on_chip("nc_n_gather", dst=dst, data=data, indices=indices)
    check.no_psum_on_gpsimd("nc_n_gather", "gpsimd", dst, data, indices)
    check.same_tile("nc_n_gather", "indices", indices, dst)
    if data.shape[0] != dst.shape[0] or data.dtype != dst.dtype or indices.dtype != "uint32":
        raise invalid(f"nc_n_gather: one partition count, one dtype, indices uint32: {dst!r}, {data!r}, {indices!r}")
    return now.emit(
        "nc_n_gather", "gpsimd", {"dst": access(dst)}, {"data": access(data), "indices": access(indices)}, {}
    )


def local_gather(
    dst: NkiTensor,
    src_buffer: NkiTensor,
    index: NkiTensor,
    num_elem_per_idx: int = 1,
    num_valid_indices: int | None = None,
    name: str | None = None,
) -> NkiInstruction:
    """Each group of 16 partitions gathers from `src_buffer` at the positions in its part of `index`; on GpSimd."""
    now = recorder()
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
    reads = {"src_buffer": access(src_buffer), "index": access(index)}
    return now.emit("local_gather", "gpsimd", {"dst": access(dst)}, reads, attributes)
