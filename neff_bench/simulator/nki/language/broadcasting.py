"""Provides tiles that are repeated: along free dimensions a view repeats them, over partitions the Tensor Engine or Vector does."""

from __future__ import annotations

from math import prod
from typing import Any

from neff_bench.chips import chip_for
from neff_bench.simulator.nki import isa
from neff_bench.simulator.recording.creation import ndarray
from neff_bench.simulator.recording.recorder import invalid, recorder
from neff_bench.simulator.recording.regions import psum
from neff_bench.simulator.recording.tensor import NkiTensor

_MULTIPLIED = frozenset({"float32", "bfloat16", "float16"})
"""What the PE multiplies by ones without another copy of it."""

_NOT_BY_PE = frozenset({"int32", "uint32"})
"""float32 is the widest type that the PE multiplies, and it does not hold all of their values. How AWS's compiler repeats such a row is not
known."""

_FIRST_GENERATION = 2
"""On the NeuronCore-v2 Vector repeats a row for the current dialect, and a broadcast of float32 by the PE is one matmul. On trn2 the PE
repeats it, by two matmuls for each 512 columns (docs/model.md, Evidence)."""

_QUADRANT = 32


def broadcast_to(x: NkiTensor, shape: Any, dtype: Any = None) -> NkiTensor:
    """Return a tile of `shape`; rows are repeated on the Tensor engine where the partition dimension grows."""
    shape = tuple(shape)
    if x.shape == shape and dtype is None:
        return x
    if x.shape[0] not in (1, shape[0]):
        raise invalid(f"broadcast_to: {x!r} cannot become {list(shape)}")
    made = ndarray(shape, x.dtype if dtype is None else dtype)
    is_first = chip_for(recorder().target).generation == _FIRST_GENERATION
    if x.shape[0] != shape[0] and is_first and "middle_end" not in recorder().dialect:
        _shuffled(made, x.broadcast_to((1, *shape[1:])))
        return made
    if x.shape[0] == shape[0] or x.dtype in _NOT_BY_PE:
        isa.tensor_copy(made, x.broadcast_to(shape))
        return made
    width = prod(shape[1:])
    row = x
    if x.shape != (1, width) or x.storage.memory != "sbuf" or x.dtype not in _MULTIPLIED:
        row = ndarray((1, *shape[1:]), "float32")
        isa.tensor_copy(row, x.broadcast_to((1, *shape[1:])))
    ones = ndarray((1, shape[0]), row.dtype)
    isa.memset(ones, 1.0)
    flat, target = row.reshape((1, width)), made.reshape((shape[0], width))
    for start in range(0, width, 512):
        stop = width if start + 512 > width else start + 512
        total = ndarray((shape[0], stop - start), "float32", psum)
        isa.nc_matmul(total, ones, flat[:, start:stop], is_stationary_onezero=is_first, accumulate=False)
        isa.tensor_copy(target[:, start:stop], total)
    return made


def _shuffled(made: NkiTensor, row: NkiTensor) -> None:
    """Repeat a row on Vector: it is copied to the first partition of each quadrant, and shuffled from there to the others."""
    for start in range(0, made.shape[0], _QUADRANT):
        quadrant = made[start : min(start + _QUADRANT, made.shape[0])]
        isa.tensor_copy(quadrant[0:1], row)
        isa.nc_stream_shuffle(quadrant, quadrant[0:1], [0] * _QUADRANT)


def operand(x: NkiTensor, shape: tuple[int, ...]) -> NkiTensor:
    """Return `x` as an operand of this shape. An engine reads each partition for itself, so a row is repeated first (AWS docs,
    nki/test/test_nki_nl_add.py, broadcasts one of 512 over 128 partitions; nki/guides/architecture/trainium_inferentia2_arch.rst,
    Partition Broadcast, does it on the Tensor Engine)."""
    if x.ndim == len(shape) and x.shape[0] == 1 < shape[0] and x.dtype not in _NOT_BY_PE:
        x = broadcast_to(x, (shape[0], *x.shape[1:]))
    return x.broadcast_to(shape)
