import ml_dtypes
import numpy as np
import pytest

from neff_bench.simulator.errors import SimulatorError
from neff_bench.simulator.numpy_dtypes import (
    DTYPES,
    FLOATS,
    canonical,
    convert,
    copy_to_float32,
    dtype_name,
    from_float32,
    numpy_dtype,
    size_bytes,
    to_float32,
)

ALL_BFLOAT16 = np.arange(65536, dtype=np.uint16).view(ml_dtypes.bfloat16)


def test_names_and_numpy_types_are_inverse():
    for name in set(DTYPES) - {"tfloat32"}:
        assert dtype_name(numpy_dtype(name)) == name
    assert [size_bytes(name) for name in ("float32", "tfloat32", "bfloat16", "float8_e5m2", "uint8")] == [4, 4, 2, 1, 1]


def test_aliases_become_canonical():
    assert canonical("float8e4") == "float8_e4m3"
    assert canonical("bfloat16") == "bfloat16"


@pytest.mark.parametrize("call", [canonical, numpy_dtype, size_bytes])
def test_unknown_name_says_what_is_known(call):
    with pytest.raises(SimulatorError, match="unknown dtype 'float64'; known: float32"):
        call("float64")


def test_numpy_type_without_a_name_is_refused():
    with pytest.raises(SimulatorError, match="int64"):
        dtype_name(np.int64)


@pytest.mark.parametrize("name", sorted(FLOATS - {"tfloat32", "float32"}))
def test_reading_every_code_agrees_with_the_generic_cast(name):
    dtype = numpy_dtype(name)
    codes = np.arange(256**dtype.itemsize, dtype=f"u{dtype.itemsize}").view(dtype)
    with np.errstate(invalid="ignore"):
        expected = codes.astype(np.float32)
        np.testing.assert_array_equal(to_float32(codes), expected)
        np.testing.assert_array_equal(to_float32(codes[::3]), expected[::3])
        written = np.zeros(codes.shape, np.float32)
        copy_to_float32(codes, written)
        np.testing.assert_array_equal(written, expected)


def test_bfloat16_rounds_to_nearest_even_like_the_generic_cast():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 2**32, 200_000, dtype=np.uint32).view(np.float32)
    halfway = (np.arange(65536, dtype=np.uint32) << 16 | 0x8000).view(np.float32)
    for sample in (values, halfway):
        sample = sample[~np.isnan(sample)]
        with np.errstate(over="ignore"):
            expected = sample.astype(ml_dtypes.bfloat16)
        np.testing.assert_array_equal(from_float32(sample, "bfloat16").view(np.uint16), expected.view(np.uint16))


@pytest.mark.parametrize("name", sorted(name for name in FLOATS if size_bytes(name) == 1))
def test_float8_rounds_like_the_generic_cast(name):
    rng = np.random.default_rng(0)
    codes = numpy_dtype(name)
    exact = np.arange(256, dtype=np.uint8).view(codes).astype(np.float32)
    halfway = (exact[:-1] + exact[1:]) / 2
    values = rng.integers(0, 2**32, 200_000, dtype=np.uint32).view(np.float32)
    near = np.concatenate([np.nextafter(halfway, np.float32(bound)) for bound in (-np.inf, np.inf)])
    for sample in (exact, halfway, near, values, values[::3], values.reshape(2, -1).T):
        with np.errstate(over="ignore", invalid="ignore"):
            expected = sample.astype(codes)
        np.testing.assert_array_equal(from_float32(sample, name).view(np.uint8), expected.view(np.uint8))


@pytest.mark.parametrize("source", sorted(name for name in DTYPES if size_bytes(name) == 1))
@pytest.mark.parametrize("name", ["float32", "bfloat16", "float8_e5m2", "int8", "int32"])
def test_converting_every_code_goes_through_float32(source, name):
    codes = np.arange(256, dtype=np.uint8).view(numpy_dtype(source)).reshape(2, 128)[:, ::2]
    expected = from_float32(to_float32(codes), name)
    made = convert(codes, name)
    assert made.dtype == expected.dtype
    np.testing.assert_array_equal(made.view(f"u{made.dtype.itemsize}"), expected.view(f"u{made.dtype.itemsize}"))


def test_bfloat16_keeps_nan():
    values = np.array([0x7FFFFFFF, 0x7F800001, 0xFFFFFFFF], np.uint32).view(np.float32)
    assert np.isnan(from_float32(values, "bfloat16").astype(np.float32)).all()


def test_tfloat32_keeps_ten_mantissa_bits():
    step = np.float32(2.0**-10)
    values = np.array([1 + step, 1 + step / 2, 1 + 1.5 * step, 1 + step * 0.51], np.float32)
    np.testing.assert_array_equal(from_float32(values, "tfloat32"), np.array([1 + step, 1, 1 + 2 * step, 1 + step]))


def test_integers_round_to_nearest_even_and_saturate():
    values = np.array([0.5, 1.5, -2.5, 300.0, -300.0, np.inf, np.nan], np.float32)
    np.testing.assert_array_equal(from_float32(values, "int8"), np.array([0, 2, -2, 127, -128, 127, 0], np.int8))
    assert from_float32(np.array([1e20], np.float32), "int32")[0] == 2**31 - 1
