"""Rows at indices that a tile holds, and tiles at run-time offsets."""

import numpy as np
import pytest

from neff_bench.simulator.errors import ExecutionError, NkiValidationError
from neff_bench.simulator.nki.beta import isa as nisa
from neff_bench.simulator.nki.beta import language as nl
from neff_bench.simulator.nki.beta.jit import jit
from neff_bench.simulator.nki.simulate import simulate

X = np.random.default_rng(1).standard_normal((16, 8)).astype(np.float32)
ROWS = np.array([[3], [0], [9], [15]], np.int32)


def out_like(x, rows):
    return nl.ndarray((rows, x.shape[1]), dtype=x.dtype, buffer=nl.shared_hbm)


def by_tile(x, rows):
    out, index = out_like(x, 4), nl.load(rows)
    nl.store(out, nl.load(x[index, nl.arange(8)[None, :]]))
    return out


def by_affine_tile(x, rows):
    out, index = out_like(x, 4), nl.load(rows)
    nl.store(out, nl.load(x[index[nl.arange(4)[:, None], 0], nl.arange(8)[None, :]]))
    return out


def by_slice(x, rows):
    out, index = out_like(x, 4), nl.load(rows)
    nl.store(out, nl.load(x[index, 0:8]))
    return out


@pytest.mark.parametrize("kernel", [by_tile, by_affine_tile, by_slice])
def test_a_tile_of_indices_gathers_rows(kernel):
    np.testing.assert_array_equal(simulate(jit(kernel))(X, ROWS), X[ROWS[:, 0]])


def test_a_mask_drops_rows_whose_index_is_outside():
    def kernel(x, rows):
        out, index = out_like(x, 4), nl.load(rows)
        nl.store(out, 0.0)
        i, j = nl.mgrid[0:4, 0:8]
        nl.store(out[i, j], nl.load(x[index, j], mask=i < 3), mask=i < 3)
        return out

    rows = np.array([[3], [0], [9], [99]], np.int32)
    np.testing.assert_array_equal(simulate(jit(kernel))(X, rows), np.vstack([X[[3, 0, 9]], np.zeros((1, 8))]))
    with pytest.raises(ExecutionError, match=r"test_transfers\.py:\d+: dma_copy: src index reaches element"):
        simulate(jit(by_tile))(X, rows)


@pytest.mark.parametrize("add", [True, False])
def test_rows_are_scattered_or_added(add):
    def kernel(x, rows):
        out, index = out_like(x, 16), nl.load(rows)
        nl.store(out, nl.load(x))
        place, values = out[index, nl.arange(8)[None, :]], nl.load(x[0:4])
        if add:
            nl.atomic_rmw(place, values, np.add)
        else:
            nl.store(place, values)
        return out

    expected = X.copy()
    expected[ROWS[:, 0]] = X[:4] + (X[ROWS[:, 0]] if add else 0)
    np.testing.assert_array_equal(simulate(jit(kernel))(X, ROWS), expected)


def test_only_sums_are_made_on_the_way():
    def kernel(x, rows):
        nl.atomic_rmw(x[nl.load(rows), nl.arange(8)[None, :]], nl.load(x[0:4]), np.multiply)

    with pytest.raises(NkiValidationError, match=r"test_transfers\.py:\d+: .*must be add, not multiply"):
        simulate(jit(kernel))(X, ROWS)


def test_a_tile_is_copied_from_a_run_time_offset():
    def kernel(x, rows):
        out = nl.ndarray((16, 4), dtype=x.dtype, buffer=nl.shared_hbm)
        tile, offset = nl.load(x), nl.load(rows[0:1, 0:1])
        made = nl.ndarray((16, 4), dtype=x.dtype)
        made[...] = nisa.tensor_copy_dynamic_src(tile[nl.arange(16)[:, None], offset + nl.arange(4)[None, :]])
        nl.store(out, made)
        return out

    np.testing.assert_array_equal(simulate(jit(kernel))(X, ROWS), X[:, 3:7])
