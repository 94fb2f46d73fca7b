"""Deep-Learning-Profiling-Tools/triton-viz: its NKI examples in both dialects. They write their last arguments."""

from __future__ import annotations

from functools import partial

import numpy as np

from tools.wild_cases.case import Case, floats, rms_norm, softmax

_case = partial(Case, "Deep-Learning-Profiling-Tools/triton-viz", "203b0c7")
_old = partial(_case, decorate=True)


def _empty(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def _counted(*shape: int) -> np.ndarray:
    """Whole numbers: the kernel accumulates in int32."""
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


CASES: tuple[Case, ...] = (
    _old(
        "examples/nki/matmul.py",
        "matmul_kernel",
        lambda random: {"lhs": _counted(4, 8), "rhs": _counted(8, 16), "result": _empty(4, 16)},
        lambda lhs, rhs, result: lhs @ rhs,
        outputs=("result",),
    ),
    _old(
        "examples/nki/matmul.py",
        "matmul_kernel_lhsT",
        lambda random: {"lhs": _counted(8, 4), "rhs": _counted(8, 16), "result": _empty(4, 16)},
        lambda lhs, rhs, result: lhs.T @ rhs,
        outputs=("result",),
    ),
    _old(
        "examples/nki/rmsnorm.py",
        "nki_rmsnorm_kernel",
        lambda random: {"a_tensor": floats(random, 200, 64), "g_tensor": floats(random, 64), "result": _empty(200, 64)},
        lambda a_tensor, g_tensor, result: rms_norm(a_tensor, g_tensor, 0.0),
        outputs=("result",),
    ),
    _old(
        "examples/nki/softmax.py",
        "softmax_kernel",
        lambda random: {"in_tensor": floats(random, 16, 32), "out_tensor": _empty(16, 32)},
        lambda in_tensor, out_tensor: softmax(in_tensor),
        outputs=("out_tensor",),
    ),
    _case(
        "examples/nki_beta2/add.py",
        "nki_tensor_add_kernel",
        lambda random: {"a_input": floats(random, 4, 3), "b_input": floats(random, 4, 3), "result": _empty(4, 3)},
        lambda a_input, b_input, result: a_input + b_input,
        outputs=("result",),
    ),
    _case(
        "examples/nki_beta2/matmul.py",
        "matmul_kernel",
        lambda random: {"lhsT": floats(random, 128, 128), "rhs": floats(random, 128, 512), "result": _empty(128, 512)},
        lambda lhsT, rhs, result: lhsT.T @ rhs,
        outputs=("result",),
    ),
    _case(
        "examples/nki_beta2/mlp.py",
        "mlp_kernel",
        lambda random: {
            "x_t": floats(random, 256, 256),
            "w1": floats(random, 256, 256),
            "w2": floats(random, 256, 512),
            "out": _empty(256, 512),
        },
        lambda x_t, w1, w2, out: np.maximum(x_t.T @ w1, 0) @ w2,
        outputs=("out",),
    ),
    _case(
        "examples/nki_beta2/rmsnorm.py",
        "rmsnorm_kernel",
        lambda random: {"x": floats(random, 256, 128), "gamma": floats(random, 256, 128), "out": _empty(256, 128)},
        lambda x, gamma, out: rms_norm(x, gamma, 1e-6),
        outputs=("out",),
    ),
    _case(
        "examples/nki_beta2/softmax.py",
        "softmax_kernel",
        lambda random: {"x": floats(random, 256, 64), "out": _empty(256, 64)},
        lambda x, out: softmax(x),
        outputs=("out",),
    ),
)
