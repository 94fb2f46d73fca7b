"""Says where tensors lie that the kernel left to the compiler: a ring through SBUF and one through PSUM.

Where a compiler puts tensors is not known. Here each takes the next free bytes after those of the tensor before, in program order, so that memory is
reused as late as possible. One that finds no room takes the place of those that are done with first: it waits for what they did before, and what they
do later waits for it. One that is larger than the memory gets no address.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from neff_bench.chips import Chip
from neff_bench.simulator import native
from neff_bench.simulator.compiler.program.columns import PSUM, SBUF, Buffers
from neff_bench.simulator.compiler.program.lives import Lives
from neff_bench.simulator.native.ring import Ring, allocate_all

if TYPE_CHECKING:
    import numpy as np


def allocate(buffers: Buffers, lives: Lives, chip: Chip) -> np.ndarray:
    """Return the byte address in each partition, by buffer, of what one core uses and the kernel did not place; -1 for all others."""
    import numpy as np

    found = np.full(len(buffers.memory), -1, np.int64)
    for memory, size, bank in (
        (SBUF, open_sbuf_bytes(chip), open_sbuf_bytes(chip)),
        (PSUM, chip.psum_partition_bytes, chip.psum_bank_bytes),
    ):
        mine = buffers.memory[lives.buffer] == memory
        buffer, first, last = (column[mine] for column in lives)
        row_bytes, placed = buffers.row_bytes[buffer], buffers.address[buffer]
        address, count = placed.copy(), len(buffer)
        taken = np.flatnonzero(placed >= 0)
        taken = taken[np.argsort(placed[taken], kind="stable")]
        starts, stops, end_start = np.zeros((3, count + 1), np.int64)
        starts[: len(taken)] = placed[taken]
        stops[: len(taken)] = placed[taken] + row_bytes[taken]
        spans, following, ends = np.array([[len(taken)], [0], [0]])
        end_at = np.zeros(count + 1)
        native.run(
            allocate_all,
            Ring(
                count,
                size,
                bank,
                first,
                last,
                row_bytes,
                address,
                starts,
                stops,
                spans,
                following,
                end_at,
                end_start,
                ends,
            ),
        )
        found[buffer] = np.where(placed < 0, address, -1)
    return found


def open_sbuf_bytes(chip: Chip) -> int:
    """Return the bytes of each partition for what the kernel did not place: the compiler keeps the rest (AWS docs, nki.language.tile_size)."""
    return chip.sbuf_partition_bytes - chip.sbuf_reserved_bytes
