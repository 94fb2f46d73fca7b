import math

import numpy as np
import pytest

from neff_bench.simulator.errors import ExecutionError

RNG = np.random.default_rng(5)
X = np.concatenate([np.linspace(-6, 6, 121), [-40.0, 40.0, 1e-4, -1e-4]]).astype(np.float32).reshape(5, 25)


def phi(x):
    return 0.5 * math.erfc(-x / math.sqrt(2))


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def slope(function, step=1e-5):
    return lambda x: (function(x + step) - function(x - step)) / (2 * step)


def gelu_tanh(x):
    return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


FORMULAS = {
    "copy": lambda x: x,
    "square": lambda x: x * x,
    "sigmoid": sigmoid,
    "relu": lambda x: max(x, 0.0),
    "gelu": lambda x: x * phi(x),
    "gelu_dx": slope(lambda x: x * phi(x)),
    "gelu_apprx_tanh": gelu_tanh,
    "gelu_apprx_sigmoid": lambda x: x * sigmoid(1.702 * x),
    "gelu_apprx_sigmoid_dx": slope(lambda x: x * sigmoid(1.702 * x)),
    "silu": lambda x: x * sigmoid(x),
    "silu_dx": slope(lambda x: x * sigmoid(x)),
    "tanh": math.tanh,
    "softplus": lambda x: math.log1p(math.exp(x)),
    "mish": lambda x: x * math.tanh(math.log1p(math.exp(x))),
    "erf": math.erf,
    "erf_dx": slope(math.erf),
    "exp": math.exp,
    "arctan": math.atan,
    "sign": lambda x: math.copysign(1, x) if x else 0.0,
    "abs": abs,
}
POSITIVE = {
    "log": math.log,
    "sqrt": math.sqrt,
    "rsqrt": lambda x: 1 / math.sqrt(x),
    "reciprocal": lambda x: 1 / x,
}


def each(function, values):
    return np.vectorize(function, otypes=[np.float64])(values.astype(np.float64))


@pytest.mark.parametrize("op", FORMULAS)
def test_functions(apply, op):
    out = apply("activation", {"dst": (X.shape, "float32")}, {"data": X}, "scalar", op=op)
    np.testing.assert_allclose(out, each(FORMULAS[op], X), rtol=5e-6, atol=1e-6)


@pytest.mark.parametrize("op", POSITIVE)
def test_functions_of_positive_numbers(apply, op):
    data = np.abs(X) + np.float32(0.01)
    out = apply("activation", {"dst": (X.shape, "float32")}, {"data": data}, "scalar", op=op)
    np.testing.assert_allclose(out, each(POSITIVE[op], data), rtol=5e-6, atol=1e-6)


def test_sine_continues_as_a_cubic_outside_its_range(apply):
    data = np.array([[-3.0, 0.5, 3.1, 3.15, -3.2, 9.0, -9.0]], np.float32)
    out = apply("activation", {"dst": ((1, 7), "float32")}, {"data": data}, "scalar", op="sin")
    np.testing.assert_allclose(out[0, :5], each(math.sin, data[0, :5]), rtol=1e-4)
    np.testing.assert_allclose(out[0, 5:], [27.65, -27.65], atol=0.005)


def test_a_function_that_is_not_modelled_is_named(apply):
    with pytest.raises(ExecutionError, match="kernel.py:7: activation function 'swoosh' is not modelled"):
        apply("activation", {"dst": ((5, 25), "float32")}, {"data": X}, "scalar", op="swoosh")


def test_scale_and_bias_come_first(apply):
    scale, bias = RNG.standard_normal((5, 1)).astype(np.float32), RNG.standard_normal((5, 1)).astype(np.float32)
    out = apply(
        "activation",
        {"dst": (X.shape, "float32")},
        {"data": X, "scale": scale, "bias": bias},
        "scalar",
        op="tanh",
    )
    np.testing.assert_allclose(out, np.tanh(X * scale + bias), rtol=1e-5, atol=1e-6)
    out = apply("activation", {"dst": (X.shape, "float32")}, {"data": X}, "scalar", op="copy", scale=2.0, bias=-1.0)
    np.testing.assert_array_equal(out, X * 2 - 1)


def test_the_sum_is_of_unrounded_results(apply):
    out = apply(
        "activation",
        {"dst": (X.shape, "bfloat16"), "reduce_res": ((5, 1), "float32")},
        {"data": X},
        "scalar",
        op="square",
        reduce_op="add",
        reduce_cmd="reset_reduce",
    )
    sums = list(out.values())[1]
    np.testing.assert_allclose(sums[:, 0], np.square(X.astype(np.float64)).sum(axis=1), rtol=1e-5)


def test_activation_reduce_is_reset_and_reduce(apply):
    out = apply(
        "activation_reduce",
        {"dst": (X.shape, "float32"), "reduce_res": ((5, 1), "float32")},
        {"data": X},
        "scalar",
        op="relu",
        reduce_op="add",
    )
    np.testing.assert_allclose(list(out.values())[1][:, 0], np.maximum(X, 0).sum(axis=1), rtol=1e-5)


@pytest.mark.parametrize(
    ("commands", "times"),
    [
        (("reset_reduce", "reduce"), 2),
        (("reduce", "reset_reduce"), 1),
        (("reset_reduce", "idle"), 1),
        (("reduce", "reset"), 0),
        (("reduce", "reduce"), 2),
    ],
)
def test_registers_persist_between_instructions(builder, commands, times):
    b = builder()
    data = np.abs(X) + 1
    tile, result = b.load("x", data), b.sbuf((5, 1), "float32")
    for number, command in enumerate(commands):
        writes = {"dst": b.sbuf(X.shape, "float32")} | ({"reduce_res": result} if number else {})
        b.do("activation", writes, {"data": tile}, "scalar", op="copy", reduce_op="add", reduce_cmd=command)
    b.copy(b.output("y", (5, 1), "float32"), result)
    np.testing.assert_allclose(b.run(x=data)["y"][:, 0], times * data.sum(axis=1), rtol=1e-5)


def test_activate2_programs_its_operators(apply):
    vector = RNG.standard_normal((5, 1)).astype(np.float32)
    out = apply(
        "activate2",
        {"dst": (X.shape, "float32")},
        {"data": X, "imm0": vector},
        "scalar",
        op="prelu",
        op0="multiply",
        op1="subtract",
        imm1=0.5,
        reverse1=True,
        relu_param=0.1,
    )
    values = np.float32(0.5) - X * vector
    np.testing.assert_allclose(out, np.where(values > 0, values, values * np.float32(0.1)), rtol=1e-6)


@pytest.mark.parametrize("command", ["reset_reduce", "load_reduce"])
def test_exponential_subtracts_the_maximum_and_sums(apply, command):
    largest = X.max(axis=1, keepdims=True)
    out = apply(
        "exponential",
        {"dst": (X.shape, "float32"), "reduce_res": ((5, 1), "float32")},
        {"src": X, "max_value": largest},
        reduce_cmd=command,
        reduce_init=1.5 if command == "load_reduce" else 0.0,
    )
    expected = np.exp((X - largest).astype(np.float64))
    values, sums = out.values()
    np.testing.assert_allclose(values, expected, rtol=1e-5)
    start = 1.5 if command == "load_reduce" else 0
    np.testing.assert_allclose(sums[:, 0], start + expected.sum(axis=1), rtol=1e-5)
