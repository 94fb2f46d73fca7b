"""Moves inside on-chip memory: between partitions of a quadrant, and by index inside a partition."""

from __future__ import annotations

import numpy as np

from neff_bench.simulator.machine.addressing import bits
from neff_bench.simulator.machine.operands import Operands

_QUADRANT = 32
_UNMODIFIED = 255
_PARTITIONS_OF_A_GPSIMD_CORE = 16


def nc_stream_shuffle(o: Operands) -> None:
    """In each quadrant of 32 partitions, partition i of dst is partition shuffle_mask[i] of src; 255 keeps dst's own."""
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


def nc_n_gather(o: Operands) -> None:
    """dst[p, i] = data[p, indices[p, i]], free dimensions flattened."""
    data = o.raw("data")
    data = bits(data.reshape(data.shape[0], -1))
    indices = o.raw("indices")
    indices = indices.reshape(indices.shape[0], -1).astype(np.int64)
    if indices.max() >= data.shape[1]:
        o.refuse(f"index {indices.max()} of {data.shape[1]} elements a partition")
    o.write_bits("dst", np.take_along_axis(data, indices, axis=1).view(o.raw("data").dtype))


def local_gather(o: Operands) -> None:
    """Each GpSimd core gathers from its 16 partitions with the indices of those partitions, column by column."""
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


OPERATIONS = {"nc_stream_shuffle": nc_stream_shuffle, "nc_n_gather": nc_n_gather, "local_gather": local_gather}
