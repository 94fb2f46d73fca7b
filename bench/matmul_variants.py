"""A matmul of 1024 x 1024 x 1024 in blocks, as NKI's tutorial has it: what a tuner varies are the blocks and their order."""

import nki
import nki.isa as nisa
import nki.language as nl

SIZE = 1024
ROWS = 128


@nki.jit
def matmul(lhs_t, rhs, block_m=1024, block_n=1024, block_k=1024, tile_n=512, order="mnk"):
    """out[M, N] = lhs_t[K, M].T @ rhs[K, N]. The cores of a logical core share M.

    `order`: the loops over blocks, from the outside in. `tile_n`: moving columns of a matmul. A block of an operand stays
    in SBUF until another one is needed; partial sums over blocks of K wait in SBUF in float32.
    """
    out = nl.ndarray((SIZE, SIZE), dtype=lhs_t.dtype, buffer=nl.shared_hbm)
    share = SIZE // nl.num_programs(0)
    first = nl.program_id(0) * share
    block_m = min(block_m, share)
    starts = {
        "m": range(first, first + share, block_m),
        "n": range(0, SIZE, block_n),
        "k": range(0, SIZE, block_k),
    }
    blocks, totals = {}, {}
    for a in starts[order[0]]:
        for b in starts[order[1]]:
            for c in starts[order[2]]:
                at = {order[0]: a, order[1]: b, order[2]: c}
                m, n, k = at["m"], at["n"], at["k"]
                left = block(blocks, "left", lhs_t, k, block_k, m, block_m)
                right = block(blocks, "right", rhs, k, block_k, n, block_n)
                if (m, n) not in totals:
                    totals[m, n] = nl.ndarray((ROWS, block_m // ROWS, block_n), dtype=nl.float32, buffer=nl.sbuf)
                multiply(totals[m, n], left, right, tile_n, first=k == 0)
                if k + block_k == SIZE:
                    store(out, totals[m, n], m, n)
    return out


def block(blocks, name, source, k, block_k, at, width):
    """Return the block of an operand at (k, at): [128, block_k / 128, width]; loaded unless it is the one in SBUF."""
    known, tile = blocks.get(name, (None, None))
    if known != (k, at):
        tile = nl.ndarray((ROWS, block_k // ROWS, width), dtype=source.dtype, buffer=nl.sbuf)
        for row in range(block_k // ROWS):
            start = k + row * ROWS
            nisa.dma_copy(dst=tile[0:ROWS, row, 0:width], src=source[start : start + ROWS, at : at + width])
        blocks[name] = ((k, at), tile)
    return tile


def multiply(total, left, right, tile_n, first):
    """Add the product of two blocks to `total`; the first product is copied."""
    for m in range(total.shape[1]):
        for n in range(0, total.shape[2], tile_n):
            psum = nl.ndarray((ROWS, tile_n), dtype=nl.float32, buffer=nl.psum)
            for k in range(left.shape[1]):
                nisa.nc_matmul(
                    dst=psum,
                    stationary=left[0:ROWS, k, m * ROWS : (m + 1) * ROWS],
                    moving=right[0:ROWS, k, n : n + tile_n],
                )
            part = total[0:ROWS, m, n : n + tile_n]
            if first:
                nisa.tensor_copy(dst=part, src=psum)
            else:
                nisa.tensor_tensor(dst=part, data1=part, data2=psum, op=nl.add)


def store(out, total, m, n):
    """Write a finished block, in the type of the output."""
    columns = total.shape[2]
    for row in range(total.shape[1]):
        result = nl.ndarray((ROWS, columns), dtype=out.dtype, buffer=nl.sbuf)
        nisa.tensor_copy(dst=result, src=total[0:ROWS, row, 0:columns])
        start = m + row * ROWS
        nisa.dma_copy(dst=out[start : start + ROWS, n : n + columns], src=result)
