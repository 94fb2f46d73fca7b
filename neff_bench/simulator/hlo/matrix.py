"""Holds strided views of tensors in HBM: what reshape, transpose, broadcast and slice become, without moving a byte."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class View:
    """`base`: the key of the tensor in HBM. `strides` and `offset` in elements; stride 0 repeats an element."""

    base: Any
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements lie in row-major order without gaps."""
        wide = [(size, stride) for size, stride in zip(self.shape, self.strides) if size > 1]
        return all(stride == math.prod(size for size, _ in wide[n + 1 :]) for n, (_, stride) in enumerate(wide))

    def permute(self, order: tuple[int, ...]) -> View:
        """Return the view with its dimensions in another order; `order[n]` is the old place of dimension n."""
        return replace(self, shape=tuple(self.shape[d] for d in order), strides=tuple(self.strides[d] for d in order))

    def broadcast(self, shape: tuple[int, ...], dimensions: tuple[int, ...]) -> View:
        """Return the view with more dimensions. `dimensions[n]`: the dimension of `shape` that the view's dimension n becomes."""
        strides = [0] * len(shape)
        for own, target in enumerate(dimensions):
            if self.shape[own] == shape[target]:
                strides[target] = self.strides[own]
        return replace(self, shape=shape, strides=tuple(strides))

    def slice(self, slices: tuple[tuple[int, int, int], ...]) -> View:
        """Return a part of the view. `slices`: (start, limit, step) for each dimension."""
        return replace(
            self,
            offset=self.offset + sum(start * stride for (start, _, _), stride in zip(slices, self.strides)),
            shape=tuple(-(-(limit - start) // step) for start, limit, step in slices),
            strides=tuple(stride * step for (_, _, step), stride in zip(slices, self.strides)),
        )

    def reshape(self, shape: tuple[int, ...]) -> View | None:
        """Return the view in another shape; None where only a copy could have it."""
        if self.is_contiguous:
            return contiguous(self.base, self.dtype, shape, self.offset)
        wide = [(size, stride) for size, stride in zip(self.shape, self.strides) if size > 1]
        if [size for size, _ in wide] != [size for size in shape if size > 1]:
            return None
        strides = iter([stride for _, stride in wide])
        return replace(self, shape=shape, strides=tuple(next(strides) if size > 1 else 0 for size in shape))

    def matrix(self, rows: int, cols: int) -> Matrix | None:
        """Return the view as a matrix of rows x cols; None where its dimensions do not divide so."""
        if self.is_contiguous:
            return Matrix(self.base, self.dtype, self.offset, ((rows, cols),), ((cols, 1),))
        for split in range(len(self.shape) + 1):
            if math.prod(self.shape[:split]) == rows and math.prod(self.shape[split:]) == cols:
                pairs = tuple(zip(self.shape, self.strides))
                return Matrix(self.base, self.dtype, self.offset, _merge(pairs[:split]), _merge(pairs[split:]))
        return None


@dataclass(frozen=True)
class Matrix:
    """A matrix in HBM whose row and column indices may each run over several (size, stride) pairs, outermost first."""

    base: Any
    dtype: str
    offset: int
    rows: tuple[tuple[int, int], ...]
    cols: tuple[tuple[int, int], ...]

    @property
    def width(self) -> int:
        """Columns."""
        return math.prod(size for size, _ in self.cols)

    @property
    def row_stride(self) -> int:
        """Elements between neighbouring rows of one run."""
        return self.rows[-1][1]

    @property
    def col_stride(self) -> int:
        """Elements between neighbouring columns of one run."""
        return self.cols[-1][1]

    @property
    def transposed(self) -> Matrix:
        """The same elements with rows and columns exchanged."""
        return replace(self, rows=self.cols, cols=self.rows)

    def pieces(self, row: int, height: int, col: int, width: int) -> Iterator[tuple[int, int, int, int, int]]:
        """Yield the rectangle as plain 2-D accesses: (row, height, col, width relative to the rectangle, offset in HBM)."""
        for r, h, row_offset in _runs(self.rows, row, height):
            for c, w, col_offset in _runs(self.cols, col, width):
                yield r - row, h, c - col, w, self.offset + row_offset + col_offset


def contiguous(base: Any, dtype: str, shape: tuple[int, ...], offset: int = 0) -> View:
    """Return a row-major view."""
    strides = tuple(math.prod(shape[n + 1 :]) for n in range(len(shape)))
    return View(base, dtype, shape, strides, offset)


def _merge(pairs: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    merged: list[tuple[int, int]] = []
    for size, stride in pairs:
        if size == 1:
            continue
        if merged and merged[-1][1] == size * stride:
            merged[-1] = (merged[-1][0] * size, stride)
        else:
            merged.append((size, stride))
    return tuple(merged) or ((1, 1),)


def _runs(pairs: tuple[tuple[int, int], ...], start: int, count: int) -> Iterator[tuple[int, int, int]]:
    """Yield (index, length, offset) of the parts of a range that lie on one stride."""
    inner, end = pairs[-1][0], start + count
    while start < end:
        length = min(end - start, inner - start % inner)
        offset, rest = 0, start
        for size, stride in reversed(pairs):
            offset += rest % size * stride
            rest //= size
        yield start, length, offset
        start += length
