"""Kernels of teams that wrote Qwen3-MoE for a contest, and of LLM-assisted ports of it: gates, experts, attention."""

from __future__ import annotations

from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from validation.wild.cases.case import Case, floats, rms_norm, softmax

_WHN = partial(Case, "whn09/nki-moe", "78f9ca7")
_GOOMELO = partial(Case, "Goomelo/nki-moe", "0fe5e15")
_HONG = partial(
    Case,
    "charleshong3/nki-moe-7013",
    "751a7bf",
    "qwen_with_nki.py",
    tolerance=2e-2,
    prelude="import os; os.environ['NKI_PLAIN_FUSED_DRAFT_PATH'] = '.'",  # weights that its host code looks for
)
_HWANG = partial(Case, "hwanggeunyi-snu/nki-moe", "97fe42a")

Arrays = dict[str, Any]


def _halves(random: np.random.Generator, *shape: int, scale: float = 1.0) -> np.ndarray:
    return floats(random, *shape, scale=scale).astype(ml_dtypes.bfloat16)


def _wide(*arrays: np.ndarray) -> list[np.ndarray]:
    return [np.asarray(array).astype(np.float32) for array in arrays]


def silu(x: np.ndarray) -> np.ndarray:
    return x / (1 + np.exp(-x))


def _gated(x: np.ndarray, gate_up: np.ndarray, down: np.ndarray) -> np.ndarray:
    both = x @ gate_up
    middle = both.shape[-1] // 2
    return (silu(both[..., :middle]) * both[..., middle:]) @ down


def rotated(x: np.ndarray, cos: np.ndarray, sin: np.ndarray) -> np.ndarray:
    """Return x, rotated. x: [batch, S, heads, d]; cos, sin: [S, d]. The second half turns against the first."""
    half = x.shape[-1] // 2
    turned = np.concatenate([-x[..., half:], x[..., :half]], -1)
    return x * cos[:, None] + turned * sin[:, None]


def _angles(random: np.random.Generator, length: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    angles = random.random((length, width // 2)).astype(np.float32)
    return (np.cos(np.concatenate([angles, angles], 1)), np.sin(np.concatenate([angles, angles], 1)))


def _rotary(random: np.random.Generator) -> Arrays:
    cos, sin = _angles(random, 256, 64)
    return {
        "q_tensor": floats(random, 1, 256, 4, 64),
        "k_tensor": floats(random, 1, 256, 2, 64),
        "cos_cache": cos,
        "sin_cache": sin,
    }


def _rotary_at(random: np.random.Generator) -> Arrays:
    values = _rotary(random)
    values["q_tensor"], values["k_tensor"] = values["q_tensor"][:, :4], values["k_tensor"][:, :4]
    return values | {"position_ids": np.array([[0, 3, 7, 9]], np.int32)}


def _largest(input_tensor: np.ndarray, k: int = 8) -> Any:
    order = np.argsort(-input_tensor, 1)[:, :k]
    return np.take_along_axis(input_tensor, order, 1), order


def _qkv(random: np.random.Generator) -> Arrays:
    return {
        "hidden_states": floats(random, 1, 256, 256),
        "qkv_weight": floats(random, 256, 256, scale=0.06),
        "q_size": 128,
        "k_size": 64,
        "v_size": 64,
    }


def _experts(random: np.random.Generator) -> Arrays:
    return {
        "hidden_states": floats(random, 128, 128),
        "router_weight": floats(random, 128, 16),
        "gate_up_weights": floats(random, 16, 128, 256, scale=0.1),
        "down_weights": floats(random, 16, 128, 128, scale=0.1),
        "num_experts_per_tok": 4,
    }


def _first_experts(
    hidden_states: Any, router_weight: Any, gate_up_weights: Any, down_weights: Any, num_experts_per_tok: int
) -> np.ndarray:
    """The kernel runs the first experts with the weights of the chosen ones."""
    weights = -np.sort(-softmax(hidden_states @ router_weight), 1)[:, :num_experts_per_tok]
    weights = weights / weights.sum(1, keepdims=True)
    outputs = [_gated(hidden_states, gate_up_weights[k], down_weights[k]) for k in range(num_experts_per_tok)]
    return sum(weights[:, k, None] * outputs[k] for k in range(num_experts_per_tok))


def _expert_layer(names: tuple[str, str, str]) -> Any:
    return lambda random: {
        names[0]: floats(random, 128, 256),
        names[1]: floats(random, 256, 512, scale=0.1),
        names[2]: floats(random, 256, 256, scale=0.1),
    }


_WHN_CASES = (
    _WHN(
        "nki_kernels.py",
        "nki_silu_kernel",
        lambda r: {"input_tensor": floats(r, 200, 768)},
        lambda input_tensor: silu(input_tensor),
    ),
    _WHN(
        "nki_kernels.py",
        "nki_softmax_kernel",
        lambda r: {"input_tensor": floats(r, 200, 128)},
        lambda input_tensor: softmax(input_tensor),
    ),
    _WHN("nki_kernels.py", "nki_topk_kernel", lambda r: {"input_tensor": floats(r, 200, 128)}, _largest),
    _WHN(
        "nki_kernels.py",
        "nki_swiglu_kernel",
        lambda r: {
            "input_tensor": floats(r, 128, 256),
            "gate_weight": floats(r, 256, 256, scale=0.1),
            "up_weight": floats(r, 256, 256, scale=0.1),
        },
        lambda input_tensor, gate_weight, up_weight: silu(input_tensor @ gate_weight) * (input_tensor @ up_weight),
    ),
    _WHN(
        "nki_kernels.py",
        "nki_rope_kernel",
        _rotary_at,
        lambda q_tensor, k_tensor, cos_cache, sin_cache, position_ids: tuple(
            rotated(x, cos_cache[position_ids[0]], sin_cache[position_ids[0]]) for x in (q_tensor, k_tensor)
        ),
    ),
    _WHN(
        "nki_kernels.py",
        "nki_fused_add_rmsnorm_kernel",
        lambda r: {
            "input_tensor": floats(r, 200, 512),
            "residual": floats(r, 200, 512),
            "weight": floats(r, 512),
            "eps": 1e-6,
        },
        lambda input_tensor, residual, weight, eps: rms_norm(input_tensor + residual, weight, eps),
    ),
    _WHN(
        "nki_moe_kernels.py",
        "nki_fused_expert_mlp_kernel",
        _expert_layer(("input_tensor", "gate_up_weight", "down_weight")),
        lambda input_tensor, gate_up_weight, down_weight: _gated(input_tensor, gate_up_weight, down_weight),
    ),
    _WHN(
        "nki_moe_kernels.py",
        "nki_router_softmax_kernel",
        lambda r: {"router_logits": floats(r, 200, 128)},
        lambda router_logits: softmax(router_logits),
    ),
    _WHN(
        "nki_moe_kernels.py",
        "nki_expert_aggregation_kernel",
        lambda r: {"expert_outputs": floats(r, 200, 4, 1024), "routing_weights": floats(r, 200, 4)},
        lambda expert_outputs, routing_weights: np.einsum("teh,te->th", expert_outputs, routing_weights),
    ),
    _WHN("nki_moe_kernels.py", "nki_fused_moe_kernel", _experts, _first_experts),
    _WHN(
        "nki_attention_kernels.py",
        "nki_rope_kernel",
        _rotary,
        lambda q_tensor, k_tensor, cos_cache, sin_cache: tuple(
            rotated(x, cos_cache, sin_cache) for x in (q_tensor, k_tensor)
        ),
    ),
    _WHN(
        "nki_attention_kernels.py",
        "nki_fused_qkv_proj_kernel",
        _qkv,
        lambda hidden_states, qkv_weight, **_: tuple(np.split(hidden_states @ qkv_weight, (128, 192), -1)),
    ),
    _WHN(
        "nki_attention_kernels.py",
        "nki_qk_rmsnorm_kernel",
        lambda r: {
            "q_tensor": floats(r, 1, 200, 4, 64),
            "k_tensor": floats(r, 1, 200, 2, 64),
            "q_weight": floats(r, 64),
            "k_weight": floats(r, 64),
            "eps": 1e-6,
        },
        lambda q_tensor, k_tensor, q_weight, k_weight, eps: (
            rms_norm(q_tensor, q_weight, eps),
            rms_norm(k_tensor, k_weight, eps),
        ),
    ),
    _WHN(
        "nki_attention_kernels.py",
        "nki_attention_scores_kernel",
        lambda r: {"query": floats(r, 1, 4, 256, 64), "key": floats(r, 1, 2, 256, 64), "scale": 0.125},
        lambda query, key, scale: np.einsum("bhqd,bhkd->bhqk", query, np.repeat(key, 2, 1)) * scale,
    ),
)

_GOOMELO_CASES = (
    _GOOMELO(
        "nki_moe_integrated.py",
        "nki_matmul_tiled",
        lambda r: {"a": floats(r, 128, 256), "b": floats(r, 256, 512)},
        lambda a, b: a @ b,
    ),
    _GOOMELO(
        "nki_moe_integrated.py",
        "nki_swiglu",
        lambda r: {"gate_up": floats(r, 100, 1536)},
        lambda gate_up: silu(gate_up[:, :768]) * gate_up[:, 768:],
    ),
    _GOOMELO(
        "nki_moe_integrated.py",
        "nki_moe_expert_compute",
        lambda r: {
            "hidden_states": floats(r, 64, 256),
            "gate_up_weight": floats(r, 256, 512, scale=0.1),
            "down_weight": floats(r, 256, 256, scale=0.1),
            "token_weights": floats(r, 64),
        },
        lambda hidden_states, gate_up_weight, down_weight, token_weights: _gated(
            hidden_states, gate_up_weight, down_weight
        )
        * token_weights[:, None],
    ),
    _GOOMELO(
        "nki_moe_integrated.py",
        "nki_moe_aggregate",
        lambda r: {"expert_outputs": floats(r, 4, 100, 700)},
        lambda expert_outputs: expert_outputs.sum(0),
    ),
    _GOOMELO(
        "nki_attention.py",
        "nki_rope_kernel",
        lambda r: {
            "tensor": floats(r, 128, 256),
            "cos_cache": floats(r, 128, 64),
            "sin_cache": floats(r, 128, 64),
            "num_heads": 4,
            "head_dim": 64,
        },
        lambda tensor, cos_cache, sin_cache, **_: _pairs(tensor, cos_cache, sin_cache),
    ),
    _GOOMELO(
        "nki_attention.py",
        "nki_qkv_projection",
        lambda r: {
            "hidden_states": floats(r, 128, 256),
            "qkv_weight": floats(r, 256, 256, scale=0.1),
            "num_heads": 2,
            "num_kv_heads": 1,
            "head_dim": 64,
        },
        lambda hidden_states, qkv_weight, **_: tuple(np.split(hidden_states @ qkv_weight, (128, 192), -1)),
    ),
    _GOOMELO(
        "nki_moe_expert.py",
        "nki_grouped_expert_gemm",
        lambda r: {
            "input_tokens": floats(r, 128, 256),
            "expert_weights": floats(r, 2, 256, 256),
            "expert_ids": np.ones(128, np.int32),
            "num_experts": 2,
        },
        lambda input_tokens, expert_weights, **_: input_tokens @ expert_weights[1],
    ),
)


def _pairs(tensor: np.ndarray, cos: np.ndarray, sin: np.ndarray) -> np.ndarray:
    x = tensor.reshape(128, 4, 32, 2)
    turned = (x[..., 0] + 1j * x[..., 1]) * (cos[:, None, :32] + 1j * sin[:, None, :32])
    return np.stack([turned.real, turned.imag], -1).reshape(tensor.shape)


def _eight(random: np.random.Generator) -> Arrays:
    return {
        "gate_up_weights": _halves(random, 8, 2048, 384, scale=0.03),
        "down_weights": _halves(random, 8, 192, 2048, scale=0.07),
        "affinities": softmax(floats(random, 1, 8)).T.astype(ml_dtypes.bfloat16),
    }


def _one_token(x: Any, gate_up_weights: Any, down_weights: Any, affinities: Any) -> np.ndarray:
    x, gate_up, down, weights = _wide(x, gate_up_weights, down_weights, affinities)
    return sum(weights[e] * _gated(x, gate_up[e], down[e]) for e in range(8))


def _normed_token(residual: Any, rms_weight: Any, eps: float, **experts: Any) -> np.ndarray:
    return _one_token(rms_norm(*_wide(residual, rms_weight), eps), **experts)


def _blocks(random: np.random.Generator) -> Arrays:
    """Three blocks of 128 tokens; row 300 is where padding goes, with weight 0."""
    tokens = random.permutation(np.concatenate([np.arange(300), np.full(84, 300)])).astype(np.int32).reshape(3, 128)
    weights = np.where(tokens < 300, floats(random, 3, 128), 0).astype(ml_dtypes.bfloat16)
    return {
        "acts": _halves(random, 3, 128, 192, scale=0.3),
        "down_weight": _halves(random, 2, 192, 512, scale=0.1),
        "block_affinities": weights,
        "token_pos_to_id": tokens,
        "block_to_expert": np.array([[0], [1], [0]], np.int32),
        "total_out_rows": 301,
        "num_blocks": 3,
        "block_size": 128,
    }


def _scattered(
    acts: Any, down_weight: Any, block_affinities: Any, token_pos_to_id: Any, block_to_expert: Any, **_: Any
) -> np.ndarray:
    acts, down, weights = _wide(acts, down_weight, block_affinities)
    out = np.zeros((301, down.shape[2]), np.float32)
    for block in range(3):
        out[token_pos_to_id[block]] += (acts[block] @ down[block_to_expert[block, 0]]) * weights[block][:, None]
    return out


_HONG_CASES = (
    _HONG(
        "_nki_rmsnorm_kernel",
        lambda r: {"input_tensor": _halves(r, 200, 2048), "weight": _halves(r, 2048), "eps": 1e-6},
        lambda input_tensor, weight, eps: rms_norm(*_wide(input_tensor, weight), eps),
    ),
    _HONG(
        "_nki_embedding_kernel",
        lambda r: {"weight": _halves(r, 1000, 512), "indices": r.integers(0, 1000, (100, 1)).astype(np.uint32)},
        lambda weight, indices: weight[indices[:, 0]].astype(np.float32),
    ),
    _HONG("_nki_batched_moe_kernel", lambda r: {"x": _halves(r, 1, 2048)} | _eight(r), _one_token),
    _HONG("_nki_identity_boundary_kernel", lambda r: {"x": _halves(r, 100, 512)}, lambda x: x.astype(np.float32)),
    _HONG(
        "_nki_fused_rmsnorm_moe_kernel",
        lambda r: {"residual": _halves(r, 1, 2048), "rms_weight": _halves(r, 2048), "eps": 1e-6} | _eight(r),
        _normed_token,
    ),
    _HONG(
        "_nki_moe_tail_kernel",
        lambda r: {"act": _halves(r, 8, 1, 192), "dw": _halves(r, 8, 192, 2048, scale=0.07), "aff": _halves(r, 8, 1)},
        lambda act, dw, aff: np.einsum("eti,eih,et->th", *_wide(act, dw, aff)),
    ),
    _HONG(
        "_nki_cte_moe_blockwise_einsum_kernel",
        lambda r: {"x": _halves(r, 1, 1, 512, 192), "w": _halves(r, 1, 192, 1024, scale=0.1)},
        lambda x, w: np.matmul(*_wide(x, w[None])),
    ),
    _HONG(
        "_nki_cte_moe_block_mlp_kernel",
        lambda r: {
            "x": _halves(r, 256, 512),
            "w_gate_up": _halves(r, 512, 384, scale=0.06),
            "w_down": _halves(r, 192, 512, scale=0.1),
        },
        lambda x, w_gate_up, w_down: _swiglu_squared(*_wide(x, w_gate_up, w_down)),
    ),
    _HONG("_nki_cte_moe_down_scatter_kernel", _blocks, _scattered),
    _HONG(
        "_nki_lm_head_kernel",
        lambda r: {"x": _halves(r, 1, 2048), "weight": _halves(r, 37984, 2048, scale=0.03)},
        lambda x, weight: np.matmul(*_wide(x, weight.T)),
    ),
)


def _swiglu_squared(x: np.ndarray, gate_up: np.ndarray, down: np.ndarray) -> np.ndarray:
    """This kernel multiplies the gate with its own SiLU: gate * silu(gate) * up."""
    both = x @ gate_up
    return (both[:, :192] * silu(both[:, :192]) * both[:, 192:]) @ down


CASES = (
    *_WHN_CASES,
    *_GOOMELO_CASES,
    *_HONG_CASES,
    _HWANG(
        "qwen_with_nki.py",
        "nki_rmsnorm_kernel",
        lambda r: {"input_tensor": floats(r, 200, 512), "weight": floats(r, 512), "eps": 1e-6},
        lambda input_tensor, weight, eps: rms_norm(input_tensor, weight, eps),
    ),
)
