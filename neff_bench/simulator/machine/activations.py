"""Computes activation functions on float32 arrays, exact to a few ulp. Names: AWS Neuron SDK, "Supported Activation Functions"."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from neff_bench.simulator.errors import ExecutionError

Values = NDArray[np.float32]
Function = Callable[[Values], Values]

_ONE = np.float32(1)
_HALF = np.float32(0.5)
_SQRT_HALF = np.float32(0.7071067811865476)
_TWO_OVER_SQRT_PI = np.float32(1.1283791670955126)
_INV_SQRT_TWO_PI = np.float32(0.3989422804014327)
_GELU_TANH_SCALE = np.float32(0.7978845608028654)
_GELU_TANH_CUBIC = np.float32(0.044715)
_GELU_SIGMOID_SCALE = np.float32(1.702)

# Rational minimax approximation of erf on [-4, 4], float32: Eigen, unsupported/Eigen/src/SpecialFunctions (erf_impl).
_ERF_NUMERATOR = (
    -2.72614225801306e-10,
    2.77068142495902e-08,
    -2.10102402082508e-06,
    -5.69250639462346e-05,
    -7.34990630326855e-04,
    -2.95459980854025e-03,
    -1.60960333262415e-02,
)
_ERF_DENOMINATOR = (
    -1.45660718464996e-05,
    -2.13374055278905e-04,
    -1.68282697438203e-03,
    -7.37332916720468e-03,
    -1.42647390514189e-02,
)


def _polynomial(x: Values, coefficients: tuple[float, ...]) -> Values:
    result = np.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        result *= x
        result += np.float32(coefficient)
    return result


def erf(x: Values) -> Values:
    """Return the error function: a rational approximation on [-4, 4], constant outside."""
    clamped = np.clip(x, np.float32(-4), np.float32(4))
    square = clamped * clamped
    return clamped * _polynomial(square, _ERF_NUMERATOR) / _polynomial(square, _ERF_DENOMINATOR)


def erf_dx(x: Values) -> Values:
    """Return the derivative of the error function."""
    y: Values = _TWO_OVER_SQRT_PI * np.exp(-x * x)
    return y


def sigmoid(x: Values) -> Values:
    """Return 1 / (1 + exp(-x))."""
    y: Values = _ONE / (_ONE + np.exp(-x))
    return y


def silu(x: Values) -> Values:
    """Return x sigmoid(x)."""
    return x * sigmoid(x)


def silu_dx(x: Values) -> Values:
    """Return the derivative of silu."""
    s = sigmoid(x)
    y: Values = s * (_ONE + x * (_ONE - s))
    return y


def gelu(x: Values) -> Values:
    """Return x (1 + erf(x / sqrt(2))) / 2."""
    y: Values = _HALF * x * (_ONE + erf(x * _SQRT_HALF))
    return y


def gelu_dx(x: Values) -> Values:
    """Return the derivative of gelu."""
    y: Values = _HALF * (_ONE + erf(x * _SQRT_HALF)) + x * _INV_SQRT_TWO_PI * np.exp(-_HALF * x * x)
    return y


def gelu_apprx_tanh(x: Values) -> Values:
    """Return gelu with tanh in place of erf."""
    y: Values = _HALF * x * (_ONE + np.tanh(_GELU_TANH_SCALE * (x + _GELU_TANH_CUBIC * x * x * x)))
    return y


def gelu_apprx_sigmoid(x: Values) -> Values:
    """Return gelu as x sigmoid(1.702 x)."""
    return x * sigmoid(_GELU_SIGMOID_SCALE * x)


def gelu_apprx_sigmoid_dx(x: Values) -> Values:
    """Return the derivative of gelu_apprx_sigmoid."""
    s = sigmoid(_GELU_SIGMOID_SCALE * x)
    y: Values = s * (_ONE + _GELU_SIGMOID_SCALE * x * (_ONE - s))
    return y


def softplus(x: Values) -> Values:
    """Return log(1 + exp(x)), without overflow."""
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def mish(x: Values) -> Values:
    """Return x tanh(softplus(x))."""
    return x * np.tanh(softplus(x))


def sin(x: Values) -> Values:
    """Return the sine on [-pi, pi]. Outside, the engine extrapolates a cubic (AWS docs nki/api/nki.api.shared.rst): the Taylor
    polynomial at the nearer end, whose value at 9.0 is the 27.65 that they give."""
    past = x - np.copysign(np.float32(np.pi), x)
    return np.where(np.abs(x) <= np.float32(np.pi), np.sin(x), past * past * past / np.float32(6) - past)


FUNCTIONS: dict[str, Function] = {
    "copy": lambda x: x,
    "identity": lambda x: x,
    "square": np.square,
    "sigmoid": sigmoid,
    "relu": lambda x: np.maximum(x, np.float32(0)),
    "gelu": gelu,
    "gelu_dx": gelu_dx,
    "gelu_apprx_tanh": gelu_apprx_tanh,
    "gelu_apprx_sigmoid": gelu_apprx_sigmoid,
    "gelu_apprx_sigmoid_dx": gelu_apprx_sigmoid_dx,
    "silu": silu,
    "silu_dx": silu_dx,
    "tanh": np.tanh,
    "softplus": softplus,
    "mish": mish,
    "erf": erf,
    "erf_dx": erf_dx,
    "exp": np.exp,
    "log": np.log,
    "sin": sin,
    "arctan": np.arctan,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: _ONE / np.sqrt(x),
    "reciprocal": lambda x: _ONE / x,
    "sign": np.sign,
    "abs": np.abs,
}


def activation_function(op: str) -> Function:
    """Return the function of an activation name. Raises ExecutionError for one that is not modelled."""
    found = FUNCTIONS.get(op)
    if found is None:
        raise ExecutionError(f"activation function {op!r} is not modelled")
    return found


def prelu(x: Values, slope: Values | np.float32) -> Values:
    """Return x where positive, slope * x elsewhere."""
    return np.where(x > 0, x, slope * x)
