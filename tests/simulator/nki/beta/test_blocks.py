"""Block dimensions, loops that reduce, and places that the kernel chooses."""

import numpy as np
import pytest

from neff_bench.simulator.errors import NkiValidationError, NotModelledError
from neff_bench.simulator.nki.beta import compiler
from neff_bench.simulator.nki.beta import isa as nisa
from neff_bench.simulator.nki.beta import language as nl
from neff_bench.simulator.nki.beta.allocation import Psum, Sbuf
from neff_bench.simulator.nki.beta.jit import jit
from neff_bench.simulator.nki.simulate import simulate
from tests.simulator.nki.beta.kernels import operations, recorded

X = np.random.default_rng(7).standard_normal((64, 128, 1024)).astype(np.float32)


def test_blocks_take_memory_only_while_they_are_used():
    def copied(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        tiles = nl.ndarray((64, nl.par_dim(128), 1024), dtype=x.dtype)  # 256 KiB of each partition, more than there is
        for at in nl.affine_range(64):
            tiles[at] = nl.load(x[at])
            nl.store(out[at], tiles[at])
        return out

    assert operations(recorded(copied, X.shape, target="trn1")) == ["dma_copy"] * 128
    assert np.array_equal(simulate(jit(copied))(X), X)


def test_blocks_of_zeros_are_zero_where_nothing_was_added():
    def added(x):
        out = nl.ndarray((2, 128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
        total = nl.zeros((2, nl.par_dim(128), 64), dtype=x.dtype)
        total[1] += nl.load(x[0, :, 0:64])
        for at in range(2):
            nl.store(out[at], total[at])
        return out

    assert np.array_equal(simulate(jit(added))(X[:1]), np.stack([0 * X[0, :, :64], X[0, :, :64]]))


def test_a_block_that_does_not_exist_is_an_error():
    def beyond(x):
        tiles = nl.ndarray((2, nl.par_dim(128), 64), dtype=x.dtype)
        tiles[2] = nl.load(x[0, :, 0:64])

    with pytest.raises(NkiValidationError, match="index 2 of a block dimension of 2 is outside"):
        simulate(jit(beyond))(X[:1])


def test_blocks_by_many_numbers_are_not_modelled():
    def many(x):
        return nl.ndarray((2, nl.par_dim(128), 64), dtype=x.dtype)[nl.arange(2)[:, None], 0, 0]

    with pytest.raises(NotModelledError, match="a block dimension indexed by more than one number"):
        simulate(jit(many))(X[:1])


def test_a_block_is_chosen_by_an_index_of_one_element():
    def chosen(x):
        out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
        tiles = nl.ndarray((3, nl.par_dim(128), 64), dtype=x.dtype)
        tiles[2] = nl.load(x[0, :, 0:64])
        rows, columns = nl.mgrid[0:128, 0:64]
        nl.store(out, tiles[nl.arange(1)[:, None] + 2, rows, columns])
        return out

    assert np.array_equal(simulate(jit(chosen))(X[:1]), X[0, :, :64])


def test_a_block_is_chosen_by_a_grid_that_is_one_block_high():
    def chosen(x):
        out = nl.ndarray((1, 1, 64), dtype=x.dtype, buffer=nl.shared_hbm)
        tiles = nl.ndarray((3, nl.par_dim(1), 64), dtype=x.dtype)
        tiles[2] = nl.load(x[0, 0:1, 0:64])
        block, rows, columns = nl.mgrid[0:1, 0:1, 0:64]
        nl.store(out, tiles[block + 2, rows, columns])
        return out

    assert np.array_equal(simulate(jit(chosen))(X[:1])[0, 0], X[0, 0, :64])


def test_slices_choose_blocks():
    def chosen(x):
        out = nl.ndarray((4, 128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
        tiles = nl.ndarray((4, nl.par_dim(128), 64), dtype=x.dtype)
        tiles[:] = 0.0
        tiles[1:3] = nl.load(x[0, :, 0:64])
        tiles[2:4, :, 0:8] = 1.0
        for block in range(4):
            nl.store(out[block], tiles[block : block + 1, 0:128][0])
        return out

    expected = np.zeros((4, 128, 64), np.float32)
    expected[1:3] = X[0, :, :64]
    expected[2:4, :, :8] = 1
    assert np.array_equal(simulate(jit(chosen))(X[:1]), expected)


def test_a_slice_of_blocks_that_do_not_exist_is_an_error():
    def beyond(x):
        return nl.ndarray((2, nl.par_dim(128), 64), dtype=x.dtype)[1:4]

    with pytest.raises(NkiValidationError, match="slice 1:4 of a block dimension of 2 is outside"):
        simulate(jit(beyond))(X[:1])


@pytest.mark.parametrize("named", [False, True])
def test_loop_reduce_combines_iterations_of_its_loops_only(named):
    def reduced(x):
        out = nl.ndarray((2, 128, 1), dtype=x.dtype, buffer=nl.shared_hbm)
        top = nl.ndarray((2, nl.par_dim(128), 1), dtype=nl.float32)
        for group in nl.affine_range(2):
            for part in nl.affine_range(3):
                tile = nl.load(x[3 * group + part, :, 0:32])
                most = nisa.tensor_reduce(nl.max, tile, axis=1)
                if named:
                    result = nl.loop_reduce(most, op=np.max, loop_indices=[part], dtype=nl.float32)
                else:
                    top[group] = nl.loop_reduce(most, op=np.max, loop_indices=[part], dtype=nl.float32)
            if named:
                top[group] = result
            nl.store(out[group], top[group])
        return out

    x = X[:6]
    expected = x[:, :, :32].max(-1).reshape(2, 3, 128).max(1)[..., None]
    assert np.array_equal(simulate(jit(reduced))(x), expected)


def test_a_kernel_places_its_blocks():
    place = Sbuf.mod_alloc(base_addr=1024, base_partition=0, num_free_tiles=(2, 3)).place
    assert place((3, 4), 128, 64) == (0, 1024 + (1 * 3 + 1) * 64)
    place = Psum.mod_alloc(base_bank=1, num_bank_tiles=(2,), num_par_tiles=(4,)).place
    assert place((5,), 32, 512) == (32, (1 + 1) * 2048)
    assert Sbuf.mod_alloc(base_addr=8, num_free_tiles=(1,)).place((), 128, 64) == (0, 8)
    assert Psum.alloc(lambda index, partitions, size: (index[0], 0, 8)).place((3,), 128, 4) == (0, 3 * 2048 + 8)

    def placed(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        tiles = nl.ndarray(
            (4, nl.par_dim(128), 64), dtype=x.dtype, buffer=Sbuf.mod_alloc(base_addr=512, num_free_tiles=(2,))
        )
        for at in range(4):
            tiles[at] = nl.load(x[at])
            nl.store(out[at], tiles[at])
        return out

    addresses = [buffer.address for buffer in recorded(placed, (4, 128, 64)).buffers if buffer.address is not None]
    assert addresses == [512, 768, 512, 768]


def test_compiler_decorators_keep_a_kernel_a_kernel():
    kernel = compiler.skip_middle_end_transformations(compiler.enable_stack_allocator(log_level=1)(jit(lambda x: x)))
    assert not kernel.middle_end
    assert not kernel[2].middle_end
    assert jit(lambda x: x).middle_end


def test_indices_outside_a_block_dimension_are_an_error():
    @jit
    def kernel(x):
        tiles = nl.ndarray((2, nl.par_dim(128), 64), dtype=x.dtype)
        tiles[nl.arange(128)[:, None], 0, 0] = nl.load(x)
        return x

    with pytest.raises(NkiValidationError, match="index 0 to 127 of a block dimension of 2 is outside"):
        simulate(kernel)(np.zeros((128, 64), np.float32))
