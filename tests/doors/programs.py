"""Files of kernels in the current dialect. SCALE: `scale(x, factor=2.0)`."""

SCALE = '''
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def scale(x, factor=2.0):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=factor)
    nisa.dma_copy(dst=out, src=tile)
    return out
'''
TOTAL = '''
import nki
import nki.collectives as ncc
import nki.isa as nisa
import nki.language as nl


@nki.jit
def total(x, ranks):
    src, dst, out = (nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm) for _ in range(3))
    nisa.dma_copy(dst=src, src=x)
    ncc.all_reduce(srcs=[src], dsts=[dst], replica_group=ncc.ReplicaGroup([list(range(ranks))]), op=nl.add)
    nisa.dma_copy(dst=out, src=dst)
    return out


def right(x):
    return 0 * x + x.sum(axis=0)
'''
"""A file with a kernel of several ranks, `total(x, ranks)`, and its reference `right`."""
