"""One kernel, out[t] = w.T @ x[t] for TILES tiles, as it should be and with one fault in it."""

import nki
import nki.isa as nisa
import nki.language as nl

P, COLUMNS, TILES = 128, 512, 12
SYNC, SCALAR = nisa.engine.sync, nisa.engine.scalar


def load(dst, src, engine):
    """One DMA whose descriptors the hardware writes."""
    nisa.dma_copy(dst=dst, src=src, dge_mode=nisa.dge_mode.hwdge, engine=engine)


def product(tile, weights, dtype, repeat=1):
    """weights.T @ tile in PSUM, `repeat` times over."""
    psum = nl.ndarray((P, COLUMNS), dtype=dtype, buffer=nl.psum)
    for _ in range(repeat):
        nisa.nc_matmul(dst=psum, stationary=weights, moving=tile)
    return psum


def kernel(x, w, fault):
    """x [TILES, 128, 512], w [128, 128]."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    weights = nl.ndarray((P, P), dtype=w.dtype, buffer=nl.sbuf)
    load(weights, w, SYNC)
    for t in range(TILES):
        tile = nl.ndarray((P, COLUMNS), dtype=x.dtype, buffer=nl.sbuf)
        result = nl.ndarray((P, COLUMNS), dtype=x.dtype, buffer=nl.sbuf)
        width = 16 if fault == "tiny DMAs" else COLUMNS
        for c in range(0, COLUMNS, width):
            engine = SYNC if fault == "one queue" else (SYNC, SCALAR)[(t + c // width) % 2]
            load(tile[0:P, c : c + width], x[t, 0:P, c : c + width], engine)
        if fault == "transposes":
            turned = nl.ndarray((P, COLUMNS), dtype=x.dtype, buffer=nl.sbuf)
            for c in range(0, COLUMNS, P):
                bank = nl.ndarray((P, P), dtype=x.dtype, buffer=nl.psum)
                nisa.nc_transpose(dst=bank, data=tile[0:P, c : c + P], engine=nisa.engine.tensor)
                nisa.tensor_copy(dst=turned[0:P, c : c + P], src=bank, engine=(nisa.engine.vector, SCALAR)[c // P % 2])
            tile = turned
        if fault == "copies":
            for _ in range(4):
                nisa.tensor_copy(dst=result, src=product(tile, weights, nl.float32), engine=nisa.engine.vector)
        else:
            psum = product(tile, weights, nl.float32, repeat=12 if fault == "float32" else 1)
            nisa.tensor_copy(dst=result, src=psum, engine=(nisa.engine.vector, SCALAR)[t % 2])
        load(out[t], result, SYNC if fault == "one queue" else (SCALAR, SYNC)[t % 2])
    return out


kernel = nki.jit(kernel)
