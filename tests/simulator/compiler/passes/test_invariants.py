"""Work that a loop repeats with the same result, in kernels of the old dialect."""

import numpy as np

from neff_bench.simulator.nki.beta import isa as nisa
from neff_bench.simulator.nki.beta import language as nl
from neff_bench.simulator.nki.beta.jit import jit
from neff_bench.simulator.nki.simulate import simulate
from tests.simulator.nki.beta.kernels import operations, recorded

RANDOM = np.random.default_rng(4)
X = RANDOM.standard_normal((512, 64)).astype(np.float32)
G = RANDOM.standard_normal((1, 64)).astype(np.float32)


def columns(kernel, *shapes, op):
    """Of all results of an operation, however many of them one instruction makes."""
    program = recorded(kernel, *shapes, middle_end=True)
    return sum(step.writes["dst"].columns for step in program.cores[0] if step.op == op)


def test_a_row_that_each_round_repeats_over_the_partitions_is_repeated_once():
    def scaled(x, g):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        row = nl.load(g)
        for tile in nl.affine_range(4):
            rows = nl.ds(128 * tile, 128)
            factors = row.broadcast_to((128, 64))
            nl.store(out[rows, :], nisa.tensor_tensor(nl.load(x[rows, :]), factors, op=np.multiply))
        return out

    assert columns(scaled, X.shape, G.shape, op="nc_matmul") == 64
    assert operations(recorded(scaled, X.shape, G.shape)).count("nc_matmul") == 4
    assert np.array_equal(simulate(jit(scaled))(X, G), X * G)


def sums(inner_first):
    """(x + y) * each of four rows of g, in two tiles of x and y."""

    def kernel(x, y, g):
        out = nl.ndarray((2, 4, 128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
        tiles = [(nl.load(x[nl.ds(128 * at, 128), :]), nl.load(y[nl.ds(128 * at, 128), :])) for at in range(2)]
        pairs = [(tile, row) for tile in range(2) for row in range(4)]
        for tile, row in pairs if inner_first else sorted(pairs, key=lambda pair: pair[1]):
            both = nisa.tensor_tensor(*tiles[tile], op=np.add)
            nl.store(out[tile, row], nisa.tensor_scalar(both, np.multiply, nl.load(g[nl.ds(128 * row, 128), 0:1])))
        return out

    return kernel


def test_what_the_inner_loop_does_not_change_is_done_once_for_it_and_what_it_changes_in_each_round():
    shapes = (256, 64), (256, 64), (512, 64)
    assert columns(sums(True), *shapes, op="tensor_tensor") == 2 * 64
    assert columns(sums(False), *shapes, op="tensor_tensor") == 8 * 64
    y = X[256:] + 1
    expected = (X[:256] + y).reshape(2, 1, 128, 64) * X.reshape(1, 4, 128, 64)[..., :1]
    for kernel in (sums(True), sums(False)):
        assert np.array_equal(simulate(jit(kernel))(X[:256], y, X), expected)


def test_what_changed_since_is_done_again():
    def grown(x):
        out = nl.ndarray((4, 128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.load(x)
        for step in nl.sequential_range(4):
            double = nisa.tensor_scalar(tile, np.multiply, 2.0)
            nl.store(out[step], double)
            tile += 1.0
        return out

    assert columns(grown, (128, 64), op="tensor_scalar") == 8 * 64
    found = simulate(jit(grown))(X[:128])
    np.testing.assert_allclose(found, np.stack([2 * (X[:128] + step) for step in range(4)]), rtol=1e-6, atol=1e-6)


def test_a_tile_that_is_changed_afterwards_is_made_again():
    def changed(x):
        out = nl.ndarray((4, 128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.load(x)
        for step in nl.sequential_range(4):
            double = nisa.tensor_scalar(tile, np.multiply, 2.0)
            double += float(step)
            nl.store(out[step], double)
        return out

    assert np.array_equal(simulate(jit(changed))(X[:128]), np.stack([2 * X[:128] + step for step in range(4)]))
    assert columns(changed, (128, 64), op="tensor_scalar") == 8 * 64


def test_a_tile_that_is_loaded_in_part_is_not_known_by_the_rest():
    """Half of each round's tile is loaded, the other half is the same in all rounds."""

    def halves(x):
        out = nl.ndarray((4, 128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
        for step in nl.affine_range(4):
            tile = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
            tile[:, 0:32] = nl.load(x[nl.ds(128 * step, 128), 0:32])
            tile[:, 32:64] = nl.zeros((128, 32), dtype=x.dtype)
            nl.store(out[step], tile)
        return out

    expected = X.reshape(4, 128, 64) * (np.arange(64) < 32)
    assert np.array_equal(simulate(jit(halves))(X), expected)


def test_nothing_is_done_once_where_other_tiles_would_be_loaded_more_often():
    """Two tiles of 32 KiB of each partition are used before and behind the loop; with 52 KiB of ones and 64 of sums they are more than 176."""

    def kernel(x):
        outs = [nl.ndarray((128, 8192), dtype=x.dtype, buffer=nl.shared_hbm) for _ in range(4)]
        ones = [nl.ndarray((128, 13312), dtype=x.dtype, buffer=nl.shared_hbm) for _ in range(4)]
        sums = [nl.ndarray((128, 16384), dtype=x.dtype, buffer=nl.shared_hbm) for _ in range(4)]
        tiles = [nl.load(x[:, nl.ds(8192 * part, 8192)]) for part in range(2)]
        for part in range(2):
            nl.store(outs[part], nl.add(tiles[part], 2.0))
        for step in range(4):
            nl.store(ones[step], nl.add(nisa.memset((128, 13312), 1.0, x.dtype), float(step)))
            total = nisa.memset((128, 16384), float(step), x.dtype)
            total += 1.0
            nl.store(sums[step], total)
        for part in range(2):
            nl.store(outs[2 + part], nl.add(tiles[part], 3.0))
        return (*outs, *ones, *sums)

    program = recorded(kernel, (128, 2 * 8192), target="trn1", middle_end=True)
    assert sum(step.op == "dma_copy" and step.reads["src"].buffer in program.inputs for step in program.cores[0]) == 2
