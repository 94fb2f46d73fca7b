"""allenkchau/trainium-kernel-fusion: attention, MLP and softmax, fused and not."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from validation.wild.cases.case import Case, attention, floats, softmax

_case = partial(Case, "allenkchau/trainium-kernel-fusion", "d709ddf")


def _heads(random: np.random.Generator) -> dict[str, Any]:
    return {f"{name}_ref": floats(random, 128, 1024, scale=0.5) for name in "qkv"}


def _layer(random: np.random.Generator) -> dict[str, Any]:
    return {
        "lhsT": floats(random, 256, 256, scale=0.1),
        "rhs": floats(random, 256, 1024, scale=0.3),
        "bias": floats(random, 1, 1024),
    }


def _attention(q_ref: np.ndarray, k_ref: np.ndarray, v_ref: np.ndarray) -> np.ndarray:
    return attention(q_ref, k_ref, v_ref)


def _gelu(x: np.ndarray) -> np.ndarray:
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def _activated(lhsT: np.ndarray, rhs: np.ndarray, bias: np.ndarray) -> np.ndarray:
    return _gelu(lhsT.T @ rhs + bias)


CASES: tuple[Case, ...] = (
    _case("kernels/baseline/attention.py", "baseline_attention", _heads, _attention),
    _case("kernels/fused/attention.py", "fused_attention", _heads, _attention),
    _case("kernels/fused/mlp.py", "fused_mlp_pwl", _layer, _activated),
    _case("kernels/fused/mlp.py", "fused_mlp_taylor", _layer, _activated),
    _case("kernels/baseline/mlp_gemm.py", "gemm_kernel", _layer, lambda lhsT, rhs, bias: lhsT.T @ rhs + bias),
    _case(
        "kernels/baseline/mlp_gemm.py",
        "gelu_kernel",
        lambda random: {"y": floats(random, 256, 1024)},
        lambda y: _gelu(y),
    ),
    _case(
        "kernels/baseline/softmax.py",
        "softmax_kernel",
        lambda random: {"x_ref": floats(random, 256, 1024)},
        lambda x_ref: softmax(x_ref),
    ),
)
