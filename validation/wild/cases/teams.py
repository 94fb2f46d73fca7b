"""Kernels of single authors and teams, in both dialects: products of three matrices, experts, norms, rotary embeddings."""

from __future__ import annotations

from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from validation.wild.cases.case import Arrays, Case, floats, rms_norm, softmax
from validation.wild.cases.cs149 import convolved, image

_SVD = partial(Case, "dinghongsong/NeuronMM", "f13583f", tolerance=2e-2)
_THU = partial(Case, "thustorage/NKI-MoE", "217759f")
_MEGA = partial(Case, "KevGomes1403/nki-moe-megakernel", "621932e")
_INVARIANT = partial(Case, "jlonge4/nki-samples", "ad80f03")
_SKIP = partial(Case, "lklkevin/trn2-exps", "2203c28", "kernels/matmul_skip_zeros.py")
_ELI = partial(Case, "elidbc/trn2-moe", "32d39e1")
_TILEBENCH = partial(Case, "Deep-Learning-Profiling-Tools/Tilebench", "ce8c654")
_PROFILER = "profiler/nki_profiler.py"
_PACKAGE = """
import sys, pathlib
sys.path.insert(0, str(pathlib.Path(__file__).absolute().parents[2]))
__package__ = "kernels.moe"
"""
_LIBRARY = """
import sys, pathlib
sys.path.insert(0, str(pathlib.Path(__file__).absolute().parents[4] / "aws-neuron/nki-library/src/nkilib_src"))
"""


def _halves(random: np.random.Generator, *shape: int, scale: float = 1.0) -> np.ndarray:
    return floats(random, *shape, scale=scale).astype(ml_dtypes.bfloat16)


def _wide(*arrays: Any) -> list[np.ndarray]:
    return [np.asarray(array).astype(np.float32) for array in arrays]


def _three(names: str, m: int, k: int, r: int, n: int, *, transposed: bool, **blocks: int) -> Any:
    """X (transposed or not), U and V of a product X @ U @ V."""
    first, second, third = names.split()
    x_shape = (k, m) if transposed else (m, k)
    return (
        lambda random: {
            first: _halves(random, *x_shape),
            second: _halves(random, k, r, scale=0.06),
            third: _halves(random, r, n, scale=0.06),
        }
        | blocks
    )


def _gated_arguments(random: np.random.Generator) -> Arrays:
    return {
        "X_ref": _halves(random, 512, 256),
        "U_ref": _halves(random, 256, 256, scale=0.06),
        "V_ref": _halves(random, 256, 256, scale=0.06),
        "U_ref_1": _halves(random, 256, 256, scale=0.06),
        "V_ref_1": _halves(random, 256, 256, scale=0.06),
        "r_tiles_in_block": 2,
        "K_tiles_in_block": 1,
        "N_tiles_in_block": 2,
        "M_tiles_in_block": 2,
    }


def silu(x: np.ndarray) -> np.ndarray:
    return x / (1 + np.exp(-x))


def _gated(X_ref: Any, U_ref: Any, V_ref: Any, U_ref_1: Any, V_ref_1: Any, **_: int) -> np.ndarray:
    x, u, v, u1, v1 = _wide(X_ref, U_ref, V_ref, U_ref_1, V_ref_1)
    return (silu(x @ u @ v) * (x @ u1 @ v1)).T


def _twice(lhsT: Any, rhs_B: Any, rhs_C: Any) -> np.ndarray:
    """The kernel takes the first product's memory as the transposed operand of the second."""
    first, second, third = _wide(lhsT, rhs_B, rhs_C)
    product = first.T @ second
    return product.reshape(product.shape[::-1]).T @ third


def _mixture(
    names: tuple[str, str, str, str, str], experts: int, flat: bool, dtype: Any = ml_dtypes.bfloat16, **rest: Any
) -> Any:
    """Hidden states [1, 2048], gamma, router, gates and ups, downs; 192 columns, as one of four devices has them."""

    def arguments(random: np.random.Generator) -> Arrays:
        gate_up = _halves(random, experts, 2048, *((384,) if flat else (2, 192)), scale=0.03)
        values = (
            _halves(random, 1, 2048),
            _halves(random, 1, 2048),
            floats(random, 2048, experts, scale=0.1).astype(dtype),
            gate_up,
            _halves(random, experts, 192, 2048, scale=0.07),
        )
        return dict(zip(names, values, strict=True)) | rest

    return arguments


def _eight_experts(x: Any, gamma: Any, router: Any, gate_up: Any, down: Any) -> np.ndarray:
    x, gamma, router = _wide(x, gamma, router)
    normed = rms_norm(x, gamma, 1e-6)
    weights = softmax(normed @ router)[0]
    best = np.argsort(-weights)[:8]
    out = np.zeros((1, 2048), np.float32)
    for expert in best:
        both = normed @ np.asarray(gate_up[expert]).astype(np.float32).reshape(2048, 384)
        hidden = silu(both[:, :192]) * both[:, 192:]
        out += weights[expert] / weights[best].sum() * (hidden @ np.asarray(down[expert]).astype(np.float32))
    return out


def _angles(random: np.random.Generator) -> Arrays:
    return {"x_in": floats(random, 64, 2, 4, 128), "cos": floats(random, 32, 2, 128), "sin": floats(random, 32, 2, 128)}


def _turned(x_in: Any, cos: Any, sin: Any, contiguous_layout: bool = True) -> np.ndarray:
    even, odd = (x_in[:32], x_in[32:]) if contiguous_layout else (x_in[::2], x_in[1::2])
    cos, sin = cos[:, :, None], sin[:, :, None]
    turned = np.concatenate([even * cos - odd * sin, odd * cos + even * sin])
    return turned if contiguous_layout else turned.reshape(2, 32, *x_in.shape[1:]).swapaxes(0, 1).reshape(x_in.shape)


def _qk(random: np.random.Generator) -> Arrays:
    angles = random.random((1, 200, 64)).astype(np.float32)
    return {
        "q_proj": floats(random, 1, 200, 1024),
        "k_proj": floats(random, 1, 200, 512),
        "q_gamma": floats(random, 256),
        "k_gamma": floats(random, 256),
        "cos_cache": np.cos(angles),
        "sin_cache": np.sin(angles),
        "eps": 1e-6,
    }


def _qk_rotated(proj: np.ndarray, gamma: np.ndarray, cos: np.ndarray, sin: np.ndarray) -> np.ndarray:
    x = rms_norm(proj.reshape(1, 200, -1, 256), gamma, 1e-6).transpose(0, 2, 1, 3)
    low, high = x[..., :32], x[..., 32:64]
    turned = [low * cos[..., :32] - high * sin[..., :32], high * cos[..., 32:] + low * sin[..., 32:]]
    return np.concatenate([*turned, x[..., 64:]], -1)


def _layer_norm(a_input: Any, weight_input: Any, bias_input: Any, eps: float) -> np.ndarray:
    centred = a_input - a_input.mean(1, keepdims=True)
    return centred / np.sqrt(centred.var(1, keepdims=True) + eps) * weight_input + bias_input


def _cross_entropy(logits: np.ndarray, targets: np.ndarray, block_size: int) -> np.ndarray:
    return np.log(np.exp(logits).sum(1, keepdims=True)) - np.take_along_axis(logits, targets, 1)


_SVD_CASES = (
    _SVD(
        "models/nki_kernels.py",
        "XUV_matmul",
        _three("x_ref u_ref v_ref", 256, 256, 256, 512, transposed=False),
        lambda x_ref, u_ref, v_ref: np.linalg.multi_dot(_wide(x_ref, u_ref, v_ref)),
    ),
    _SVD(
        "models/nki_kernels.py",
        "nki_matmul_tiled_basic",
        lambda r: {"lhsT": _halves(r, 256, 256), "rhs": _halves(r, 256, 384)},
        lambda lhsT, rhs: np.matmul(*_wide(lhsT.T, rhs)),
    ),
    _SVD(
        "models/nki_kernels.py",
        "three_mm_unfused",
        lambda r: {"lhsT": _halves(r, 128, 256), "rhs_B": _halves(r, 128, 256), "rhs_C": _halves(r, 256, 128)},
        _twice,
    ),
    _SVD(
        "profiler/mm_nki_profiler.py",
        "fused_three_mm_xuv_transpose_block",
        _three("X U V", 512, 256, 512, 256, transposed=True),
        lambda X, U, V: np.linalg.multi_dot(_wide(X.T, U, V)).T,
    ),
    _SVD(
        _PROFILER,
        "fused_three_mm_XTUV",
        _three(
            "X_ref U_ref V_ref", 128, 512, 512, 512, transposed=True,
            r_tiles_in_block=2, K_tiles_in_block=1, N_tiles_in_block=1, M_tiles_in_block=4,
        ),
        lambda X_ref, U_ref, V_ref, **_: np.linalg.multi_dot(_wide(X_ref.T, U_ref, V_ref)),
    ),
    _SVD(_PROFILER, "fused_mlp_up_T", _gated_arguments, _gated),
    _SVD(_PROFILER, "fused_mlp_up_T_new", _gated_arguments, _gated),
    _SVD(
        _PROFILER,
        "nki_matmul_fully_optimized_",
        lambda r: {"lhsT": _halves(r, 512, 512), "rhs": _halves(r, 512, 1024)},
        lambda lhsT, rhs: np.matmul(*_wide(lhsT.T, rhs)),
    ),
)  # fmt: skip

_EXPERT_CASES = (
    _THU(
        "kernels/moe/moe_selective.py",
        "moe_selective_v3",
        _mixture(
            ("hidden_input", "gamma", "router_weights", "expert_gate_up_weights", "expert_down_weights"),
            16,
            False,
            top_k=8,
            norm_topk_prob=True,
        ),
        lambda hidden_input, gamma, router_weights, expert_gate_up_weights, expert_down_weights, **_: _eight_experts(
            hidden_input, gamma, router_weights, expert_gate_up_weights, expert_down_weights
        ),
        lnc=2,
        tolerance=2e-2,
        prelude=_PACKAGE,
    ),
    _THU("kernels/attention/embeddings/rope.py", "RoPE", _angles, _turned),
    _THU(
        "kernels/attention/embeddings/rope.py",
        "RoPE",
        lambda r: _angles(r) | {"contiguous_layout": False},
        _turned,
        label=", interleaved",
    ),
    *(
        _MEGA(
            "megakernels/qwen3_moe/moe_fused_nki.py",
            kernel,
            _mixture(("inp", "gamma", "router_w", "gate_up_w", "down_w"), 128, True, np.float32, **hoisted),
            lambda inp, gamma, router_w, gate_up_w, down_w, **_: _eight_experts(
                inp, gamma, router_w, gate_up_w, down_w
            ),
            lnc=2,
            tolerance=2e-2,
            prelude=_LIBRARY,
        )
        for kernel, hoisted in (
            ("qwen3_moe_fused_tkg_sbuf_io", {}),
            ("qwen3_moe_fused_tkg_sbuf_io_hoisted", {"hoisted_gamma": True, "hoisted_router_w": True}),
        )
    ),
)

CASES = (
    *_SVD_CASES,
    *_EXPERT_CASES,
    _INVARIANT(
        "batch_invariance/kernels/rmsnorm_batch_invariant.py",
        "nki_rmsnorm_kernel_isa",
        lambda r: {"a": _halves(r, 200, 512), "g": floats(r, 512)},
        lambda a, g: rms_norm(_wide(a)[0], g, 0),
        tolerance=2e-2,
    ),
    _INVARIANT(
        "batch_invariance/kernels/matmul_batch_invariant.py",
        "nki_matmul_kernel_isa",
        lambda r: {"a": floats(r, 256, 256), "b": floats(r, 256, 256), "deterministic": False},
        lambda a, b, deterministic: a.T @ b,
    ),
    _INVARIANT(
        "batch_invariance/kernels/attention_batch_invariant.py",
        "nki_attention_kernel_isa",
        lambda r: {name: _halves(r, 256, 128) for name in "qkv"} | {"attn_bias": floats(r, 256, 256)},
        lambda q, k, v, attn_bias: softmax(np.matmul(*_wide(q, k.T)) * 128**-0.5 + attn_bias) @ _wide(v)[0],
        tolerance=2e-2,
    ),
    _SKIP(
        "matmul_full",
        lambda r: {"lhsT": floats(r, 256, 256), "rhs": floats(r, 256, 256)},
        lambda lhsT, rhs: lhsT.T @ rhs,
    ),
    _SKIP(
        "matmul_skip_load_only",
        lambda r: {"lhsT": floats(r, 256, 256), "rhs": floats(r, 256, 256)},
        lambda lhsT, rhs: (
            np.where(np.arange(256)[:, None] < 128, 0, lhsT.T @ rhs),
            lhsT[:, :128],
        ),
        make=lambda module: module.make_skip_kernel_load_only(1, 2),
    ),
    _ELI(
        "gemm_nki.py",
        "matrix_vector_mul_kernel",
        lambda r: {"matT": floats(r, 128, 64), "vec2d": floats(r, 128, 1)},
        lambda matT, vec2d: matT.T @ vec2d,
    ),
    _ELI(
        "gemm_nki.py",
        "tiled_gemm_nki_kernel",
        lambda r: {"lhsT": floats(r, 256, 256), "rhs": floats(r, 256, 1024)},
        lambda lhsT, rhs: lhsT.T @ rhs,
    ),
    *(
        _ELI("cs149/conv2d.py", "fused_conv2d_maxpool", image(pool, 18, 18), convolved, label=f", pool {pool}")
        for pool in (1, 2)
    ),
    _TILEBENCH(
        "cross_entropy_nki.py",
        "cross_entropy_kernel",
        lambda r: {
            "logits": floats(r, 300, 1000),
            "targets": r.integers(0, 1000, (300, 1)).astype(np.int32),
            "block_size": 128,
        },
        _cross_entropy,
    ),
    _TILEBENCH(
        "layernorm_nki.py",
        "layernorm_kernel",
        lambda r: {
            "a_input": floats(r, 300, 3000),
            "weight_input": floats(r, 1, 3000),
            "bias_input": floats(r, 1, 3000),
            "eps": 1e-5,
        },
        _layer_norm,
    ),
    Case(
        "qingzwang/neuronx-distributed-inference",
        "bbc916f",
        "contrib/models/Qwen3.5-9B/src/nki_kernels/qwen_qk_norm_rope.py",
        "qwen_qk_norm_partial_rope_kernel",
        _qk,
        lambda q_proj, k_proj, q_gamma, k_gamma, cos_cache, sin_cache, eps: (
            _qk_rotated(q_proj, q_gamma, cos_cache, sin_cache),
            _qk_rotated(k_proj, k_gamma, cos_cache, sin_cache),
        ),
    ),
    Case(
        "ykcadcg/nki-samples",
        "1623a89",
        "contributed/histogram.py",
        "histogram",
        lambda r: {
            "values": r.integers(0, 64, (512, 1)).astype(np.int32),
            "counts": np.zeros((64, 1), np.int32),
            "length": 512,
        },
        lambda values, counts, length: np.bincount(values.ravel(), minlength=64),
    ),
    Case(
        "alpharomercoma/torchneuronx",
        "b245405",
        "extras/nki_softmax.py",
        "row_softmax",
        lambda r: {"x_in": floats(r, 128, 512)},
        lambda x_in: softmax(x_in),
        make=lambda module: module.make_kernel(),
    ),
)
