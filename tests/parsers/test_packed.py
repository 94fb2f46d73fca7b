"""The numpy types of packed elements."""

import ml_dtypes
import numpy as np
import pytest

from neff_bench.chips.dtypes import PACKED
from neff_bench.parsers.formats.packed import DTYPES, is_packed, packed, unpacked


@pytest.mark.parametrize("name", DTYPES)
def test_a_packed_type_has_its_name(name):
    dtype = np.zeros(2, name).dtype
    assert str(dtype) == name
    assert np.dtype(str(dtype)) == dtype


def test_other_structures_are_shown_as_numpy_does():
    assert str(np.dtype([("float8_e5m2_x4", "<u2")])) == "[('float8_e5m2_x4', '<u2')]"


@pytest.mark.parametrize("name", DTYPES)
def test_every_code_has_the_value_of_its_type_and_is_packed_again(name):
    """Two rows. Four bits of a float4 are a byte of ml_dtypes, the lowest first."""
    codes = np.arange(256, dtype=np.uint8)
    halves = codes if DTYPES[name].itemsize == 4 else np.stack([codes & 15, codes >> 4], -1).ravel()
    expected = halves.view(getattr(ml_dtypes, PACKED[name])).astype(np.float32).reshape(2, -1)
    array = codes.view(DTYPES[name]).reshape(2, -1)
    values = unpacked(array)
    assert values.dtype == np.float32
    np.testing.assert_array_equal(values, expected)
    numbers = np.where(np.isnan(expected), 0, expected)
    np.testing.assert_array_equal(unpacked(packed(numbers, name)), numbers)
    assert packed(numbers, name).shape == array.shape


def test_what_lies_apart_in_memory_is_packed_too():
    values = np.arange(16, dtype=np.float32).reshape(4, 4)
    for name in DTYPES:
        np.testing.assert_array_equal(packed(values.T, name), packed(values.T.copy(), name))
        array = packed(np.repeat(values, 4, axis=1) % 4, name)
        np.testing.assert_array_equal(unpacked(array[:, ::2]), unpacked(array[:, ::2].copy()))


@pytest.mark.parametrize("shape", [(), (6,), (4, 3)])
def test_only_groups_of_four_are_packed(shape):
    with pytest.raises(ValueError, match="is no multiple of 4 values of float8_e5m2_x4"):
        packed(np.zeros(shape, np.float32), "float8_e5m2_x4")


def test_a_packed_type_is_told_from_others():
    assert all(map(is_packed, DTYPES.values()))
    assert not is_packed(np.dtype("<u4")) and not is_packed(np.dtype([("float8_e5m2_x4", "<u2")]))
