"""Tiles that are overwritten in a loop: each round has its own."""

import numpy as np

from neff_bench.simulator.nki.beta import isa as nisa
from neff_bench.simulator.nki.beta import language as nl
from neff_bench.simulator.nki.beta.jit import jit
from neff_bench.simulator.nki.simulate import simulate
from tests.simulator.nki.beta.kernels import recorded

X = np.random.default_rng(4).standard_normal((512, 64)).astype(np.float32)


def skipped(kernel):
    kernel = jit(kernel)
    kernel.middle_end = False
    return kernel


def loaded_tiles(kernel, *shapes):
    """The tiles that are loaded, by the number of their buffer."""
    program = recorded(kernel, *shapes)
    loads = [step for step in program.cores[0] if step.op == "dma_copy" and step.reads["src"].buffer in program.inputs]
    return [load.writes["dst"].buffer for load in loads]


def in_parts(parts):
    """x + 1, through one tile that is declared before the loop, and loaded in so many parts in each round."""

    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
        for number in nl.sequential_range(4):
            rows = nl.ds(128 * number, 128)
            for part in range(parts):
                columns = nl.ds(64 // parts * part, 64 // parts)
                nisa.dma_copy(dst=tile[:, columns], src=x[rows, columns])
            nl.store(out[rows, :], nl.add(tile, 1.0))
        return out

    return kernel


def test_a_tile_that_is_loaded_anew_in_each_round_is_four_tiles():
    assert len(set(loaded_tiles(in_parts(1), X.shape))) == 4
    assert np.array_equal(simulate(skipped(in_parts(1)))(X), X + 1)


def test_parts_that_fill_a_tile_before_it_is_read_make_a_new_one():
    tiles = loaded_tiles(in_parts(2), X.shape)
    assert len(set(tiles)) == 4 and tiles[0] == tiles[1]
    assert np.array_equal(simulate(skipped(in_parts(2)))(X), X + 1)


def test_a_tile_of_which_a_part_stays_is_one_tile():
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.zeros((128, 64), dtype=x.dtype, buffer=nl.sbuf)
        for number in nl.sequential_range(4):
            rows = nl.ds(128 * number, 128)
            nisa.dma_copy(dst=tile[:, 0:32], src=x[rows, 0:32])
            nl.store(out[rows, :], nl.add(tile, 1.0))
        return out

    assert len(set(loaded_tiles(kernel, X.shape))) == 1
    assert np.array_equal(simulate(skipped(kernel))(X), np.where(np.arange(64) < 32, X, 0) + 1)


def test_a_tile_that_is_added_to_is_one_tile():
    def kernel(x):
        out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
        total = nl.zeros((128, 64), dtype=x.dtype, buffer=nl.sbuf)
        for number in nl.sequential_range(4):
            total[...] = nl.add(total, nl.load(x[nl.ds(128 * number, 128), :]))
        nl.store(out, total)
        return out

    program = recorded(kernel, X.shape)
    totals = {step.writes["dst"].buffer for step in program.cores[0] if step.op == "tensor_tensor"}
    assert len(totals) == 1
    assert np.allclose(simulate(skipped(kernel))(X), X.reshape(4, 128, 64).sum(0), atol=1e-5)
