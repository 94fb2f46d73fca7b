import numpy as np
import pytest

from neff_bench.simulator.hlo.matrix import contiguous

DATA = np.arange(2 * 3 * 4 * 5)


def read(matrix, row, height, col, width):
    out = np.full((height, width), -1)
    for r, h, c, w, offset in matrix.pieces(row, height, col, width):
        index = offset + np.arange(h)[:, None] * matrix.row_stride + np.arange(w)[None, :] * matrix.col_stride
        out[r : r + h, c : c + w] = DATA[index]
    return out


VIEW = contiguous("x", "float32", (2, 3, 4, 5))
ARRAY = DATA.reshape(2, 3, 4, 5)


@pytest.mark.parametrize(
    ("view", "array", "rows"),
    [
        (VIEW, ARRAY, 6),
        (VIEW.permute((1, 0, 3, 2)), ARRAY.transpose(1, 0, 3, 2), 6),
        (VIEW.permute((3, 2, 1, 0)), ARRAY.transpose(3, 2, 1, 0), 20),
        (VIEW.slice(((0, 2, 1), (1, 3, 1), (0, 4, 2), (1, 5, 3))), ARRAY[:, 1:3, ::2, 1:5:3], 4),
        (VIEW.broadcast((2, 3, 7, 4, 5), (0, 1, 3, 4)), np.repeat(ARRAY[:, :, None], 7, axis=2), 42),
    ],
)
def test_a_matrix_reads_what_numpy_reads(view, array, rows):
    expected = array.reshape(rows, -1)
    matrix = view.matrix(*expected.shape)
    assert (read(matrix, 0, rows, 0, expected.shape[1]) == expected).all()
    assert (read(matrix, 1, rows - 2, 1, expected.shape[1] - 1) == expected[1 : rows - 1, 1:]).all()


def test_a_view_takes_any_shape_while_it_is_contiguous_and_only_units_afterwards():
    assert VIEW.reshape((120,)).shape == (120,)
    turned = VIEW.permute((1, 0, 2, 3))
    assert turned.reshape((3, 1, 2, 4, 5)).strides[:3] == (20, 0, 60)
    assert turned.reshape((6, 20)) is None


def test_rows_that_cut_a_dimension_in_two_have_no_matrix():
    assert VIEW.permute((3, 2, 1, 0)).matrix(10, 12) is None
