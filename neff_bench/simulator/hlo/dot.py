"""Records products of a stage: both operands with the contraction on the partitions, 128 x 128 stationary, 512 moving."""

from __future__ import annotations

from typing import Any, Protocol

from neff_bench.chips.dtypes import SIZE_BYTES
from neff_bench.simulator.errors import CompileError
from neff_bench.simulator.hlo.core import Core
from neff_bench.simulator.hlo.graph import Value
from neff_bench.simulator.hlo.matrix import Matrix
from neff_bench.simulator.hlo.plan import Term
from neff_bench.simulator.hlo.pool import Pool
from neff_bench.simulator.nki import isa as nisa

Span = tuple[int, int]
"""(start, size) of rows or columns."""
K_TILE = 128
"""The contraction that one matmul takes: the partitions."""
DMA_BYTES = 512 << 10
"""Bytes that one DMA of weights moves at least, where there are so many."""
HALF = "bfloat16"
"""What float8 passes through on its way to a transpose: the PE array moves at least two bytes."""


class Operands(Protocol):
    """Holds what a product needs of the kernel that it is part of: where its operands lie, and which of them are loaded."""

    core: Core
    pool: Pool
    hbm: dict[Value, Any]
    kept: dict[tuple[Term, int], Any]
    stationaries: dict[tuple[Term, int], Any]
    weights: dict[tuple[Matrix, int, int, int], Any]
    weights_stay: bool
    temporaries: list[Any]
    block: Span

    def block_width(self, term: Term) -> int:
        """Return the columns of a block of weights."""

    def load(self, term: Term, row: Span, col: Span, out: Any) -> Any:
        """Bring rows and columns of a load term from HBM into `out`."""


def multiply(kernel: Operands, term: Term, row: Span, col: Span) -> Any:
    """Return the tile of a dot, in one PSUM bank in float32."""
    (r, height), (c, width) = row, col
    lhs = term.terms[0]
    k = lhs.cols
    stationary = _stationary(kernel, lhs, row, _operand_dtype(term))
    start, moving = _moving(kernel, term, r // (term.rows // term.batch))
    bank = kernel.pool.psum("float32")
    kernel.temporaries.append(bank)
    product = bank[:height, :width]
    for n, at in enumerate(range(0, k, K_TILE)):
        depth = min(K_TILE, k - at)
        nisa.nc_matmul(
            dst=product,
            stationary=stationary[:depth, n, :height],
            moving=moving[:depth, n, c - start : c - start + width],
            accumulate=at > 0,
        )
    return product


def _operand_dtype(term: Term) -> str:
    """Return the dtype in which the PE array multiplies: float32 goes with float32 only."""
    dtypes = {term.terms[0].dtype, _matrix(term).dtype}
    return "float32" if "float32" in dtypes else _matrix(term).dtype


def _matrix(term: Term) -> Matrix:
    if term.matrix is None:
        raise CompileError(f"HLO dot {term.value.name} has no right operand in HBM")
    return term.matrix


def _stationary(kernel: Operands, lhs: Term, row: Span, dtype: str) -> Any:
    """Return the rows of the left operand as [128 of K, K tiles, rows]."""
    r, height = row
    key = (lhs, r)
    if key not in kernel.stationaries:
        tiles = -(-lhs.cols // K_TILE)
        target = kernel.pool.sbuf((tiles, 128), dtype)
        kernel.stationaries[key] = target
        matrix = lhs.matrix
        if matrix is not None and matrix.row_stride == 1 and matrix.col_stride != 1 and (lhs, r) not in kernel.kept:
            _load_rows(kernel, matrix.transposed, (0, lhs.cols), row, target)
        else:
            source, owned = _rows(kernel, lhs, row)
            _transpose(kernel, source, height, lhs.cols, lambda n, count: target[:, n : n + count, :height])
            if owned is not None:
                kernel.pool.release(owned)
    return kernel.stationaries[key]


def _rows(kernel: Operands, lhs: Term, row: Span) -> tuple[Any, Any]:
    """Return all columns of the left operand for some rows, in SBUF; and the tile to release afterwards, if any."""
    r, height = row
    if (lhs, r) in kernel.kept:
        return kernel.kept[lhs, r][:height, :], None
    owned = kernel.pool.sbuf((lhs.cols,), lhs.dtype)
    kernel.load(lhs, row, (0, lhs.cols), owned[:height, :])
    return owned[:height, :], owned


def _moving(kernel: Operands, term: Term, batch: int) -> tuple[int, Any]:
    """Return the kernel's block of columns of the right operand: (its first column, [128 of K, K tiles, columns])."""
    matrix, k = _matrix(term), term.terms[0].cols
    start, columns = kernel.block
    key = (matrix, batch, start, columns)
    if key not in kernel.weights:
        if not kernel.weights_stay:
            held = [other for other in kernel.weights if other[0] is matrix]
            if len(held) >= 2:
                kernel.pool.release(kernel.weights.pop(held[0]))
        tiles = -(-k // K_TILE)
        target = kernel.pool.sbuf((tiles, kernel.block_width(term)), _operand_dtype(term))
        if matrix.row_stride == 1 and matrix.col_stride != 1:
            for at in range(0, columns, K_TILE):
                _load_transposed(kernel, matrix, (batch * k, k), (start + at, min(K_TILE, columns - at)), target, at)
        else:
            _load_rows(kernel, matrix, (batch * k, k), (start, columns), target)
        kernel.weights[key] = target
    return start, kernel.weights[key]


def _load_rows(kernel: Operands, matrix: Matrix, rows: Span, cols: Span, target: Any) -> None:
    """Load rows of K onto the partitions of [128, K tiles, columns], several K tiles with each DMA."""
    (first, k), (c, width) = rows, cols
    source = kernel.hbm[matrix.base]
    plain = len(matrix.cols) == 1 and first % matrix.rows[-1][0] + k <= matrix.rows[-1][0]
    whole = k // K_TILE if plain else 0
    at_once = max(1, DMA_BYTES // (K_TILE * width * SIZE_BYTES[matrix.dtype]))
    for n in range(0, whole, at_once):
        count = min(at_once, whole - n)
        _, _, _, _, offset = next(matrix.pieces(first + n * K_TILE, 1, c, 1))
        pattern = [[matrix.row_stride, K_TILE], [K_TILE * matrix.row_stride, count], [matrix.col_stride, width]]
        kernel.core.load(target[:, n : n + count, :width], source.ap(pattern=pattern, offset=offset))
    for n in range(whole, -(-k // K_TILE)):
        depth = min(K_TILE, k - n * K_TILE)
        for r, height, q, columns, offset in matrix.pieces(first + n * K_TILE, depth, c, width):
            pattern = [[matrix.row_stride, height], [matrix.col_stride, columns]]
            destination = target[r : r + height, n, q : q + columns]
            kernel.core.load(destination, source.ap(pattern=pattern, offset=offset))


def _load_transposed(kernel: Operands, matrix: Matrix, rows: Span, cols: Span, target: Any, at: int) -> None:
    """Load a right operand whose K is contiguous in HBM: it is read along K and turned by the PE array."""
    (first, k), (c, width) = rows, cols
    tile = kernel.pool.sbuf((k,), matrix.dtype)
    turned = matrix.transposed
    for r, height, q, columns, offset in turned.pieces(c, width, first, k):
        pattern = [[turned.row_stride, height], [turned.col_stride, columns]]
        source = kernel.hbm[matrix.base].ap(pattern=pattern, offset=offset)
        kernel.core.load(tile[r : r + height, q : q + columns], source)
    _transpose(kernel, tile[:width, :], width, k, lambda n, count: target[:, n : n + count, at : at + width])
    kernel.pool.release(tile)


def _transpose(kernel: Operands, source: Any, height: int, k: int, place: Any) -> None:
    """Transpose [rows, K] in SBUF to `place(n, count)` [128 of K, count, rows] from K tile n on, through PSUM, several tiles to a bank."""
    core, pool = kernel.core, kernel.pool
    narrow = SIZE_BYTES[source.dtype] == 1
    dtype = HALF if narrow else source.dtype
    n = 0
    while n * K_TILE < k:
        bank = pool.psum(core.transposed_dtype(dtype))
        depth = min(K_TILE, k - n * K_TILE)
        count = max(1, min(k // K_TILE - n, bank.shape[1] // height))
        for at in range(count):
            tile = source[:, (n + at) * K_TILE : (n + at) * K_TILE + depth]
            if narrow:
                wide = pool.sbuf((K_TILE,), HALF)
                nisa.tensor_copy(dst=wide[:height, :depth], src=tile)
                pool.release(wide)
                tile = wide[:height, :depth]
            turned = bank[:depth, at * height : (at + 1) * height]
            identity = core.identity(dtype)[:height, :height]
            nisa.nc_matmul(dst=turned, stationary=tile, moving=identity, is_moving_onezero=True, is_transpose=True)
        core.evict(place(n, count)[:depth], bank[:depth, : count * height])
        pool.release(bank)
        n += count
