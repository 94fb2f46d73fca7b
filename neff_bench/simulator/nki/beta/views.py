"""Says what the old dialect does with views: brings them to one rank, tells whether they are the same, writes into them."""

from __future__ import annotations

from math import prod
from typing import Any

from neff_bench.simulator.nki import isa
from neff_bench.simulator.nki import language as nl
from neff_bench.simulator.nki.beta import psum
from neff_bench.simulator.recording.recorder import invalid
from neff_bench.simulator.recording.tensor import NkiTensor


def of_one_rank(*values: Any) -> tuple[Any, ...]:
    """Return operands of an elementwise operation. One element in each partition goes with any number of dimensions."""
    wide = [value.ndim for value in values if isinstance(value, NkiTensor) and prod(value.shape[1:]) > 1]
    if not wide:
        return values
    return tuple(
        value.reshape((value.shape[0],) + (1,) * (max(wide) - 1))
        if isinstance(value, NkiTensor) and value.ndim != max(wide) and prod(value.shape[1:]) == 1
        else value
        for value in values
    )


def same_view(first: NkiTensor, second: NkiTensor) -> bool:
    """Return whether two views name the same elements in the same order."""
    return (first.storage, first.offset, first.shape, first.strides) == (
        second.storage,
        second.offset,
        second.shape,
        second.strides,
    )


def write(target: NkiTensor, source: Any) -> None:
    """Put a tile or a number into a view."""
    if not target.on_chip:
        if isinstance(source, NkiTensor) and not source.on_chip:
            raise invalid(f"an assignment: load the tile first; {source!r} is in HBM")
        nl.store(target, source)
    elif isinstance(source, NkiTensor):
        if source.size != target.size:  # one element of each partition goes with any number of dimensions
            target, source = of_one_rank(target, source)
        fits = source.shape == target.shape or source.ndim != target.ndim
        isa.tensor_copy(target, source if fits else source.broadcast_to(target.shape))
    else:
        isa.memset(target, source)
    psum.wrote(target)
