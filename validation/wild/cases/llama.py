"""Llama layers of a contest, flash and paged attention of serving engines, and kernels moved from one dialect to the other."""

from __future__ import annotations

from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from validation.wild.cases.case import Case, floats, rms_norm, softmax
from validation.wild.cases.contest import silu

_IITAKU = partial(Case, "iitaku/nki-llama", "4209b48", "llama.py")
_NYU = partial(Case, "yfzzzyyls/nki-llama-nyu", "7198e13", tolerance=2e-2)
_SEEDS = partial(Case, "roycho96/nki-kernel-agent", "bbb5a3b", kernel="kernel")
_SLIDING = partial(Case, "dacorvo/neuronx-distributed-inference", "fcb5a86", tolerance=2e-2)
_CDIV = (
    "import sys, types; utils = types.ModuleType('vllm.utils'); utils.cdiv = lambda a, b: -(-a // b); "
    "sys.modules |= {'vllm': types.ModuleType('vllm'), 'vllm.utils': utils}"
)
_VLLM = partial(Case, "gnovack/vllm", "176bbce", "vllm/attention/ops/nki_flash_attn.py", tolerance=2e-2, prelude=_CDIV)

Arrays = dict[str, Any]


def _product(rows: int, inner: int, columns: int) -> Any:
    return lambda random: {"lhsT": floats(random, inner, rows), "rhs": floats(random, inner, columns)}


def _prefill(causal: bool) -> Any:
    return lambda random: {
        "q": floats(random, 1, 2, 64, 128).astype(ml_dtypes.bfloat16),
        "k": floats(random, 1, 2, 64, 128).astype(ml_dtypes.bfloat16),
        "v": floats(random, 1, 2, 128, 64).astype(ml_dtypes.bfloat16),
        "use_causal_mask": causal,
    }


def _attended(q: Any, k: Any, v: Any, use_causal_mask: bool) -> np.ndarray:
    q, k, v = (np.asarray(x).astype(np.float32) for x in (q, k, v))
    scores = np.einsum("bhdq,bhdk->bhqk", q, k) / np.sqrt(q.shape[2])
    if use_causal_mask:
        scores = np.where(np.tril(np.ones(scores.shape[2:])) > 0, scores, -1e9)
    return softmax(scores) @ v


def _decode(random: np.random.Generator) -> Arrays:
    return {
        "q": floats(random, 1, 2, 1, 64),
        "k": floats(random, 1, 2, 64, 256),
        "v": floats(random, 1, 2, 256, 64),
        "mask": (np.arange(256) < 200).astype(np.float32).reshape(1, 1, 1, 256),
    }


def _decoded(q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray) -> np.ndarray:
    return softmax(np.where(mask > 0, (q @ k) / 8, -1e9)) @ v


_IITAKU_CASES = (
    _IITAKU(
        "nki_rmsnorm_kernel",
        lambda r: {"a_tensor": floats(r, 2, 200, 512), "g_tensor": floats(r, 512), "eps": 1e-5},
        lambda a_tensor, g_tensor, eps: rms_norm(a_tensor, g_tensor, eps),
    ),
    _IITAKU("nki_thin_gemm", _product(4, 256, 1280), lambda lhsT, rhs: lhsT.T @ rhs),
    _IITAKU("nki_blocked_gemm", _product(256, 256, 700), lambda lhsT, rhs: lhsT.T @ rhs),
    _IITAKU(
        "nki_fused_gate_up_gemm",
        lambda r: {"lhsT": floats(r, 256, 4), "gate_rhs": floats(r, 256, 1024), "up_rhs": floats(r, 256, 1024)},
        lambda lhsT, gate_rhs, up_rhs: (lhsT.T @ gate_rhs, lhsT.T @ up_rhs),
    ),
    _IITAKU(
        "nki_fused_qkv_separate_gemm",
        lambda r: {
            "lhsT": floats(r, 256, 4),
            "q_rhs": floats(r, 256, 1024),
            "k_rhs": floats(r, 256, 256),
            "v_rhs": floats(r, 256, 256),
        },
        lambda lhsT, q_rhs, k_rhs, v_rhs: (lhsT.T @ q_rhs, lhsT.T @ k_rhs, lhsT.T @ v_rhs),
    ),
    _IITAKU(
        "nki_fused_swiglu_down",
        lambda r: {"gate_T": floats(r, 512, 4), "up_T": floats(r, 512, 4), "down_rhs": floats(r, 512, 1024)},
        lambda gate_T, up_T, down_rhs: (silu(gate_T) * up_T).T @ down_rhs,
    ),
    _IITAKU(
        "nki_fused_rmsnorm_thin_gemm",
        lambda r: {
            "x": floats(r, 4, 256),
            "weightT": floats(r, 256, 512),
            "gamma": floats(r, 256),
            "eps": 1e-5,
            "residual": floats(r, 4, 256),
        },
        lambda x, weightT, gamma, eps, residual: (rms_norm(x + residual, gamma, eps) @ weightT, x + residual),
    ),
    _IITAKU("flash_attention_fwd", _prefill(True), _attended, tolerance=2e-2, label=", causal"),
    _IITAKU("flash_attention_fwd", _prefill(False), _attended, tolerance=2e-2),
    _IITAKU("flash_decode_kernel", _decode, _decoded),
)

_NYU_CASES = (
    _NYU(
        "kernel.py",
        "nki_matmul",
        lambda r: {"lshT": floats(r, 128, 64), "rsh": floats(r, 128, 512), "mdim": 64, "cdim": 128, "ndim": 512},
        lambda lshT, rsh, **_: lshT.T @ rsh,
    ),
    _NYU(
        "kernel.py",
        "nki_silu_mul",
        lambda r: {"lhs_tensor": floats(r, 256, 1024), "rhs_tensor": floats(r, 256, 1024)},
        lambda lhs_tensor, rhs_tensor: silu(lhs_tensor) * rhs_tensor,
    ),
    _NYU(
        "kernel.py",
        "nki_matmul_fully_optimized_",
        lambda r: _product(256, 1024, 1024)(r) | {"TILES_IN_BLOCK_M": 2, "TILES_IN_BLOCK_N": 2, "TILES_IN_BLOCK_K": 4},
        lambda lhsT, rhs, **_: lhsT.T @ rhs,
    ),
    *(
        _NYU(
            "spmd_kernel.py",
            kernel,
            lambda r: _product(256, 512, 1024)(r)
            | {"TILES_IN_BLOCK_M": 1, "TILES_IN_BLOCK_N": 2, "TILES_IN_BLOCK_K": 2},
            lambda lhsT, rhs, **_: lhsT.T @ rhs,
            make=lambda module, kernel=kernel: getattr(module, kernel)[2],
        )
        for kernel in ("nki_matmul_fully_optimized_spmd_", "nki_matmul_fully_optimized_spmd_proj_fused")
    ),
)


def _moved(rows: int, inner: int, columns: int) -> Any:
    return lambda random: {
        "x_tensor": floats(random, rows, inner),
        "w_tensor": floats(random, inner, columns),
        "eps": 1e-5,
        "z_tensor": floats(random, rows, columns if inner == columns else inner),
        "g_tensor": floats(random, inner),
    }


_SEEDS_CASES = (
    _SEEDS(
        "nkibench_seeds/add_rmsnorm_matmul_M4096_N2048_K1024.py",
        arguments=_moved(4096, 1024, 2048),
        reference=lambda x_tensor, w_tensor, eps, z_tensor, g_tensor: rms_norm(x_tensor + z_tensor, g_tensor, eps)
        @ w_tensor,
    ),
    _SEEDS(
        "nkibench_seeds/matmul_add_rmsnorm_M4096_N2048_K2048.py",
        arguments=_moved(4096, 2048, 2048),
        reference=lambda x_tensor, w_tensor, eps, z_tensor, g_tensor: rms_norm(
            x_tensor @ w_tensor + z_tensor, g_tensor, eps
        ),
    ),
    _SEEDS(
        "nkibench_seeds/rope_single_freq_apply.py",
        arguments=lambda r: {"x_in": floats(r, 128, 1024), "cos": floats(r, 64, 1024), "sin": floats(r, 64, 1024)},
        reference=lambda x_in, cos, sin: np.concatenate(
            [x_in[:64] * cos - x_in[64:] * sin, x_in[64:] * cos + x_in[:64] * sin]
        ),
    ),
)


def _window(random: np.random.Generator) -> Arrays:
    return {
        "q": floats(random, 1, 2, 64, 2048).astype(ml_dtypes.bfloat16),
        "k": floats(random, 1, 2, 64, 2048).astype(ml_dtypes.bfloat16),
        "v": floats(random, 1, 2, 2048, 64).astype(ml_dtypes.bfloat16),
        "window_size": (200, -1),
    }


def _windowed(q: Any, k: Any, v: Any, window_size: tuple[int, int]) -> np.ndarray:
    q, k, v = (np.asarray(x).astype(np.float32) for x in (q, k, v))
    back = np.arange(2048)[:, None] - np.arange(2048)
    scores = np.einsum("bhdq,bhdk->bhqk", q, k) / 8
    return softmax(np.where((back >= 0) & (back <= window_size[0]), scores, -1e9)) @ v


def paged(random: np.random.Generator) -> Arrays:
    """Queries of one request of 128 tokens behind 2048 cached ones, in blocks of 32 that lie in any order."""
    allowed = np.concatenate([np.ones((128, 2048), bool), np.tril(np.ones((128, 128), bool))], 1)
    return {
        "query": floats(random, 1, 4, 64, 128),
        "key": floats(random, 1, 2, 64, 128),
        "value": floats(random, 1, 2, 128, 64),
        "kv_cache": floats(random, 2, 128, 2, 32, 64),
        "block_tables": random.permutation(128)[:64].astype(np.int32),
        "mask": allowed,
    }


def paged_attention(query: Any, key: Any, value: Any, kv_cache: Any, block_tables: Any, mask: Any) -> np.ndarray:
    out = np.zeros((1, 4, 128, 64), np.float32)
    for head in range(4):
        old_k, old_v = (kv_cache[half, block_tables, head // 2].reshape(2048, 64) for half in (0, 1))
        keys = np.concatenate([old_k, key[0, head // 2].T])
        values = np.concatenate([old_v, value[0, head // 2]])
        out[0, head] = softmax(np.where(mask, query[0, head].T @ keys.T / 8, -1e9)) @ values
    return out


CASES = (
    *_IITAKU_CASES,
    *_NYU_CASES,
    *_SEEDS_CASES,
    _SLIDING(
        "src/neuronx_distributed_inference/modules/sliding_window/attention.py",
        "flash_fwd",
        _window,
        _windowed,
        make=lambda module: module.flash_fwd[1, 2],
    ),
    _VLLM("flash_paged_attention", paged, paged_attention, make=lambda module: module.flash_paged_attention[1, 2]),
)
