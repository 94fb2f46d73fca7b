"""Copies that are left out: their readers read what was copied."""

import numpy as np

from neff_bench.simulator.compiler.passes.copies import without_needless_copies
from neff_bench.simulator.nki.beta import isa as nisa
from neff_bench.simulator.nki.beta import language as nl
from neff_bench.simulator.nki.beta.jit import jit
from neff_bench.simulator.nki.simulate import simulate
from tests.simulator.nki.beta.kernels import recorded

X = np.random.default_rng(3).standard_normal((128, 128)).astype(np.float32)


def copies(kernel, *shapes, **options):
    program = recorded(kernel, *shapes, **options)
    return sum(step.op == "tensor_copy" for step in program.cores[0])


def skipped(kernel):
    kernel = jit(kernel)
    kernel.middle_end = False
    return kernel


def test_a_product_that_vector_alone_reads_is_read_in_psum():
    def summed(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.load(x)
        nl.store(out, nisa.tensor_tensor(nisa.tensor_copy(nisa.nc_transpose(tile)), tile, op=nl.add))
        return out

    assert copies(summed, X.shape) == 0
    assert np.array_equal(simulate(skipped(summed))(X), X.T + X)


def test_a_product_that_an_instruction_reads_twice_is_copied():
    def squared(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        turned = nisa.tensor_copy(nisa.nc_transpose(nl.load(x)))
        nl.store(out, nisa.tensor_tensor(turned, turned, op=nl.multiply))
        return out

    assert copies(squared, X.shape) == 1
    assert np.array_equal(simulate(skipped(squared))(X), X.T * X.T)


def test_a_product_that_a_dma_stores_is_copied():
    def turned(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, nisa.tensor_copy(nisa.nc_transpose(nl.load(x))))
        return out

    assert copies(turned, X.shape) == 1


def test_a_tile_that_copies_neighbouring_columns_is_left_out_and_one_with_gaps_is_not():
    def half(step):
        def kernel(x):
            out = nl.ndarray((128, 32), dtype=x.dtype, buffer=nl.shared_hbm)
            tile = nl.load(x)
            part = nisa.tensor_copy(tile[:, 32 : 32 + 32 * step : step])
            nl.store(out, nl.add(part, 1.0))
            return out

        return kernel

    assert (copies(half(1), X.shape), copies(half(2), X.shape)) == (0, 1)
    assert np.array_equal(simulate(skipped(half(1)))(X), X[:, 32:64] + 1)
    assert np.array_equal(simulate(skipped(half(2)))(X), X[:, 32:96:2] + 1)


def test_a_copy_outlives_what_it_was_copied_from():
    def changed(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.load(x)
        before = nisa.tensor_copy(tile)
        tile[:, 0:64] = nl.add(tile[:, 64:128], 1.0)
        nl.store(out, nl.add(before, tile))
        return out

    assert copies(changed, X.shape) == 1
    after = np.concatenate([X[:, 64:] + 1, X[:, 64:]], axis=1)
    assert np.array_equal(simulate(skipped(changed))(X), X + after)


def test_a_copy_that_names_its_engine_stays():
    def kept(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        copied = nisa.tensor_copy(nl.load(x), engine=nisa.vector_engine)
        nl.store(out, nl.add(copied, 1.0))
        return out

    assert copies(kept, X.shape) == 1


def test_of_a_chain_of_copies_the_first_source_is_read():
    def chained(x):
        out = nl.ndarray((128, 32), dtype=x.dtype, buffer=nl.shared_hbm)
        first = nisa.tensor_copy(nl.load(x)[:, 32:96])
        nl.store(out, nl.add(nisa.tensor_copy(first[:, 16:48]), 1.0))
        return out

    assert copies(chained, X.shape) == 0
    assert np.array_equal(simulate(skipped(chained))(X), X[:, 48:80] + 1)


def test_of_two_copies_of_a_product_one_is_left():
    def doubled(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        turned = nisa.tensor_copy(nisa.nc_transpose(nl.load(x)))
        spread = nl.ndarray((128, 128, 2), dtype=x.dtype, buffer=nl.sbuf)
        for place in range(2):
            spread[:, :, place] = nisa.tensor_copy(turned if place else nisa.tensor_copy(nisa.nc_transpose(nl.load(x))))
        nl.store(out, nl.add(spread[:, :, 0], spread[:, :, 1]))
        return out

    assert copies(doubled, X.shape) == 2
    assert np.array_equal(simulate(skipped(doubled))(X), X.T + X.T)


def test_a_product_that_two_copies_read_is_copied_first():
    def spread_out(x):
        out = nl.ndarray((128, 256), dtype=x.dtype, buffer=nl.shared_hbm)
        turned = nisa.tensor_copy(nisa.nc_transpose(nl.load(x)))
        pair = nl.ndarray((128, 256), dtype=x.dtype, buffer=nl.sbuf)
        pair[:, 0:128] = nisa.tensor_copy(turned)
        pair[:, 128:256] = nisa.tensor_copy(turned)
        nl.store(out, nl.add(pair, 1.0))
        return out

    assert copies(spread_out, X.shape) == 3
    assert np.array_equal(simulate(skipped(spread_out))(X), np.hstack([X.T, X.T]) + 1)


def test_nothing_to_leave_out_is_nothing_changed():
    def stored(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.load(x))
        return out

    program = recorded(stored, X.shape)
    assert without_needless_copies(program.buffers, program.cores[0]) == list(program.cores[0])
