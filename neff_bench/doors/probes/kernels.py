import nki
import nki.collectives as ncc
import nki.isa as nisa
import nki.language as nl

ROUNDS = 12
ENGINES = {"vector": nisa.engine.vector, "scalar": nisa.engine.scalar, "gpsimd": nisa.engine.gpsimd}


def tile_of(x, memory=nl.sbuf):
    return nl.ndarray(x.shape, dtype=x.dtype, buffer=memory)


def loaded(x):
    tile = tile_of(x)
    nisa.dma_copy(dst=tile, src=x)
    return tile


def stored(tile):
    out = nl.ndarray(tile.shape, dtype=tile.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tile)
    return out


@nki.jit
def nothing(x):
    return stored(loaded(x))


@nki.jit
def copies(x, engine):
    tile = loaded(x)
    made = tile_of(x)
    for _ in range(ROUNDS):
        nisa.tensor_copy(made, tile, engine=ENGINES[engine])
    return stored(made)


@nki.jit
def psum_copies(x, engine):
    tile = loaded(x)
    made, bank = tile_of(x), tile_of(x, nl.psum)
    nisa.memset(bank, value=1.0)
    for _ in range(ROUNDS):
        nisa.tensor_copy(made, bank, engine=ENGINES[engine])
    nisa.tensor_tensor(made, made, tile, op=nl.add)
    return stored(made)


@nki.jit
def handed_over(x, first, second):
    tile = loaded(x)
    for _ in range(ROUNDS):
        made, again = tile_of(x), tile_of(x)
        nisa.tensor_copy(made, tile, engine=ENGINES[first])
        nisa.tensor_copy(again, made, engine=ENGINES[second])
        tile = again
    return stored(tile)


@nki.jit
def reductions(x):
    tile = loaded(x)
    made = nl.ndarray((x.shape[0], 1), dtype=nl.float32, buffer=nl.sbuf)
    for _ in range(ROUNDS):
        nisa.tensor_reduce(made, nl.maximum, tile, axis=1)
    return stored(made)


@nki.jit
def scaled(x, by_row):
    tile = loaded(x)
    made = tile_of(x)
    factor = nl.ndarray((x.shape[0], 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(factor, value=2.0)
    for _ in range(ROUNDS):
        nisa.tensor_scalar(made, tile, nl.multiply, factor if by_row else 2.0, engine=nisa.engine.vector)
        nisa.tensor_copy(tile, made, engine=nisa.engine.gpsimd)
    return stored(tile)


@nki.jit
def functions(x, in_psum):
    tile = loaded(x)
    made = tile_of(x)
    source = tile
    if in_psum:
        source = tile_of(x, nl.psum)
        nisa.memset(source, value=1.0)
    for _ in range(ROUNDS):
        nisa.activation(dst=made, op=nl.exp, data=source)
    return stored(made)


@nki.jit
def tables(x):
    tile = loaded(x)
    made = tile_of(x)
    for round_ in range(ROUNDS):
        nisa.activation(dst=made, op=nl.exp if round_ % 2 else nl.gelu, data=tile)
    return stored(made)


@nki.jit
def products(weights, x):
    held, moving = loaded(weights), loaded(x)
    bank = nl.ndarray((weights.shape[1], x.shape[1]), dtype=nl.float32, buffer=nl.psum)
    made = nl.ndarray(bank.shape, dtype=nl.float32, buffer=nl.sbuf)
    for round_ in range(4 * ROUNDS):
        nisa.nc_matmul(dst=bank, stationary=held, moving=moving, accumulate=round_ > 0)
    nisa.tensor_copy(made, bank)
    return stored(made)


@nki.jit
def transposes(x):
    tile = loaded(x)
    bank = nl.ndarray((x.shape[1], x.shape[0]), dtype=x.dtype, buffer=nl.psum)
    made = nl.ndarray(bank.shape, dtype=x.dtype, buffer=nl.sbuf)
    for _ in range(ROUNDS):
        nisa.nc_transpose(bank, tile)
    nisa.tensor_copy(made, bank)
    return stored(made)


@nki.jit
def loads(x, queues):
    parts = []
    for part in range(x.shape[0] // 128):
        tile = nl.ndarray((128, x.shape[1]), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(
            dst=tile,
            src=x[128 * part : 128 * part + 128, 0 : x.shape[1]],
            dge_mode=nisa.dge_mode.hwdge if part % 2 < queues else nisa.dge_mode.swdge,
        )
        parts.append(tile)
    total = parts[0]
    for tile in parts[1:]:
        nisa.tensor_tensor(total, total, tile, op=nl.add)
    return stored(total)


@nki.jit
def stores(x, times):
    tile = loaded(x)
    out = nl.ndarray((times * x.shape[0], x.shape[1]), dtype=x.dtype, buffer=nl.shared_hbm)
    for part in range(times):
        nisa.dma_copy(dst=out[x.shape[0] * part : x.shape[0] * (part + 1), 0 : x.shape[1]], src=tile)
    return out


@nki.jit
def memsets(x):
    tile = loaded(x)
    for _ in range(ROUNDS):
        nisa.memset(tile, value=1.0)
    return stored(tile)


@nki.jit
def turned_by_dma(x):
    made = nl.ndarray((x.shape[1], x.shape[0]), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_transpose(dst=made, src=x)
    return stored(made)


@nki.jit
def both_cores(x):
    core, rows = nl.program_id(0), x.shape[0] // nl.num_programs(0)
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((rows, x.shape[1]), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x[core * rows : (core + 1) * rows, 0 : x.shape[1]])
    for _ in range(ROUNDS):
        nisa.tensor_copy(tile, tile, engine=nisa.engine.vector)
    nisa.dma_copy(dst=out[core * rows : (core + 1) * rows, 0 : x.shape[1]], src=tile)
    return out


@nki.jit
def gathered(x, rows):
    index = loaded(rows)
    tile = nl.ndarray((128, x.shape[1]), dtype=x.dtype, buffer=nl.sbuf)
    table = x.ap([[x.shape[1], 128], [1, x.shape[1]]], vector_offset=index)
    for _ in range(4):
        nisa.dma_copy(dst=tile, src=table)
    return stored(tile)


@nki.jit
def summed_over_ranks(x, ranks):
    source, made, out = (nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm) for _ in range(3))
    nisa.dma_copy(dst=source, src=x)
    ncc.all_reduce([source], [made], ncc.ReplicaGroup([list(range(ranks))]), nl.add)
    nisa.dma_copy(dst=out, src=made)
    return out
