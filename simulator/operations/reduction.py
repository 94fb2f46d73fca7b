"""Reductions over the free dimensions, and over the partitions."""

from __future__ import annotations

import math

import numpy as np

from simulator.operations import alu
from simulator.operations.elementwise import check_integers
from simulator.operations.operands import Operands


def tensor_reduce(o: Operands) -> None:
    op = o.attributes["op"]
    if alu.is_bitwise(op):
        check_integers(o, "data", "dst")
        values = o.raw("data")
    else:
        values = o.float32("data")
    result = alu.reduce(op, values, _reduced_axes(o, values))
    o.write("dst", -result if o.attributes.get("negate") else result)


def tensor_partition_reduce(o: Operands) -> None:
    op = o.attributes["op"]
    values = o.raw("data") if alu.is_bitwise(op) else o.float32("data")
    o.write("dst", alu.reduce(op, values, (0,)))


def _reduced_axes(o: Operands, values: np.ndarray) -> tuple[int, ...]:
    """The trailing dimensions that `axis` names.

    Kernels of earlier dialects count axes from the innermost one (axis=1 of a 3-D tile is its last), so where the
    documented reading does not give dst's size, as many trailing dimensions as `axis` names are reduced.
    """
    given = o.attributes["axis"]
    axes = [given] if isinstance(given, int) else list(given)
    kept = math.prod(o.shape("dst"))
    documented = tuple(sorted(axis % values.ndim for axis in axes)) if max(axes) < values.ndim else ()
    trailing = tuple(range(values.ndim - len(axes), values.ndim))
    for candidate in (documented, trailing, tuple(range(1, values.ndim))):
        if candidate and 0 not in candidate and values.size // _size(values, candidate) == kept:
            return candidate
    o.refuse(f"axis {given} of data {list(values.shape)} does not leave dst {list(o.shape('dst'))}")


def _size(values: np.ndarray, axes: tuple[int, ...]) -> int:
    return math.prod(values.shape[axis] for axis in axes)


OPERATIONS = {"tensor_reduce": tensor_reduce, "tensor_partition_reduce": tensor_partition_reduce}
