"""The numpy types of packed elements."""

import numpy as np
import pytest

from neff_bench.parsers.formats.packed import DTYPES


@pytest.mark.parametrize("name", DTYPES)
def test_a_packed_type_has_its_name(name):
    dtype = np.zeros(2, name).dtype
    assert str(dtype) == name
    assert np.dtype(str(dtype)) == dtype


def test_other_structures_are_shown_as_numpy_does():
    assert str(np.dtype([("float8_e5m2_x4", "<u2")])) == "[('float8_e5m2_x4', '<u2')]"
