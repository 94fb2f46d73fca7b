"""Implements a fused gated MLP in the NKI dialect: out = (silu(x @ gate) * (x @ up)) @ down, nothing between written to HBM."""

import nki
import nki.isa as nisa
import nki.language as nl

from neff_bench.stage1_generate.kernels.matmul_nki import nl_itemsize
from neff_bench.stage1_generate.kernels.tiles_nki import (
    MOVING,
    P,
    budget_columns,
    core_share,
    load_rows,
    load_transposed,
    multiply,
    multiply_to,
    tiles,
    transpose_into,
)

TOKENS_BYTES = 48 * 1024  # of each SBUF partition for the transposed tokens, and as much for the intermediate
WEIGHT_BYTES = 32 * 1024  # of each SBUF partition for one block of a weight matrix


@nki.jit
def mlp(hidden, gate_w, up_w, down_w):
    """Compute an MLP: hidden [b, s, h], gate_w and up_w [h, i], down_w [i, h] -> [b, s, h], accumulated in float32.

    Tokens are the stationary operand, weights the moving one. The cores of a logical core share the tokens; each reads
    all weights, once for each block of up to 512 tokens.
    """
    b, s, h = hidden.shape
    i = gate_w.shape[1]
    x = hidden.reshape((b * s, h))
    out = nl.ndarray((b, s, h), dtype=hidden.dtype, buffer=nl.shared_hbm)
    rows = out.reshape((b * s, h))
    itemsize = nl_itemsize(hidden.dtype)
    start, stop = core_share(b * s, 1, nl.program_id(0), nl.num_programs(0))
    block = budget_columns(max(h, i), itemsize, TOKENS_BYTES, MOVING)
    for t in range(start, stop, block):
        count = min(block, stop - t)
        tokens = load_transposed(x, t, count, 0, h)
        inner = gate_up(tokens, gate_w, up_w, count)
        down(inner, down_w, rows, t, count)
    return out


def gate_up(tokens, gate_w, up_w, count):
    """[128, tiles(i, 128), count] in SBUF: silu(x @ gate) * (x @ up), transposed."""
    h, i = gate_w.shape
    inner = nl.ndarray((P, tiles(i, P), count), dtype=gate_w.dtype, buffer=nl.sbuf)
    columns = budget_columns(h, nl_itemsize(gate_w.dtype), WEIGHT_BYTES, MOVING)
    for c in range(0, i, columns):
        width = min(columns, i - c)
        gate = load_rows(gate_w, 0, h, c, width)
        up = load_rows(up_w, 0, h, c, width)
        for r in nl.affine_range(tiles(count, P)):
            high = min(P, count - r * P)
            gate_psum = nl.ndarray((P, MOVING), dtype=nl.float32, buffer=nl.psum)
            up_psum = nl.ndarray((P, MOVING), dtype=nl.float32, buffer=nl.psum)
            multiply(gate_psum[0:high, 0:width], tokens, gate, h, r * P, high, 0, width)
            multiply(up_psum[0:high, 0:width], tokens, up, h, r * P, high, 0, width)
            active = nl.ndarray((P, MOVING), dtype=nl.float32, buffer=nl.sbuf)
            nisa.activation(dst=active[0:high, 0:width], op=nl.silu, data=gate_psum[0:high, 0:width])
            product = nl.ndarray((P, MOVING), dtype=gate_w.dtype, buffer=nl.sbuf)
            nisa.tensor_tensor(
                dst=product[0:high, 0:width],
                data1=active[0:high, 0:width],
                data2=up_psum[0:high, 0:width],
                op=nl.multiply,
            )
            transpose_into(inner, c // P, r * P, product, high, width)
    return inner


def down(inner, down_w, rows, t, count):
    """rows[t : t + count] = inner.T @ down_w."""
    i, h = down_w.shape
    columns = budget_columns(i, nl_itemsize(down_w.dtype), WEIGHT_BYTES, MOVING)
    for c in range(0, h, columns):
        width = min(columns, h - c)
        weights = load_rows(down_w, 0, i, c, width)
        multiply_to(rows, t, count, c, width, inner, weights, i)
