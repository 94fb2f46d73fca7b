"""Kernels inside of models: linear attention, flash attention, gated delta rule, rotary embedding, quantum gates."""

from __future__ import annotations

from typing import Any

import numpy as np

from validation.wild.cases.case import Case, floats, rms_norm, softmax

_DELTA = "contrib/models/Qwen3.5-2B/src/nki_kernels/"
_FLASH = "optimum/neuron/models/inference/backend/modules/attention/flash_attention_nki.py"


def _program(factory: str, *sizes: int, grid: int = 0) -> Any:
    """Return what makes the kernel of a file that builds it for given sizes; its launcher on a grid is inside of a function."""

    def make(module: Any) -> Any:
        made = getattr(module, factory)(*sizes)[0]
        if not grid:
            return made
        inner = next(cell.cell_contents for cell in made.__closure__ if hasattr(cell.cell_contents, "function"))
        return inner[grid]

    return make


def _polynomial(q_scaled: np.ndarray, k_input: np.ndarray, v_input: np.ndarray) -> Any:
    scores = q_scaled @ k_input.transpose(0, 2, 1)
    weights = (1 + scores + scores * scores / 2) * np.tril(np.ones(scores.shape[1:]))
    return weights @ v_input, weights.sum(-1, keepdims=True)


def _linear(q_input: np.ndarray, k_input: np.ndarray, v_input: np.ndarray) -> np.ndarray:
    return (q_input @ k_input.transpose(0, 2, 1) * np.tril(np.ones((q_input.shape[1],) * 2))) @ v_input


def _one_head(q_scaled: np.ndarray, k_input: np.ndarray, v_input: np.ndarray) -> np.ndarray:
    return _linear(q_scaled[None], k_input[None], v_input[None])[0]


def _sliding(q_scaled: np.ndarray, k_padded: np.ndarray, v_padded: np.ndarray, additive_mask: np.ndarray) -> np.ndarray:
    out = np.zeros_like(q_scaled)
    for block, mask in enumerate(additive_mask):
        rows, window = slice(64 * block, 64 * block + 64), slice(64 * block, 64 * block + 128)
        scores = q_scaled[:, rows] @ k_padded[:, window].transpose(0, 2, 1) + mask
        out[:, rows] = softmax(scores) @ v_padded[:, window]
    return out


def _heads(random: np.random.Generator, query: str = "q_input") -> dict[str, Any]:
    return {
        query: floats(random, 2, 256, 128, scale=0.1),
        "k_input": floats(random, 2, 256, 128, scale=0.3),
        "v_input": floats(random, 2, 256, 128),
    }


def _window(random: np.random.Generator) -> dict[str, Any]:
    return {
        "q_scaled": floats(random, 2, 256, 128, scale=0.1),
        "k_padded": floats(random, 2, 320, 128),
        "v_padded": floats(random, 2, 320, 128),
        "additive_mask": np.where(random.random((4, 64, 128)) < 0.5, -1e9, 0).astype(np.float32),
    }


def _long_head(causal: bool) -> Any:
    return lambda random: {
        "q": floats(random, 1, 256, 1024, scale=0.08),
        "k": floats(random, 1, 256, 1024, scale=0.5),
        "v": floats(random, 1, 1024, 256),
        "output": np.zeros((1, 256, 1024), np.float32),
        "use_causal_mask": causal,
    }


def _flash(q: np.ndarray, k: np.ndarray, v: np.ndarray, use_causal_mask: bool, **_: Any) -> np.ndarray:
    scores = np.einsum("bds,bdt->bst", q, k)
    if use_causal_mask:
        scores = np.where(np.tril(np.ones(scores.shape[1:])) > 0, scores, -1e9)
    return np.transpose(softmax(scores) @ v, (0, 2, 1))


def delta_step(q: Any, k: Any, v: Any, decay: float, gate: float, state: Any) -> tuple[Any, Any]:
    """Return one step of the gated delta rule: its output and the new state, [keys, values]."""
    state = state * np.exp(decay)
    state = state + np.outer(k, gate * (v - state.T @ k))
    return state.T @ q, state


def _sequence(query: Any, key: Any, value: Any, g_in: Any, beta_in: Any) -> tuple[Any, Any]:
    state, out = np.zeros((128, 128)), []
    for at in range(len(query)):
        row, state = delta_step(query[at], key[at], value[at], g_in[at, 0], beta_in[at, 0], state)
        out.append(row)
    return np.stack(out), state


def _batch(query: Any, key: Any, value: Any, g_in: Any, beta_in: Any, state_in: Any) -> tuple[Any, Any]:
    steps = [
        delta_step(query[at], key[at], value[at], g_in[at, 0], beta_in[at, 0], state_in[128 * at : 128 * at + 128])
        for at in range(len(query))
    ]
    return np.stack([row for row, _ in steps]), np.concatenate([state for _, state in steps])


def _tokens(random: np.random.Generator) -> dict[str, Any]:
    return {
        "query": floats(random, 16, 128, scale=0.1),
        "key": floats(random, 16, 128, scale=0.1),
        "value": floats(random, 16, 128),
        "g_in": np.repeat(-np.abs(floats(random, 16, 1)), 128, 1),
        "beta_in": np.repeat(np.abs(floats(random, 16, 1)), 128, 1),
    }


def _states(random: np.random.Generator) -> dict[str, Any]:
    return {
        "query": floats(random, 3, 128, scale=0.1),
        "key": floats(random, 3, 128, scale=0.1),
        "value": floats(random, 3, 128),
        "g_in": -np.abs(floats(random, 3, 1)),
        "beta_in": np.abs(floats(random, 3, 1)),
        "state_in": floats(random, 384, 128),
    }


def _rotated(x: np.ndarray, gamma: np.ndarray, cos: np.ndarray, sin: np.ndarray, eps: float) -> np.ndarray:
    batch, length, width = x.shape
    x = rms_norm(x.reshape(batch, length, width // 256, 256).transpose(0, 2, 1, 3), gamma, eps)
    low, high, cos, sin = x[..., :32], x[..., 32:64], cos[:, None], sin[:, None]
    turned = low * cos[..., :32] - high * sin[..., :32], high * cos[..., 32:] + low * sin[..., 32:]
    return np.concatenate([*turned, x[..., 64:]], -1)


def _projections(random: np.random.Generator) -> dict[str, Any]:
    shapes = {"q_proj": (1, 200, 512), "k_proj": (1, 200, 256), "q_gamma": (256,), "k_gamma": (256,)}
    caches = {"cos_cache": (1, 200, 64), "sin_cache": (1, 200, 64)}
    return {**{name: floats(random, *shape) for name, shape in (shapes | caches).items()}, "eps": 1e-6}


def _gate(gate: np.ndarray, state: np.ndarray) -> np.ndarray:
    product = (gate[0] + 1j * gate[1]) @ (state[0] + 1j * state[1])
    return np.stack([product.real, product.imag])


CASES: tuple[Case, ...] = (
    Case(
        "Willy-Chan/trainium-linear-attention", "acd2573", "kernels/nki_attention.py", "_kernel",
        lambda random: _heads(random, "q_scaled"), _polynomial, make=_program("get_based_attn_kernel", 256, 128, 2, grid=2),
    ),
    Case(
        "Willy-Chan/trainium-linear-attention", "acd2573", "kernels/nki_attention_chunked.py", "kernel",
        _heads, _linear, make=_program("get_chunked_attn_kernel", 256, 128, 128, 2),
    ),
    Case(
        "Willy-Chan/trainium-linear-attention", "acd2573", "kernels/nki_attention_sliding.py", "_kernel",
        _window, _sliding, make=_program("get_sliding_window_kernel", 256, 128, 2, grid=2),
    ),
    Case(
        "Willy-Chan/trainium-linear-attention", "acd2573", "old/identity_linear_attn_nki_CHUNKED.py", "kernel",
        lambda random: {name: value[0] for name, value in _heads(random, "q_scaled").items()}, _one_head,
        make=_program("get_chunked_attn_kernel", 256, 128),
    ),
    *(
        Case("huggingface/optimum-neuron", "213224e", _FLASH, "flash_fwd_large_d", _long_head(causal), _flash,
             outputs=("output",), tolerance=2e-2, label=", causal" if causal else "")
        for causal in (True, False)
    ),
    *(
        Case("aws-neuron/neuronx-distributed-inference", "4bcdc54", _DELTA + path, kernel, arguments, reference)
        for path, kernel, arguments, reference in (
            ("nki_deltanet.py", "deltanet_recurrent_fwd", _tokens, lambda **given: _sequence(**given)[0]),
            ("nki_deltanet.py", "deltanet_recurrent_fwd_state", _tokens, _sequence),
            ("nki_deltanet.py", "_deltanet_recurrent_step_batched_kernel", _states, _batch),
            (
                "qwen_qk_norm_rope.py", "qwen_qk_norm_partial_rope_kernel", _projections,
                lambda q_proj, k_proj, q_gamma, k_gamma, cos_cache, sin_cache, eps: (
                    _rotated(q_proj, q_gamma, cos_cache, sin_cache, eps),
                    _rotated(k_proj, k_gamma, cos_cache, sin_cache, eps),
                ),
            ),
        )
    ),
    Case(
        "aws-neuron/nki-moe", "f742418", "nki_custom_rmsnorm.py", "nki_rmsnorm_kernel",
        lambda random: {"input_tensor": floats(random, 200, 512), "weight": floats(random, 512), "eps": 1e-6},
        lambda input_tensor, weight, eps: rms_norm(input_tensor, weight, eps),
    ),
    Case(
        "RichardYin21/Trainium-Quantum-Simulator", "08f427b", "nki_gate_apply.py", "nki_gate_apply",
        lambda random: {"gate": floats(random, 2, 128, 128), "state": floats(random, 2, 128, 1024)}, _gate,
    ),
)  # fmt: skip
