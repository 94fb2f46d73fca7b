"""Makes the buffers of a program of the allocations of a recording."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from neff_bench.simulator.native.recorder import compiled
from neff_bench.simulator.program import Buffer
from neff_bench.simulator.recording.recorder import Storage


def buffers_of(storages: Sequence[Storage]) -> tuple[Buffer, ...]:
    """Return the allocations as buffers; one without a name is called after its memory and its number."""
    return tuple(
        Buffer(
            storage.name or f"{storage.memory}{storage.index}",
            storage.memory,
            storage.shape,
            storage.dtype,
            storage.kind,
            storage.core,
            storage.data,
            storage.address,
            storage.source,
            storage.partition,
        )
        for storage in storages
    )


plain_buffers_of = buffers_of
if not TYPE_CHECKING and (_core := compiled()) is not None:
    _core.bind_buffers(Buffer)
    buffers_of = _core.buffers_of
