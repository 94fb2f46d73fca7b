"""Implements a tiled matrix multiplication in the NKI dialect: any M, K, N, edge tiles included."""

import nki
import nki.isa as nisa
import nki.language as nl

from neff_bench.stage1_generate.kernels.tiles_nki import (
    MOVING,
    P,
    budget_columns,
    core_share,
    load_rows,
    load_transposed,
    multiply,
    multiply_to,
    store,
    tiles,
)

BLOCK_BYTES = 64 * 1024  # of each SBUF partition for one block of the right-hand side
BLOCK_M = 1024
BLOCK_K = {1: 4096, 2: 2048, 4: 1024}  # by bytes of an element: [block, 2048] stays within BLOCK_BYTES


@nki.jit
def matmul(lhs, rhs):
    """out[M, N] = lhs[M, K] @ rhs[K, N], accumulated in float32.

    The cores of a logical core share M where it has tiles for all of them, else N. A block of lhs is transposed on the
    PE once; rhs is read once for each block of 1024 rows of M. Above one block of K, partial sums wait in SBUF.
    """
    M, K = lhs.shape
    _, N = rhs.shape
    out = nl.ndarray((M, N), dtype=lhs.dtype, buffer=nl.shared_hbm)
    core = nl.program_id(0)
    cores = nl.num_programs(0)
    if tiles(M, P) >= cores:
        m_start, m_stop = core_share(M, P, core, cores)
        n_start, n_stop = 0, N
    else:
        m_start, m_stop = 0, M
        n_start, n_stop = core_share(N, P, core, cores)
    itemsize = nl_itemsize(lhs.dtype)
    block_k = BLOCK_K[itemsize]
    if block_k >= K:
        for m in range(m_start, m_stop, BLOCK_M):
            one_pass(lhs, rhs, out, m, min(BLOCK_M, m_stop - m), n_start, n_stop)
    else:
        block_n = budget_columns(block_k, itemsize, BLOCK_BYTES, 2048)
        for m in range(m_start, m_stop, BLOCK_M):
            for n in range(n_start, n_stop, block_n):
                in_blocks_of_k(lhs, rhs, out, m, min(BLOCK_M, m_stop - m), n, min(block_n, n_stop - n), block_k)
    return out


def nl_itemsize(dtype):
    """Return the bytes of an element of a floating-point dtype."""
    if str(dtype) == str(nl.float32):
        return 4
    if str(dtype) == str(nl.bfloat16) or str(dtype) == str(nl.float16):
        return 2
    return 1


def one_pass(lhs, rhs, out, m, rows, n_start, n_stop):
    """Compute `rows` rows of out, from m: all of K accumulates in PSUM."""
    K = lhs.shape[1]
    left = load_transposed(lhs, m, rows, 0, K)
    for n in range(n_start, n_stop, MOVING):
        columns = min(MOVING, n_stop - n)
        right = load_rows(rhs, 0, K, n, columns)
        multiply_to(out, m, rows, n, columns, left, right, K)


def in_blocks_of_k(lhs, rhs, out, m, rows, n, columns, block_k):
    """Compute a [rows, columns] block of out at (m, n): partial sums over blocks of K are added up in SBUF in float32."""
    K = lhs.shape[1]
    total = nl.ndarray((P, tiles(rows, P), columns), dtype=nl.float32, buffer=nl.sbuf)
    for k in range(0, K, block_k):
        depth = min(block_k, K - k)
        left = load_transposed(lhs, m, rows, k, depth)
        right = load_rows(rhs, k, depth, n, columns)
        for t in nl.affine_range(tiles(rows, P)):
            high = min(P, rows - t * P)
            for c in range(0, columns, MOVING):
                width = min(MOVING, columns - c)
                psum = nl.ndarray((P, MOVING), dtype=nl.float32, buffer=nl.psum)
                multiply(psum[0:high, 0:width], left, right, depth, t * P, high, c, width)
                partial = total[0:high, t, c : c + width]
                if k == 0:
                    nisa.tensor_copy(dst=partial, src=psum[0:high, 0:width])
                else:
                    nisa.tensor_tensor(dst=partial, data1=partial, data2=psum[0:high, 0:width], op=nl.add)
    for t in nl.affine_range(tiles(rows, P)):
        high = min(P, rows - t * P)
        result = nl.ndarray((P, columns), dtype=out.dtype, buffer=nl.sbuf)
        nisa.tensor_copy(dst=result[0:high, 0:columns], src=total[0:high, t, 0:columns])
        first = m + t * P
        store(out[first : first + high, n : n + columns], result[0:high, 0:columns])
