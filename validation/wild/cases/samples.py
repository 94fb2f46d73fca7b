"""aws-neuron/nki-samples: tutorials and contributed kernels."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from validation.wild.cases import microscaling
from validation.wild.cases.case import Case, attention, floats, mamba, softmax

_case = partial(Case, "aws-neuron/nki-samples", "6905a68")
_TUTORIALS = "src/nki_samples/tutorials/"
_MATMUL = _TUTORIALS + "matrix_multiplication/matrix_multiplication_nki_kernels.py"
_ATTENTION = _TUTORIALS + "attention_fwd_performance/attention_kernels.py"
_MAMBA = _TUTORIALS + "fused_mamba/mamba_nki_kernels.py"


def _product(k: int, m: int, n: int) -> Any:
    return lambda random: {"lhsT": floats(random, k, m), "rhs": floats(random, k, n)}


def _heads(length: int) -> Any:
    return lambda random: {name: floats(random, 128, length) for name in "qkv"}


def states(random: np.random.Generator) -> dict[str, Any]:
    return {
        "delta": np.abs(floats(random, 1, 128, 512)) * np.float32(0.1),
        "u": floats(random, 1, 128, 512),
        "A": -np.abs(floats(random, 128, 4)),
        "B": floats(random, 1, 4, 512),
        "C": floats(random, 1, 4, 512),
    }


def _pool(in_tensor: np.ndarray, pool_size: int) -> np.ndarray:
    windows = np.lib.stride_tricks.sliding_window_view(in_tensor, (pool_size, pool_size))
    return windows.max((2, 3))


def _enlarged(src_arr: np.ndarray, axes: tuple[int, ...], **_: Any) -> np.ndarray:
    """Linear interpolation to twice the size, corners not aligned."""
    x = src_arr.astype(np.float64)
    for axis in axes:
        before = np.concatenate([x.take([0], axis), x.take(range(x.shape[axis] - 1), axis)], axis)
        after = np.concatenate([x.take(range(1, x.shape[axis]), axis), x.take([-1], axis)], axis)
        pair = np.stack([0.75 * x + 0.25 * before, 0.75 * x + 0.25 * after], axis + 1)
        x = pair.reshape(*x.shape[:axis], 2 * x.shape[axis], *x.shape[axis + 1 :])
    return x


def _pipelined(q: np.ndarray, k: np.ndarray, v: np.ndarray, **_: Any) -> np.ndarray:
    scores = np.einsum("bds,bdt->bst", q, k) / np.sqrt(q.shape[1])
    return softmax(scores) @ v


CASES = (
    _case(_MATMUL, "nki_matmul_basic_", _product(128, 64, 512), lambda lhsT, rhs: lhsT.T @ rhs),
    *(
        _case(_MATMUL, f"nki_matmul_{name}_", _product(1024, 2048, 1024), lambda lhsT, rhs: lhsT.T @ rhs)
        for name in ("tiled", "hoist_load", "block_free_dimension", "fully_optimized")
    ),
    _case(
        _TUTORIALS + "tensor_addition/tensor_addition_nki_kernels.py",
        "nki_tensor_add",
        lambda random: {"a_input": floats(random, 256, 1024), "b_input": floats(random, 256, 1024)},
        lambda a_input, b_input: a_input + b_input,
    ),
    _case(
        _TUTORIALS + "tensor_addition/spmd_tensor_addition_nki_kernels.py",
        "nki_tensor_add",
        lambda random: {"a_input": floats(random, 256, 1024), "b_input": floats(random, 256, 1024)},
        lambda a_input, b_input: a_input + b_input,
    ),
    _case(
        _TUTORIALS + "tensor_addition/spmd_multiple_nc_tensor_addition_nki_kernels.py",
        "nki_tensor_add_nc2",
        lambda random: {"a_input": floats(random, 512, 1024), "b_input": floats(random, 512, 1024)},
        lambda a_input, b_input: a_input + b_input,
        lnc=2,
    ),
    _case(
        _TUTORIALS + "transpose2d/transpose2d_nki_kernels.py",
        "tensor_transpose2D_kernel_",
        lambda random: {"in_tensor": floats(random, 128, 60), "shape2D": (6, 10)},
        lambda in_tensor, shape2D: in_tensor.reshape(-1, *shape2D).transpose(0, 2, 1).reshape(in_tensor.shape),
    ),
    _case(
        _TUTORIALS + "average_pool2d/average_pool2d_nki_kernels.py",
        "tensor_avgpool_kernel",
        lambda random: {"in_tensor": floats(random, 128, 8, 8), "pool_size": 2},
        lambda in_tensor, pool_size: in_tensor.reshape(-1, 4, 2, 4, 2).mean((2, 4)),
    ),
    *(
        _case(_MAMBA, f"mamba_v{version}", states, lambda delta, u, A, B, C: mamba(delta, u, A, B, C))
        for version in (1, 2, 3)
    ),
    *(
        _case(_ATTENTION, f"attn_fwd_v{version}", _heads(128 if version in ("1", "2") else 4096), attention)
        for version in (
            "1",
            "2",
            "3",
            "4",
            "5",
            "6",
            "7",
            "8",
            "8a",
            "9",
            "10",
            "11",
        )
    ),
    _case(
        "contributed/interpolate_bilinear_fwd.py",
        "interpolate_bilinear_2x_fwd",
        lambda random: {"src_arr": floats(random, 2, 64, 32, 32)},
        partial(_enlarged, axes=(2, 3)),
    ),
    _case(
        "contributed/interpolate_trilinear_fwd.py",
        "interpolate_trilinear_2x_fwd",
        lambda random: {"src_arr": floats(random, 2, 64, 8, 8, 8)},
        partial(_enlarged, axes=(2, 3, 4)),
    ),
    _case(
        "contributed/matmul.py",
        "matmul",
        lambda random: {"A_DRAM": floats(random, 1024, 1024), "B_DRAM": floats(random, 1024, 2048)},
        lambda A_DRAM, B_DRAM: A_DRAM.T @ B_DRAM,
        decorate=True,
    ),
    _case(
        "contributed/maxpooling.py",
        "max_pooling_2d_stride_1",
        lambda random: {"in_tensor": floats(random, 448, 448), "pool_size": 3},
        _pool,
    ),
    _case(
        "contributed/pipelined_attention.py",
        "flash_fwd",
        lambda random: {
            "q": floats(random, 1, 128, 16384),
            "k": floats(random, 1, 128, 16384),
            "v": floats(random, 1, 16384, 128),
            "use_causal_mask": False,
            "mixed_precision": True,
        },
        _pipelined,
        tolerance=2e-2,
    ),
    *microscaling.cases(partial(_case, _TUTORIALS + "mxfp-matmul/mx_kernels.py")),
)
