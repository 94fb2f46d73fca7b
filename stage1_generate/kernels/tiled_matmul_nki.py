"""Implements a matrix multiplication tile by tile in the NKI dialect: nothing stays in SBUF from one tile to the next."""

import nki
import nki.isa as nisa
import nki.language as nl

from neff_bench.stage1_generate.kernels.tiles_nki import MOVING, P, core_share, load_rows, load_transposed, store


@nki.jit
def tiled_matmul(lhs, rhs, tile_m, tile_k, tile_n):
    """out[M, N] = lhs[M, K] @ rhs[K, N], accumulated in float32 over tiles of K.

    Each [tile_m, tile_n] tile of out loads its own [tile_m, tile_k] tiles of lhs and [tile_k, tile_n] tiles of rhs: lhs is
    read once for each column of tiles, rhs once for each row of them. The cores of a logical core share N.
    """
    M, K = lhs.shape
    _, N = rhs.shape
    out = nl.ndarray((M, N), dtype=lhs.dtype, buffer=nl.shared_hbm)
    n_start, n_stop = core_share(N, tile_n, nl.program_id(0), nl.num_programs(0))
    for m in range(0, M, tile_m):
        rows = min(tile_m, M - m)
        for n in range(n_start, n_stop, tile_n):
            columns = min(tile_n, n_stop - n)
            psum = nl.ndarray((P, MOVING), dtype=nl.float32, buffer=nl.psum)
            for k in range(0, K, tile_k):
                depth = min(tile_k, K - k)
                left = load_transposed(lhs, m, rows, k, depth)
                right = load_rows(rhs, k, depth, n, columns)
                nisa.nc_matmul(
                    dst=psum[0:rows, 0:columns],
                    stationary=left[0:depth, 0, 0:rows],
                    moving=right[0:depth, 0, 0:columns],
                )
            result = nl.ndarray((P, MOVING), dtype=out.dtype, buffer=nl.sbuf)
            nisa.tensor_copy(dst=result[0:rows, 0:columns], src=psum[0:rows, 0:columns])
            store(out[m : m + rows, n : n + columns], result[0:rows, 0:columns])
    return out
