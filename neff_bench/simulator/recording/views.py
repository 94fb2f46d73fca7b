"""Computes shapes and steps of strided views: pure arithmetic on tuples, in elements."""

from __future__ import annotations

from functools import lru_cache
from math import prod


@lru_cache(maxsize=65536)
def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the steps of a contiguous tensor."""
    steps, step = [], 1
    for size in reversed(shape):
        steps.append(step)
        step *= size
    return tuple(reversed(steps))


@lru_cache(maxsize=65536)
def pattern(steps: tuple[int, ...], shape: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Return `(step, size)` of each dimension, as integers. Kernels repeat few of them: one tuple serves all operands, and so what is equal
    to an integer, as True is to 1, becomes one."""
    return tuple(zip(map(int, steps), map(int, shape)))


def reshape(shape: tuple[int, ...], steps: tuple[int, ...], wanted: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the steps of the same elements under the shape `wanted`, None where that needs a copy.

    Dimensions are matched in groups of equal product; a group that is split or merged must be evenly strided. A dimension of one element
    steps over all that lies behind it, as in row-major order: a register may index it by more than 0.
    """
    if 0 in wanted:
        return row_major(wanted)
    old = [(size, step) for size, step in zip(shape, steps) if size != 1]
    result: list[int] = []
    at = 0
    left: tuple[int, int] | None = None  # elements not yet handed out of the current run, innermost step
    for size in wanted:
        if size == 1:
            behind = left or (old[at] if at < len(old) else (1, 1))
            result.append(behind[0] * behind[1])
            continue
        if left is None:
            if at == len(old):
                return None
            total, inner = old[at]
            at += 1
            while at < len(old) and old[at - 1][1] == old[at][1] * old[at][0]:
                total *= old[at][0]
                inner = old[at][1]
                at += 1
            left = (total, inner)
        total, inner = left
        if total % size:
            return None
        total //= size
        result.append(inner * total)
        left = (total, inner) if total > 1 else None
    return tuple(result) if left is None and at == len(old) else None


def infer(shape: tuple[int, ...], total: int) -> tuple[int, ...] | None:
    """Return `shape` with its one -1 filled in so that the product is `total`; None when that cannot be."""
    if -1 in shape:
        rest = -prod(shape)
        if shape.count(-1) > 1 or rest <= 0 or total % rest:
            return None
        shape = tuple(total // rest if size == -1 else size for size in shape)
    return shape if prod(shape) == total else None


def is_contiguous(shape: tuple[int, ...], steps: tuple[int, ...]) -> bool:
    """Return whether steps are those of a row-major tensor of this shape."""
    expected = 1
    for size, step in zip(reversed(shape), reversed(steps)):
        if size != 1 and step != expected:
            return False
        expected *= size
    return True
