"""Layers that people and programs wrote for one model or one exercise: normalization, gates, attention, delta rules."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from validation.wild.cases.case import Case, floats, rms_norm, softmax
from validation.wild.cases.models import delta_step

_PIDEM = partial(Case, "Pidem/equiformer-trainium", "ecbc15a")
_GRADER = partial(Case, "LaelaZorana/kernel-grader-mi300x-rocm-trainium-nki", "50e9a9d", "kernel-nki/histogram_nki.py")
_AGENT = partial(Case, "aws-samples/sample-ATX-custom-NKI-Agent", "fffd48d")
_LABS = partial(Case, "yahavb/trainium-agent-labs", "09ce3a7")
_OPTIMIZER = partial(
    Case, "arminagha1234/trainium-optimizer", "3841231", "implementation/src/invent_kernels.py", tolerance=5e-3
)
_TUTORIAL = partial(
    Case, "scttfrdmn/aws-trainium-tutorial-for-research", "3d1ccfb", "advanced/advanced_patterns_nki.py"
)
_INFERENCE = partial(Case, "whn09/neuronx-distributed-inference", "5785dea")
_QWEN = partial(Case, "KevGomes1403/trainium-model-translation", "ec42154")
_DELTANET = "models/qwen3_6_moe/nki_kernels/deltanet/"
_BENCH = partial(Case, "Jerry2423/kda-for-trainium", "90770f2", kernel="kernel")


def _silu(x: np.ndarray) -> np.ndarray:
    return x / (1 + np.exp(-x))


def _rows(*names: str, shape: tuple[int, ...] = (256, 512), vectors: tuple[str, ...] = ()) -> Any:
    def made(random: np.random.Generator) -> dict[str, np.ndarray]:
        return {name: floats(random, *(shape[-1:] if name in vectors else shape)) for name in (*names, *vectors)}

    return made


def _authored(operation: str) -> Callable[[Any], Any]:
    """Return the kernel that the module writes to a file and imports again."""
    return lambda module: module.author_kernel(module.resolve_ops([operation])[0]).build()


def _jitted(module: Any) -> Any:
    """Return a plain function of the current dialect, which its own program decorates."""
    import nki

    return nki.jit(module.kernel)


def _with_division(module: Any) -> Any:
    """Return the kernel with the function of neuronx_distributed that it calls while it is traced."""
    module.divide = lambda whole, parts: whole // parts
    return module.split_along_dim0_kernel


def _interleaved(x: np.ndarray, cos: np.ndarray, sin: np.ndarray) -> np.ndarray:
    turned = (x[:, 0::2] + 1j * x[:, 1::2]) * (cos + 1j * sin)
    return np.stack([turned.real, turned.imag], -1).reshape(x.shape)


def _gelu(x: np.ndarray) -> np.ndarray:
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def _centred(x: np.ndarray, gamma: np.ndarray, beta: np.ndarray) -> np.ndarray:
    x = x - x.mean(1, keepdims=True)
    return x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-6) * gamma + beta


def _window(q: np.ndarray, k: np.ndarray, v: np.ndarray, window_size: tuple[int, int], **_: Any) -> np.ndarray:
    scores = np.einsum("bhdi,bhdj->bhij", q, k) / np.sqrt(q.shape[2])
    back = np.arange(q.shape[3])[:, None] - np.arange(q.shape[3])
    left = window_size[0] if window_size[0] >= 0 else q.shape[3]
    return softmax(np.where((back >= 0) & (back <= left), scores, -1e9)) @ v


def _windowed(left: int) -> Any:
    return lambda random: {
        "q": floats(random, 1, 1, 64, 2048),
        "k": floats(random, 1, 1, 64, 2048),
        "v": floats(random, 1, 1, 2048, 64),
        "window_size": (left, -1),
    }


def _rolled(buffer: Any, hidden_states: Any, batch_ids: Any, position_ids: Any) -> np.ndarray:
    buffer[batch_ids, position_ids] = hidden_states
    return buffer


def _masked(q_ref: np.ndarray, k_ref: np.ndarray, v_ref: np.ndarray, mask_ref: np.ndarray) -> np.ndarray:
    return softmax(q_ref @ k_ref.transpose(0, 2, 1) + mask_ref[:, None]) @ v_ref


def _convolved(qkv: np.ndarray, conv_state: np.ndarray, conv_weight: np.ndarray, key_dim: int) -> list[np.ndarray]:
    """Return a causal convolution of four taps for each channel, and the windows that it leaves."""
    steps, channels = qkv.shape
    window = np.concatenate([conv_state, qkv.T], 1)
    sums = np.stack([(window[:, at : at + 4] * conv_weight).sum(1) for at in range(steps)])
    left = np.stack([window[:, at + 1 : at + 4] for at in range(steps)])
    return [_silu(sums).reshape(steps, channels // 128, 128).transpose(1, 0, 2), left if steps > 1 else left[0]]


def _channels(steps: int) -> Any:
    return lambda random: {
        "qkv": floats(random, steps, 1024),
        "conv_state": floats(random, 1024, 3),
        "conv_weight": floats(random, 1024, 4),
        "key_dim": 256,
    }


def _gated_norm(attn_raw: np.ndarray, gamma: np.ndarray, z: np.ndarray, eps: float) -> np.ndarray:
    heads = attn_raw.reshape(len(attn_raw), -1, 128)
    return rms_norm(heads, gamma, eps).reshape(attn_raw.shape) * _silu(z)


def _chunk(random: np.random.Generator) -> dict[str, Any]:
    def unit(scale: float) -> np.ndarray:
        x = floats(random, 128, 128)
        return x / np.linalg.norm(x, axis=1, keepdims=True) * np.float32(scale)

    decay = np.cumsum(-0.05 * random.random(128)).astype(np.float32)
    return {
        "query": unit(128**-0.5), "key": unit(1), "value": floats(random, 128, 128),
        "beta_broadcast": np.repeat(random.random((128, 1), np.float32), 128, 1),
        "g_cumsum": np.repeat(decay[:, None], 128, 1), "g_last": np.full((128, 128), decay[-1]),
        "state_in": floats(random, 128, 128, scale=0.1), "lower_mask": np.tril(np.ones((128, 128), np.float32), -1),
        "identity": np.eye(128, dtype=np.float32), "lower_mask_diag": np.tril(np.ones((128, 128), np.float32)),
    }  # fmt: skip


def _stepped(query: Any, key: Any, value: Any, beta_broadcast: Any, g_cumsum: Any, state_in: Any, **_: Any) -> Any:
    decays, state, out = np.diff(g_cumsum[:, 0], prepend=0), state_in, []
    for at in range(len(query)):
        row, state = delta_step(query[at], key[at], value[at], decays[at], beta_broadcast[at, 0], state)
        out.append(row)
    return [np.stack(out), state]


def _decoded(states: bool) -> Any:
    """Return two tokens of four value heads on two key heads; the states of every token, or of the last."""

    def reference(q: Any, k: Any, v: Any, a: Any, b: Any, A_log: Any, dt_bias: Any, init_state: Any) -> list[Any]:
        q = q / np.linalg.norm(q, axis=2, keepdims=True) / np.sqrt(128)
        k = k / np.linalg.norm(k, axis=2, keepdims=True)
        out, after = np.zeros((2, 4, 128)), np.zeros((2, 4, 128, 128))
        for head in range(4):
            state = init_state[head]
            for at in range(2):
                decay = -np.exp(A_log[head]) * np.log1p(np.exp(a[at, head] + dt_bias[head]))
                gate = 1 / (1 + np.exp(-b[at, head]))
                out[at, head], state = delta_step(q[head // 2, at], k[head // 2, at], v[head, at], decay, gate, state)
                after[at, head] = state
        return [out.reshape(2, 512), after if states else after[-1]]

    return reference


def _heads(random: np.random.Generator) -> dict[str, np.ndarray]:
    shapes = {"q": (2, 2, 128), "k": (2, 2, 128), "v": (4, 2, 128), "a": (2, 4), "b": (2, 4), "A_log": (4,)}
    shapes |= {"dt_bias": (4,), "init_state": (4, 128, 128)}
    return {name: floats(random, *shape, scale=0.3) for name, shape in shapes.items()}


def _optimized(v1: np.ndarray, v2: np.ndarray, v3: np.ndarray, v4: np.ndarray) -> np.ndarray:
    """AdamW: v1 the weights, v2 the gradient, v3 and v4 the moments."""
    second = (0.999 * v4 + 0.001 * v2 * v2) * 1000
    return v1 - 1e-5 * v1 - 0.01 * (0.9 * v3 + 0.1 * v2) / (np.sqrt(second) + 1e-8)


def _moments(random: np.random.Generator) -> dict[str, np.ndarray]:
    given = {name: floats(random, 10944, 2048) for name in ("v1", "v2", "v3", "v4")}
    return {**given, "v4": np.abs(given["v4"])}


def _turned(x_in: np.ndarray, cos: np.ndarray, sin: np.ndarray) -> np.ndarray:
    turned = (x_in[:64] + 1j * x_in[64:]) * (cos + 1j * sin)
    return np.concatenate([turned.real, turned.imag])


def _qubits(random: np.random.Generator) -> dict[str, Any]:
    """Return one gate on the first seven of nine qubits; a row of `idcs` moves a qubit: from, to, and their powers of two."""
    qubits = np.arange(9, dtype=np.uint32)
    return {
        "unitaries": floats(random, 1, 2, 128, 128),
        "idcs": np.stack([qubits, qubits, 1 << qubits, 1 << qubits], 1)[None].astype(np.uint32),
        "N": 512, "unitary_size": 128, "ntiles": 4, "batch_size": 4,
        "base": np.arange(512, dtype=np.uint32).reshape(4, 128).T.copy(),
    }  # fmt: skip


def _applied(unitaries: np.ndarray, **_: Any) -> np.ndarray:
    out = np.zeros((2, 512, 1))
    out[:, :128, 0] = unitaries[0, :, :, 0]
    return out


CASES: tuple[Case, ...] = (
    _PIDEM(
        "kernels/fused_linear.py", "nki_fused_linear",
        lambda random: {"input_t_hbm": floats(random, 192, 200), "weight_t_hbm": floats(random, 192, 600)},
        lambda input_t_hbm, weight_t_hbm: input_t_hbm.T @ weight_t_hbm,
    ),
    _PIDEM(
        "kernels/fused_linear.py", "nki_fused_linear",
        lambda random: {
            "input_t_hbm": floats(random, 192, 200), "weight_t_hbm": floats(random, 192, 600),
            "bias_hbm": floats(random, 600),
        },
        lambda input_t_hbm, weight_t_hbm, bias_hbm: input_t_hbm.T @ weight_t_hbm + bias_hbm, label=", bias",
    ),
    _PIDEM(
        "kernels/matmul_tiled.py", "nki_matmul_tiled",
        lambda random: {"a_T": floats(random, 192, 256), "w_T": floats(random, 192, 96)},
        lambda a_T, w_T: a_T.T @ w_T,
    ),
    _PIDEM(
        "kernels/scatter_reduce.py", "nki_scatter_reduce_sum_kernel",
        lambda random: {"index": random.integers(0, 16, 200).astype(np.int32), "length": 16},
        lambda index, length: np.bincount(index, minlength=length),
    ),
    _PIDEM(
        "nki_z_rot_mat.py", "_z_rot_mat_kernel",
        _rows("angle_kk", "freq_kk_bcast", "diag_kk_bcast", "anti_kk_bcast", shape=(128, 25)),
        lambda angle_kk, freq_kk_bcast, diag_kk_bcast, anti_kk_bcast: (
            np.cos(angle_kk * freq_kk_bcast) * diag_kk_bcast + np.sin(angle_kk * freq_kk_bcast) * anti_kk_bcast
        ),
    ),
    _GRADER("tensor_add_kernel", _rows("a_input", "b_input", shape=(128, 512)), lambda a_input, b_input: a_input + b_input),
    _GRADER("bin_sum_kernel", _rows("w", shape=(4096, 128)), lambda w: w.sum(1, keepdims=True)),
    _AGENT("examples/nki_softmax_output.py", "nki_kernel", _rows("x"), softmax),
    _AGENT(
        "examples/cuda_rmsnorm_migration/nki_rmsnorm_output.py", "nki_kernel", _rows("x"),
        lambda x: rms_norm(x, np.float32(1), 1e-6),
    ),
    _LABS(
        "lexs-project/nki-kernel-gen/examples/softmax/initial_kernel.py", "kernel", _rows("x", shape=(200, 512)), softmax,
        make=_jitted,
    ),
    _LABS(
        "analysis/logs/chip_seat115/morning_4090picks/kernels/l11.py", "nki_swiglu_", _rows("a", "b", shape=(200, 700)),
        lambda a, b: _silu(a) * b,
    ),
    _LABS(
        "analysis/logs/chip_seat115/morning_4090picks/kernels/l2.py", "tensor_transpose2D_kernel_",
        lambda random: {"x": floats(random, 4, 12), "shape2D": (3, 4)},
        lambda x, shape2D: x.reshape(-1, *shape2D).transpose(0, 2, 1).reshape(x.shape),
    ),
    *(
        _OPTIMIZER(kernel=operation, arguments=arguments, reference=reference, make=_authored(operation))
        for operation, arguments, reference in (
            ("rope_apply", lambda random: {
                "x": floats(random, 200, 128), "cos": floats(random, 200, 64), "sin": floats(random, 200, 64),
            }, _interleaved),
            ("gelu_tanh", _rows("x", shape=(200, 512)), lambda x: _gelu(x[:, :256]) * x[:, 256:]),
            ("softcap", lambda random: {"x": floats(random, 200, 600, scale=20), "cap": np.float32([30])},
             lambda x, cap: np.tanh(x / cap) * cap),
            ("add_rmsnorm", _rows("x", "residual", vectors=("gamma",)),
             lambda x, residual, gamma: rms_norm(x + residual, gamma, 1e-6)),
            ("layernorm", _rows("x", vectors=("gamma", "beta")), _centred),
            ("attn_decode", lambda random: {
                "q": floats(random, 1, 64), "k": floats(random, 512, 64), "v": floats(random, 512, 64),
            }, lambda q, k, v: softmax(q @ k.T / 8) @ v),
            ("rmsnorm", _rows("x", vectors=("gamma",)), lambda x, gamma: rms_norm(x, gamma, 1e-6)),
            ("silu_gate", _rows("x"), lambda x: _silu(x[:, :256]) * x[:, 256:]),
            ("softmax", _rows("x"), softmax),
        )
    ),
    _TUTORIAL(
        "flash_attention_kernel",
        lambda random: {**{f"{name}_tensor": floats(random, 1, 128, 64) for name in "qkv"}, "scale": 0.125},
        lambda q_tensor, k_tensor, v_tensor, scale: softmax(q_tensor @ k_tensor.transpose(0, 2, 1) * scale) @ v_tensor,
    ),
    _TUTORIAL(
        "optimized_layernorm_kernel",
        lambda random: {"input_tensor": floats(random, 1, 128, 64), "weight": floats(random, 64), "bias": floats(random, 64)},
        lambda input_tensor, weight, bias: _centred(input_tensor[0], weight, bias)[None],
    ),
    _TUTORIAL("fused_gelu_kernel", _rows("input_tensor", shape=(128, 256)), lambda input_tensor: _gelu(input_tensor)),
    _INFERENCE(
        "src/neuronx_distributed_inference/modules/custom_calls.py", "rmsnorm_kernel",
        lambda random: {"x": floats(random, 2, 200, 512), "w": floats(random, 512), "axis": 1, "n": 512, "eps": 1e-6},
        lambda x, w, axis, n, eps: rms_norm(x, w, eps),
    ),
    _INFERENCE(
        "src/neuronx_distributed_inference/modules/eagle/hidden_state.py", "rolling_buffer_set_state",
        lambda random: {
            "buffer": floats(random, 4, 6, 256), "hidden_states": floats(random, 3, 256),
            "batch_ids": np.int32([2, 0, 3]), "position_ids": np.int32([5, 1, 0]),
        },
        _rolled,
    ),
    _INFERENCE(
        "src/neuronx_distributed_inference/modules/kvcache/utils.py", "write_kv_cache_at_batch_kernel",
        lambda random: {
            **{name: floats(random, 1, 2, 128, 64) for name in "KV"},
            **{f"{name}_prior": floats(random, 3, 2, 128, 64) for name in "KV"}, "batch_idx": np.int32([[1]]),
        },
        lambda K, V, K_prior, V_prior, batch_idx: [
            np.concatenate([K_prior[:1], K, K_prior[2:]]), np.concatenate([V_prior[:1], V, V_prior[2:]]),
        ],
    ),
    _INFERENCE(
        "src/neuronx_distributed_inference/utils/distributed.py", "split_along_dim0_kernel",
        lambda random: {"tensor": floats(random, 8, 512), "rank": np.int32([2]), "num_partitions": 4},
        lambda tensor, rank, num_partitions: tensor[4:6], make=_with_division,
    ),
    *(
        _INFERENCE(
            "src/neuronx_distributed_inference/modules/sliding_window/attention.py", "flash_fwd", _windowed(left), _window,
            label=f", window {left}", tolerance=2e-2, make=lambda module: module.flash_fwd[1, 1],
        )
        for left in (-1, 200)
    ),
    Case(
        "jimburtoft/neuronx-distributed-inference", "4015aa4",
        "contrib/models/ltx2-video-audio/src/nki_cross_attention_kernel.py", "cross_attn_kernel",
        lambda random: {
            "q_ref": floats(random, 1, 256, 128, scale=0.1), "k_ref": floats(random, 1, 1024, 128),
            "v_ref": floats(random, 1, 1024, 128),
            "mask_ref": np.where(random.random((1, 1024)) < 0.3, -10000, 0).astype(np.float32),
        },
        _masked, tolerance=2e-2,
    ),
    *(
        _QWEN(_DELTANET + "components/conv.py", name, _channels(steps), _convolved)
        for name, steps in (("deltanet_conv_tkg_fwd", 1), ("deltanet_conv_tkg_fwd_cand", 2))
    ),
    _QWEN(
        _DELTANET + "components/norm_gate.py", "deltanet_gated_rmsnorm",
        lambda random: {
            "attn_raw": floats(random, 2, 512), "gamma": floats(random, 128), "z": floats(random, 2, 512), "eps": 1e-6,
        },
        _gated_norm,
    ),
    *(
        _QWEN(_DELTANET + "components/recurrence.py", name, _heads, _decoded(states))
        for name, states in (("deltanet_tkg_fwd", False), ("deltanet_tkg_fwd_state", True))
    ),
    _QWEN(_DELTANET + "prefill/chunked_step.py", "deltanet_chunk_step", _chunk, _stepped),
    _BENCH("workspaces/adamw/runs/adamw_v1.py", arguments=_moments, reference=_optimized),
    _BENCH(
        "workspaces/rope_single_freq_apply/runs/rope_v3_layoutB_pe_w256.py",
        arguments=lambda random: {
            "x_in": floats(random, 128, 1024), "cos": floats(random, 64, 1024), "sin": floats(random, 64, 1024),
        },
        reference=_turned,
    ),
    _BENCH(
        "workspaces/rmsnorm_matmul/runs/rmsnorm_matmul_v4_bf16_split.py",
        arguments=lambda random: {"v1": floats(random, 32, 128, 1024), "v2": floats(random, 8, 128, 2048)},
        reference=lambda v1, v2: rms_norm(v1, np.float32(1), 0.0) @ v2.reshape(1024, 2048),
    ),
    Case(
        "biquando/trainium-quantum-sim", "750a5a7", "src/circuit.py", "kernel", _qubits, _applied,
        make=lambda module: module.QuantumCircuit.kernel,
    ),
)  # fmt: skip
