"""Masks: where they hold, and that nothing outside is read or written."""

from functools import partial

import numpy as np
import pytest

from neff_bench.simulator.errors import NkiValidationError, NotModelledError
from neff_bench.simulator.nki.beta import isa as nisa
from neff_bench.simulator.nki.beta import language as nl
from neff_bench.simulator.nki.beta.index import arange
from neff_bench.simulator.nki.beta.jit import jit
from neff_bench.simulator.nki.beta.mask import boxes
from neff_bench.simulator.nki.simulate import simulate
from tests.simulator.nki.beta.kernels import recorded

RANDOM = np.random.default_rng(6)
X = RANDOM.standard_normal((200, 48)).astype(np.float32)
ROWS, COLUMNS = arange(12)[:, None], arange(10)[None, :]


@pytest.mark.parametrize(
    "mask",
    [
        ROWS < 5,
        ROWS >= 7,
        (ROWS > 2) & (COLUMNS <= 6),
        2 * ROWS + 1 > 8,
        -3 * COLUMNS + 20 >= 0,
        ROWS >= COLUMNS,
        ROWS + COLUMNS < 9,
        10 * ROWS + COLUMNS < 57,
        (ROWS >= COLUMNS) & (ROWS < 6),
        COLUMNS == 3,
        (ROWS < 4) & True,
        ROWS > 50,
        False,
    ],
)
def test_boxes_are_where_the_mask_holds(mask):
    wanted = np.zeros((12, 10), dtype=int)
    if mask is not False:
        for row in range(12):
            for column in range(10):
                wanted[row, column] = all(
                    index.start + sum(step * at for step, at in zip(index.steps, (row, column))) >= 0
                    for index in mask.conditions
                )
    found = np.zeros_like(wanted)
    for (top, bottom), (left, right) in boxes(mask, (12, 10)):
        found[top:bottom, left:right] += 1
    assert np.array_equal(found, wanted)


@pytest.mark.parametrize(
    ("mask", "wanted"),
    [
        ((ROWS < 5) | (COLUMNS < 0), lambda row, column: row < 5),
        ((ROWS < 5) | (COLUMNS >= 0), lambda row, column: row >= 0),
        ((ROWS < 5) | (COLUMNS < 3), lambda row, column: (row < 5) | (column < 3)),
        (
            (ROWS < 4) | (COLUMNS == 2) | (ROWS > COLUMNS),
            lambda row, column: (row < 4) | (column == 2) | (row > column),
        ),
        (((ROWS < 5) | (COLUMNS < 3)) & (ROWS > 1), lambda row, column: ((row < 5) | (column < 3)) & (row > 1)),
        ((ROWS > 1) & ((ROWS < 5) | (COLUMNS < 3)), lambda row, column: ((row < 5) | (column < 3)) & (row > 1)),
        (~((ROWS < 5) & (COLUMNS < 3)), lambda row, column: (row >= 5) | (column >= 3)),
    ],
)
def test_boxes_of_either_of_several_masks_do_not_overlap(mask, wanted):
    found = np.zeros((12, 10), dtype=int)
    for (top, bottom), (left, right) in boxes(mask, (12, 10)):
        found[top:bottom, left:right] += 1
    row, column = np.mgrid[0:12, 0:10]
    assert np.array_equal(found, wanted(row, column).astype(int))


def test_a_mask_gets_new_axes_as_its_indices_do():
    assert boxes((arange(12) < 5)[:, None] & (arange(10) > 3)[None, :], (12, 10)) == [((0, 5), (4, 10))]


def test_a_loop_through_a_mask_is_an_error():
    with pytest.raises(NkiValidationError, match="a loop cannot go through it"):
        list(ROWS < 5)


def test_a_mask_of_another_shape_is_an_error():
    with pytest.raises(NkiValidationError, match=r"a mask of shape \[12, 1\] does not go with a tile of \[8, 10\]"):
        boxes(ROWS < 5, (8, 10))


def tiles_of_rows(x):
    """Doubles x, 128 rows at a time, the last tile under a mask."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for tile in nl.affine_range(2):
        rows, columns = nl.mgrid[0:128, 0:48]
        rows = rows + 128 * tile
        inside = rows < x.shape[0]
        values = nl.load(x[rows, columns], mask=inside)
        nl.store(out[rows, columns], value=nl.add(values, values, mask=inside), mask=inside)
    return out


def test_rows_outside_are_neither_read_nor_written():
    assert np.array_equal(simulate(jit(tiles_of_rows))(X), 2 * X)
    moved = [step for step in recorded(tiles_of_rows, (200, 48)).cores[0] if step.op == "dma_copy"]
    assert [next(iter(step.reads.values())).pattern[0][1] for step in moved] == [128, 128, 72, 72]


def test_an_index_outside_without_a_mask_is_an_error():
    def beyond(x):
        return nl.load(x[nl.arange(128)[:, None] + 100, nl.arange(48)[None, :]])

    with pytest.raises(NkiValidationError, match=r"test_mask\.py:\d+: index 100 to 227 of dimension 0 is outside"):
        simulate(jit(beyond))(X)


def test_a_masked_assignment_leaves_the_rest_as_it_was():
    def half(x):
        out = nl.ndarray((128, 48), dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.zeros((128, 48), dtype=x.dtype)
        rows, columns = nl.mgrid[0:128, 0:48]
        tile[rows, columns] = nl.load(x[rows, columns], mask=(rows < 100) & (columns >= 8))
        nl.store(out, tile)
        return out

    expected = np.zeros((128, 48), np.float32)
    expected[:100, 8:] = X[:100, 8:]
    assert np.array_equal(simulate(jit(half))(X), expected)


def test_a_triangle_is_copied_row_by_row():
    def lower(x):
        out = nl.ndarray((16, 16), dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.zeros((16, 16), dtype=x.dtype)
        rows, columns = nl.mgrid[0:16, 0:16]
        tile[rows, columns] = nl.copy(nl.load(x[rows, columns]), mask=rows >= columns)
        nl.store(out, tile)
        return out

    assert np.array_equal(simulate(jit(lower))(X), np.tril(X[:16, :16]))


def test_a_mask_on_the_columns_of_a_product():
    def product(x):
        out = nl.ndarray((48, 40), dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.load(x[0:128, :])
        total = nl.zeros((48, 64), nl.float32, buffer=nl.psum)
        wide = nl.ndarray((128, 64), dtype=x.dtype)
        wide[:, 0:48] = nl.copy(tile)
        total += nisa.nc_matmul(tile, wide, mask=nl.arange(64)[None, :] < 40)
        nl.store(out, nl.copy(total[:, 0:40]))
        return out

    expected = X[:128].T @ X[:128, :40]
    np.testing.assert_allclose(simulate(jit(product))(X), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("happens", [True, False])
def test_a_product_that_a_mask_forbids_adds_nothing(happens):
    def product(x):
        out = nl.ndarray((48, 48), dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.load(x[0:128, :])
        total = nl.zeros((48, 48), nl.float32, buffer=nl.psum)
        total += nl.matmul(tile, tile, transpose_x=True)
        total += nl.matmul(tile, tile, transpose_x=True, mask=happens)
        nl.store(out, nl.copy(total))
        return out

    expected = (1 + happens) * (X[:128].T @ X[:128])
    np.testing.assert_allclose(simulate(jit(product))(X), expected, rtol=1e-4, atol=1e-4)


def test_a_mask_is_an_index_where_it_holds_everywhere():
    def kernel(x, rows):
        out = nl.ndarray((128, 48), dtype=x.dtype, buffer=nl.shared_hbm)
        places = nl.arange(128)[:, None]
        nl.store(out, nl.copy(nl.load(x[0:128, :])[places < rows][True]))
        return out

    assert np.array_equal(simulate(jit(kernel))(X, 128), X[:128])
    with pytest.raises(NotModelledError, match="leaves out"):
        simulate(jit(kernel))(X, 100)


def test_affine_select_takes_a_comparison():
    def causal(x):
        out = nl.ndarray((32, 32), dtype=x.dtype, buffer=nl.shared_hbm)
        rows, columns = nl.mgrid[0:32, 0:32]
        nl.store(
            out, nisa.affine_select(pred=(rows >= columns), on_true_tile=nl.load(x[0:32, 0:32]), on_false_value=-1.0)
        )
        return out

    assert np.array_equal(simulate(jit(causal))(X), np.where(np.tri(32) > 0, X[:32, :32], np.float32(-1)))


@pytest.mark.parametrize("first", [True, False], ids=["tile and tile", "number and tile"])
def test_where_a_comparison_holds_one_tile_else_the_other(first):
    def chosen(x):
        out = nl.ndarray((32, 32), dtype=x.dtype, buffer=nl.shared_hbm)
        rows, columns = nl.mgrid[0:32, 0:32]
        values = nl.load(x[0:32, 0:32])
        nl.store(out, nl.where(rows >= columns, values if first else 2.0, nl.negative(values)))
        return out

    part = X[:32, :32]
    assert np.array_equal(simulate(jit(chosen))(X), np.where(np.tri(32) > 0, part if first else np.float32(2), -part))


def test_normalisation_under_a_mask_of_rows():
    def normal(x, weights):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        rows, columns = nl.mgrid[0:128, 0:48]
        scale = nl.load(weights.reshape((1, 48)))
        for start in (0, 128):
            inside = start + rows < x.shape[0]
            tile = nl.load(x[start + rows, columns], mask=inside)
            result = nl.rms_norm(tile, scale, 1, 48, 1e-6, mask=inside)
            nl.store(out[start + rows, columns], value=result, mask=inside)
        return out

    expected = X / np.sqrt((X * X).mean(1, keepdims=True) + 1e-6) * X[0]
    np.testing.assert_allclose(simulate(jit(normal))(X, X[0].copy()), expected, rtol=1e-5)


def test_a_reduction_along_the_edge_of_a_mask_is_not_modelled():
    def triangle(reduction, x):
        rows, columns = nl.mgrid[0:16, 0:16]
        return reduction(nl.load(x[rows, columns]), axis=1, mask=rows >= 2 * columns)

    for reduction in (nl.sum, nl.softmax):
        with pytest.raises(NotModelledError, match="a reduction under a mask that is no box"):
            simulate(jit(partial(triangle, reduction)))(X)


@pytest.mark.parametrize(
    ("slant", "instruction"),
    [
        (2, lambda tile, mask: nisa.bn_stats(tile, mask=mask)),
        (2, lambda tile, mask: nisa.max8(src=tile, mask=mask)),
        (2, lambda tile, mask: nisa.tensor_tensor_scan(tile, tile, 0.0, np.multiply, np.add, mask=mask)),
        (2, lambda tile, mask: nisa.activation_reduce(
            np.exp, tile, reduce_op=np.add, reduce_res=nl.zeros((16, 1), "float32"), mask=mask
        )),
        (1 / 2, lambda tile, mask: nisa.tensor_partition_reduce(np.add, tile, mask=mask)),
    ],
)  # fmt: skip
def test_instructions_that_take_a_row_or_a_column_as_one_need_a_box(slant, instruction):
    def under(mask, x):
        out = nl.ndarray((16, 16), dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.load(x[0:16, 0:16])
        instruction(tile, mask)
        nl.store(out, tile)
        return out

    rows, columns = nl.mgrid[0:16, 0:16]
    simulate(jit(partial(under, columns < 12)))(X)
    with pytest.raises(NotModelledError, match="a reduction under a mask that is no box"):
        simulate(jit(partial(under, rows >= 2 * columns if slant == 2 else 2 * rows >= columns)))(X)


def test_affine_select_reads_a_product_in_psum():
    def causal(x):
        out = nl.ndarray((48, 48), dtype=x.dtype, buffer=nl.shared_hbm)
        rows, columns = nl.mgrid[0:48, 0:48]
        tile = nl.load(x[0:128, :])
        product = nisa.nc_matmul(tile, tile)
        nl.store(out, nisa.affine_select(rows >= columns, product, -1.0, mask=x.shape[0] > 0))
        return out

    expected = np.where(np.tril(np.ones((48, 48))) > 0, X[:128].T @ X[:128], -1.0)
    np.testing.assert_allclose(simulate(jit(causal))(X), expected, rtol=1e-4, atol=1e-4)


def test_a_mask_of_a_transposing_load_is_that_of_its_source():
    @jit
    def turned(x):
        out = nl.ndarray((64, 128), dtype=x.dtype, buffer=nl.shared_hbm)
        row, column = nl.arange(128)[:, None], nl.arange(64)[None, :]
        tile = nl.zeros((64, 128), dtype=x.dtype)
        inside = (row < x.shape[0]) & (column < x.shape[1])
        tile[nl.arange(64)[:, None], nl.arange(128)[None, :]] = nl.load_transpose2d(x[row, column], mask=inside)
        nl.store(out, tile)
        return out

    x = X[:100, :40]
    expected = np.zeros((64, 128), np.float32)
    expected[:40, :100] = x.T
    assert np.array_equal(simulate(turned)(x), expected)
