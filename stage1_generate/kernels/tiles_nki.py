"""Holds the tile moves that our NKI kernels share: loads with the contraction on the partitions, and work splitting."""

import nki.isa as nisa
import nki.language as nl

P = 128  # partitions, and the side of the PE array
MOVING = 512  # free size of the moving tile: one PSUM bank of float32
LOADED = 4  # tiles that one DMA loads: large enough to hide its issue, small enough to start on early
TRANSPOSES = 4  # PE transposes that fill one PSUM bank before one copy empties it


def tiles(size, step):
    """Return the number of tiles of `step` that cover `size`."""
    return (size + step - 1) // step


def core_share(size, step, core, cores):
    """Return (start, stop) of this core's part of `size`, cut at a multiple of `step` as evenly as tiles allow."""
    count = tiles(size, step)
    start = min(count * core // cores * step, size)
    stop = min(count * (core + 1) // cores * step, size)
    return start, stop


def budget_columns(rows, itemsize, budget_bytes, most):
    """Columns (a multiple of 128, at least 128, at most `most`) of a [rows, columns] block within a partition budget."""
    columns = budget_bytes // (tiles(rows, P) * itemsize) // P * P
    return max(P, min(most, columns))


def load_rows(src, row, rows, column, columns):
    """[128, tiles(rows, 128), columns] in SBUF: rows `row`.. of the HBM matrix `src`, the row index on the partitions."""
    width = src.shape[1]
    block = nl.ndarray((P, tiles(rows, P), columns), dtype=src.dtype, buffer=nl.sbuf)
    whole = rows // P
    for first in range(0, whole, LOADED):
        count = min(LOADED, whole - first)
        nisa.dma_copy(
            dst=block[0:P, first : first + count, 0:columns],
            src=src.ap(
                pattern=[[width, P], [width * P, count], [1, columns]], offset=(row + first * P) * width + column
            ),
        )
    rest = rows - whole * P
    if rest > 0:
        nisa.dma_copy(
            dst=block[0:rest, whole, 0:columns],
            src=src[row + whole * P : row + rows, column : column + columns],
        )
    return block


def load_transposed(src, row, rows, column, columns):
    """[128, tiles(columns, 128), rows] in SBUF: a block of the HBM matrix `src`, its columns on the partitions.

    PE transposes, several to a PSUM bank, each bank emptied by one copy.
    """
    result = nl.ndarray((P, tiles(columns, P), rows), dtype=src.dtype, buffer=nl.sbuf)
    for r in nl.affine_range(tiles(rows, P)):
        high = min(P, rows - r * P)
        block = nl.ndarray((P, columns), dtype=src.dtype, buffer=nl.sbuf)
        first = row + r * P
        nisa.dma_copy(dst=block[0:high, 0:columns], src=src[first : first + high, column : column + columns])
        transpose_into(result, 0, r * P, block, high, columns)
    return result


def transpose_into(result, tile, start, block, high, columns):
    """Write result[:, tile.., start : start + high] = block[high, columns].T, in tiles of 128 columns."""
    whole = columns // P
    for group in nl.affine_range(tiles(whole, TRANSPOSES)):
        t = group * TRANSPOSES
        count = min(TRANSPOSES, whole - t)
        bank = nl.ndarray((P, TRANSPOSES, P), dtype=block.dtype, buffer=nl.psum)
        for j in nl.affine_range(count):
            nisa.nc_transpose(
                dst=bank[0:P, j, 0:high],
                data=block[0:high, (t + j) * P : (t + j + 1) * P],
                engine=nisa.engine.tensor,
            )
        nisa.tensor_copy(
            dst=result[0:P, tile + t : tile + t + count, start : start + high], src=bank[0:P, 0:count, 0:high]
        )
    rest = columns - whole * P
    if rest > 0:
        edge = nl.ndarray((P, P), dtype=block.dtype, buffer=nl.psum)
        nisa.nc_transpose(dst=edge[0:rest, 0:high], data=block[0:high, whole * P : columns], engine=nisa.engine.tensor)
        nisa.tensor_copy(dst=result[0:rest, tile + whole, start : start + high], src=edge[0:rest, 0:high])


def multiply(psum, stationary, moving, contraction, s, s_size, m, m_size):
    """psum[s_size, m_size] = stationary[:, :, s:].T @ moving[:, :, m:], both [128, tiles(contraction, 128), free]."""
    for k in nl.affine_range(tiles(contraction, P)):
        depth = min(P, contraction - k * P)
        nisa.nc_matmul(
            dst=psum,
            stationary=stationary[0:depth, k, s : s + s_size],
            moving=moving[0:depth, k, m : m + m_size],
        )


def multiply_to(out, row, rows, column, columns, left, right, contraction):
    """out[row.., column..] = left.T @ right for `rows` rows and up to one PSUM bank of `columns`, through PSUM to HBM."""
    for t in nl.affine_range(tiles(rows, P)):
        high = min(P, rows - t * P)
        psum = nl.ndarray((P, MOVING), dtype=nl.float32, buffer=nl.psum)
        multiply(psum[0:high, 0:columns], left, right, contraction, t * P, high, 0, columns)
        result = nl.ndarray((P, MOVING), dtype=out.dtype, buffer=nl.sbuf)
        nisa.tensor_copy(dst=result[0:high, 0:columns], src=psum[0:high, 0:columns])
        first = row + t * P
        store(out[first : first + high, column : column + columns], result[0:high, 0:columns])


def store(dst, src):
    """Write `src` to HBM from the Scalar engine's queue where it has one: on the loads' queue it would hold them up."""
    if nisa.get_nc_version() >= nisa.nc_version.gen3:
        nisa.dma_copy(dst=dst, src=src, dge_mode=nisa.dge_mode.hwdge, engine=nisa.engine.scalar)
    else:
        nisa.dma_copy(dst=dst, src=src)
