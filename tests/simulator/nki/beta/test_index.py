"""Index expressions beside numpy's numbers."""

import numpy as np
import pytest

from neff_bench.simulator.errors import NkiValidationError, NotModelledError
from neff_bench.simulator.nki.beta import language as nl
from neff_bench.simulator.nki.beta.index import Index, arange
from neff_bench.simulator.nki.beta.jit import jit
from neff_bench.simulator.nki.simulate import simulate


def numbers(index):
    axes = np.indices(index.shape)
    return index.start + sum(step * axis for step, axis in zip(index.steps, axes))


@pytest.mark.parametrize(
    ("index", "divisor"),
    [
        (arange(64)[None, :], 64),
        (arange(5, 9), 10),
        (arange(16)[:, None] * 6 + 4, 3),
        (arange(4)[:, None] * 8 + arange(8)[None, :], 8),
        (arange(4)[:, None] * -8 + arange(4)[None, :] * 2 + 25, 8),
        (7 - arange(8), 8),
        (arange(3) - 3, 3),
        (arange(3) * 4, 1),
    ],
)
def test_quotient_and_rest_are_numpys_where_they_are_affine(index, divisor):
    quotient, rest = divmod(index, divisor)
    assert np.array_equal(numbers(quotient), numbers(index) // divisor)
    assert np.array_equal(numbers(rest), numbers(index) % divisor)
    assert np.array_equal(numbers(index // divisor), numbers(quotient))
    assert np.array_equal(numbers(index % divisor), numbers(rest))


@pytest.mark.parametrize(("index", "divisor"), [(arange(9), 8), (arange(8) - 1, 8), (arange(4) * 3, 6), (arange(2), 0)])
def test_what_is_not_affine_is_not_modelled(index, divisor):
    with pytest.raises(NotModelledError, match="not affine"):
        index // divisor
    with pytest.raises(NotModelledError, match="not affine"):
        index % divisor
    with pytest.raises(NotModelledError, match="not affine"):
        64 // index


def test_an_index_is_divided_by_whole_numbers():
    with pytest.raises(NkiValidationError, match="whole number"):
        Index((4,), (1,), 0) // 2.5


def test_indices_of_a_grid_all_have_its_shape():
    rows, columns = nl.mgrid[2:8:2, 0:5]
    assert rows.shape == columns.shape == (3, 5)
    assert (rows.bounds(), columns.bounds()) == ((2, 6), (0, 4))


def test_an_index_is_broadcast_as_an_array_is():
    row = nl.broadcast_to(nl.arange(4)[None, :], shape=(3, 4))
    assert row.shape == (3, 4) and row.bounds() == (0, 3)
    with pytest.raises(NkiValidationError, match="do not go together"):
        nl.broadcast_to(nl.arange(4)[None, :], shape=(3, 5))
    with pytest.raises(NkiValidationError, match=r"an index of \[4\] does not become one of \[1\]"):
        nl.broadcast_to(nl.arange(4), shape=(1,))


def test_a_row_of_indices_is_not_added_to_a_tile_but_a_grid_may_be():
    def added(index):
        @jit
        def kernel(x):
            out = nl.ndarray((4, 8), dtype=x.dtype, buffer=nl.shared_hbm)
            nl.store(out, value=nl.load(x) + index())
            return out

        return lambda: simulate(kernel)(np.ones((4, 8), np.float32))

    with pytest.raises(NkiValidationError, match="an index of one row does not go with"):
        added(lambda: nl.arange(8)[None, :])()
    with pytest.raises(NotModelledError, match="moved at run time"):  # not modelled: AWS's compiler takes it
        added(lambda: nl.mgrid[0:4, 0:8][1])()
