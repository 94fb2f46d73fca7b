"""Deep-Learning-Profiling-Tools/triton-viz: its NKI examples in both dialects. They write their last arguments."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from validation.wild.cases.case import Case, floats, rms_norm, softmax

_case = partial(Case, "Deep-Learning-Profiling-Tools/triton-viz", "203b0c7")
_old = partial(_case, decorate=True)


def _empty(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def _counted(*shape: int) -> np.ndarray:
    """Whole numbers: the kernel accumulates in int32."""
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def _angles(random: np.random.Generator, *shape: int, depth: int) -> dict[str, np.ndarray]:
    given = {"q": floats(random, *shape, depth), "k": floats(random, *shape, depth)}
    given |= {"cos": floats(random, shape[-1], depth), "sin": floats(random, shape[-1], depth)}
    return given


def _turned(q: np.ndarray, k: np.ndarray, cos: np.ndarray, sin: np.ndarray, **_: Any) -> list[np.ndarray]:
    def turn(x: np.ndarray) -> np.ndarray:
        half = x.shape[-1] // 2
        return x * cos + np.concatenate([-x[..., half:], x[..., :half]], -1) * sin

    return [turn(q), turn(k)]


def _on_heads(module: Any) -> Any:
    """Return the kernel on a grid of one program for each of three heads."""
    from neff_bench.simulator.nki.beta.jit import jit

    return jit(module.nki_rope_kernel)[3]


def _heads(random: np.random.Generator) -> dict[str, Any]:
    sizes = {"batch": 2, "num_heads": 4, "num_heads_k": 2, "num_heads_v": 2, "m_size": 256, "n_size": 384}
    sizes |= {"d_size": 128, "dv_size": 64}
    return {
        "q": floats(random, 2, 4, 256, 128), "k": floats(random, 2, 2, 384, 128), "v": floats(random, 2, 2, 384, 64),
        "out": _empty(2, 4, 256, 64), **sizes,
    }  # fmt: skip


def _attended(q: np.ndarray, k: np.ndarray, v: np.ndarray, **_: Any) -> np.ndarray:
    keys, values = k.repeat(2, 1), v.repeat(2, 1)
    return softmax(q @ keys.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1])) @ values


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
    _case(
        "examples/nki/rope.py",
        "nki_rope_kernel",
        lambda random: {
            **_angles(random, 3, 200, depth=64), "output_q": _empty(3, 200, 64), "output_k": _empty(3, 200, 64),
        },
        _turned,
        outputs=("output_q", "output_k"),
        make=_on_heads,
    ),
    _case(
        "examples/nki_beta2/rope.py",
        "rope_kernel",
        lambda random: {
            **_angles(random, 2, 2, 256, depth=64), "out_q": _empty(2, 2, 256, 64), "out_k": _empty(2, 2, 256, 64),
            "batch": 2, "num_heads": 2, "seq_len": 256, "head_dim": 64,
        },
        _turned,
    ),
    _case("examples/nki_beta2/tiled_attention.py", "tiled_attention_kernel", _heads, _attended),
)  # fmt: skip
