"""Computes exp of a matrix in the NKI dialect: the kernel of the profiler tutorial, for any 2-D shape."""

import nki
import nki.isa as nisa
import nki.language as nl

from neff_bench.stage1_generate.kernels.tiles_nki import P, core_share, store

COLUMNS = 4096


@nki.jit
def exp(x):
    """Compute the exponential of x[M, N]. Rows lie on the partitions; the cores of a logical core share M."""
    M, N = x.shape
    out = nl.ndarray((M, N), dtype=x.dtype, buffer=nl.shared_hbm)
    start, stop = core_share(M, 1, nl.program_id(0), nl.num_programs(0))
    for m in range(start, stop, P):
        high = min(P, stop - m)
        for n in range(0, N, COLUMNS):
            width = min(COLUMNS, N - n)
            tile = nl.ndarray((P, width), dtype=x.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=tile[0:high, 0:width], src=x[m : m + high, n : n + width])
            result = nl.ndarray((P, width), dtype=x.dtype, buffer=nl.sbuf)
            nisa.activation(dst=result[0:high, 0:width], op=nl.exp, data=tile[0:high, 0:width])
            store(out[m : m + high, n : n + width], result[0:high, 0:width])
    return out
