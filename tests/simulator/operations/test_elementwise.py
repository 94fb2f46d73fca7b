import ml_dtypes
import numpy as np
import pytest

from neff_bench.simulator.errors import ExecutionError

RNG = np.random.default_rng(3)


def normal(*shape, dtype=np.float32):
    return RNG.standard_normal(shape).astype(dtype)


@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [
        ("float32", 1.5, 1.5),
        ("bfloat16", 1 / 3, np.float32(ml_dtypes.bfloat16(1 / 3))),
        ("float8_e4m3", 3.3, np.float32(ml_dtypes.float8_e4m3(3.3))),
        ("int32", 2**31 - 1, 2**31 - 1),
        ("uint32", -1, 2**32 - 1),
        ("int16", 2.5, 2),
        ("float32", float("-inf"), -np.inf),
    ],
)
def test_memset_fills_with_the_rounded_constant(apply, dtype, value, expected):
    out = apply("memset", {"dst": ((3, 5), dtype)}, value=value)
    assert (out.astype(np.float64) == float(expected)).all()


def test_copy_between_equal_dtypes_keeps_every_bit(apply):
    words = RNG.integers(0, 2**31, (4, 6), dtype=np.int32)
    np.testing.assert_array_equal(apply("tensor_copy", {"dst": ((4, 6), "int32")}, {"src": words}), words)


def test_copy_between_dtypes_goes_through_float32(apply):
    words = np.array([[2**24 + 1, -7]], np.int32)
    np.testing.assert_array_equal(
        apply("tensor_copy", {"dst": ((1, 2), "float32")}, {"src": words}), np.float32([[2**24, -7]])
    )
    values = np.array([[1.5, 2.5, -0.5, 1e12]], np.float32)
    np.testing.assert_array_equal(
        apply("tensor_copy", {"dst": ((1, 4), "int32")}, {"src": values}), [[2, 2, 0, 2**31 - 1]]
    )


def test_copy_by_the_scalar_engine_of_gen2_goes_through_float32(apply):
    words = np.array([[2**24 + 1]], np.int32)
    for target, expected in (("trn1", 2**24), ("trn2", 2**24 + 1)):
        out = apply("tensor_copy", {"dst": ((1, 1), "int32")}, {"src": words}, "scalar", target)
        assert out[0, 0] == expected


def test_copy_may_change_the_free_shape(apply):
    data = normal(4, 6)
    out = apply("tensor_copy", {"dst": ((4, 2, 3), "float32")}, {"src": data})
    np.testing.assert_array_equal(out, data.reshape(4, 2, 3))


@pytest.mark.parametrize(
    ("op", "formula"),
    [
        ("add", lambda a, b: a + b),
        ("subtract", lambda a, b: a - b),
        ("multiply", lambda a, b: a * b),
        ("divide", lambda a, b: a / b),
        ("maximum", np.maximum),
        ("minimum", np.minimum),
        ("equal", lambda a, b: a == b),
        ("not_equal", lambda a, b: a != b),
        ("greater", lambda a, b: a > b),
        ("greater_equal", lambda a, b: a >= b),
        ("less", lambda a, b: a < b),
        ("less_equal", lambda a, b: a <= b),
        ("logical_and", lambda a, b: (a != 0) & (b != 0)),
        ("logical_or", lambda a, b: (a != 0) | (b != 0)),
        ("logical_xor", lambda a, b: (a != 0) ^ (b != 0)),
        ("power", lambda a, b: np.abs(a) ** b),
        ("abs_max", lambda a, b: np.where(abs(a) > abs(b), a, b)),
        ("abs_min", lambda a, b: np.where(abs(a) < abs(b), a, b)),
    ],
)
def test_tensor_tensor_arithmetic(apply, op, formula):
    a, b = normal(8, 16), normal(8, 16)
    a[0], b[1], a[2] = 0, 0, b[2]
    if op == "power":
        a = np.abs(a) + 0.1
    if op == "divide":
        b[1] = 1
    out = apply("tensor_tensor", {"dst": ((8, 16), "float32")}, {"data1": a, "data2": b}, op=op)
    np.testing.assert_allclose(out, formula(a, b).astype(np.float32), rtol=1e-5)


def test_tensor_tensor_rounds_once(apply):
    a, b = normal(8, 64, dtype=ml_dtypes.bfloat16), normal(8, 64, dtype=ml_dtypes.bfloat16)
    out = apply("tensor_tensor", {"dst": ((8, 64), "bfloat16")}, {"data1": a, "data2": b}, op="multiply")
    exact = (a.astype(np.float32) * b.astype(np.float32)).astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(out, exact)


def test_words_stay_exact_on_gpsimd_and_pass_through_float32_on_vector(apply):
    a = np.array([[2**24 + 1, 2**31 - 1]], np.int32)
    b = np.array([[2, 0]], np.int32)
    for engine, expected in (("gpsimd", [2**24 + 3, 2**31 - 1]), ("vector", [2**24 + 2, 2**31 - 1])):
        out = apply("tensor_tensor", {"dst": ((1, 2), "int32")}, {"data1": a, "data2": b}, engine, op="add")
        np.testing.assert_array_equal(out[0], expected)


@pytest.mark.parametrize(
    ("op", "formula"),
    [
        ("bitwise_and", lambda a, b: a & b),
        ("bitwise_or", lambda a, b: a | b),
        ("bitwise_xor", lambda a, b: a ^ b),
        ("left_shift", lambda a, b: (a.astype(np.uint64) << b.astype(np.uint64)).astype(np.uint32)),
        ("right_shift", lambda a, b: (a.astype(np.uint64) >> b.astype(np.uint64)).astype(np.uint32)),
    ],
)
def test_bit_operators_see_patterns(apply, op, formula):
    a = RNG.integers(0, 2**32, (4, 8), dtype=np.uint32)
    b = RNG.integers(0, 40, (4, 8), dtype=np.uint32)
    out = apply("tensor_tensor", {"dst": ((4, 8), "uint32")}, {"data1": a, "data2": b}, op=op)
    np.testing.assert_array_equal(out, formula(a, b))


def test_a_right_shift_of_a_negative_word_is_logical(apply):
    out = apply(
        "tensor_scalar", {"dst": ((1, 1), "int32")}, {"data": np.array([[-8]], np.int32)}, op0="right_shift", operand0=1
    )
    assert out[0, 0] == 2**31 - 4


def test_bit_operators_refuse_floats(apply):
    with pytest.raises(ExecutionError, match="kernel.py:7.*need integers, data1 is float32"):
        apply(
            "tensor_tensor",
            {"dst": ((1, 2), "int32")},
            {"data1": normal(1, 2), "data2": np.zeros((1, 2), np.int32)},
            op="bitwise_and",
        )


def test_tensor_scalar_applies_two_operators(apply):
    data, vector = normal(8, 5, 3), normal(8, 1)
    out = apply(
        "tensor_scalar",
        {"dst": ((8, 5, 3), "float32")},
        {"data": data, "operand1": vector},
        op0="multiply",
        operand0=2.5,
        op1="subtract",
        reverse1=True,
    )
    np.testing.assert_allclose(out, vector[:, :, None] - data * np.float32(2.5), rtol=1e-6)


def test_tensor_scalar_reads_only_as_many_partitions_as_data_has(apply):
    data, vector = normal(8, 5), normal(12, 1)
    out = apply("tensor_scalar", {"dst": ((8, 5), "float32")}, {"data": data, "operand0": vector}, op0="add")
    np.testing.assert_array_equal(out, data + vector[:8])


@pytest.mark.parametrize(
    ("op", "formula"),
    [
        ("abs", np.abs),
        ("square", np.square),
        ("relu", lambda a: np.maximum(a, 0)),
        ("rsqrt", lambda a: 1 / np.sqrt(np.abs(a))),
        ("reciprocal", lambda a: 1 / a),
    ],
)
def test_tensor_scalar_unary_operators(apply, op, formula):
    data = np.abs(normal(4, 8)) + 0.1 if op == "rsqrt" else normal(4, 8)
    out = apply("tensor_scalar", {"dst": ((4, 8), "float32")}, {"data": data}, op0=op, operand0=0.0)
    np.testing.assert_allclose(out, formula(data), rtol=1e-5)


def test_tensor_scalar_keeps_addresses_exact(apply):
    data = np.array([[2**24 + 1]], np.int32)
    out = apply(
        "tensor_scalar", {"dst": ((1, 1), "int32")}, {"data": data}, op0="multiply", operand0=3, op1="add", operand1=1
    )
    assert out[0, 0] == 3 * (2**24 + 1) + 1


def test_scalar_tensor_tensor(apply):
    data, scale, other = normal(8, 6), normal(8, 1), normal(8, 6)
    out = apply(
        "scalar_tensor_tensor",
        {"dst": ((8, 6), "float32")},
        {"data": data, "operand0": scale, "operand1": other},
        op0="multiply",
        op1="subtract",
        reverse1=True,
    )
    np.testing.assert_allclose(out, other - data * scale, rtol=1e-6)


def test_reciprocal(apply):
    data = normal(4, 8)
    np.testing.assert_allclose(apply("reciprocal", {"dst": ((4, 8), "float32")}, {"data": data}), 1 / data, rtol=1e-6)


def test_an_operator_that_is_not_modelled_is_named(apply):
    with pytest.raises(ExecutionError, match="kernel.py:7: operator 'hypot' is not modelled"):
        apply("tensor_scalar", {"dst": ((1, 1), "float32")}, {"data": normal(1, 1)}, op0="hypot", operand0=1)
