"""Index expressions beside numpy's numbers."""

import numpy as np
import pytest

from neff_bench.simulator.errors import NkiValidationError, NotModelledError
from neff_bench.simulator.nki.beta.index import Index, arange


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
