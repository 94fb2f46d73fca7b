"""ucb-bar/autocomp: its convolutions, causal attentions, the tasks that it calls internal, and the layers of a Llama."""

from __future__ import annotations

from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from validation.wild.cases.autocomp import NEW, OLD, REPOSITORY
from validation.wild.cases.case import Case, convolution, floats, mamba, softmax

_case = partial(Case, *REPOSITORY, kernel="solution")
_PRELUDES = {1: OLD, 2: NEW}
_LEAST = -9984.0  # what these kernels put where the causal mask hides a score


def _advanced(dialect: int, file: str, **fields: Any) -> Case:
    return _case(f"sols/trn-advanced-nki{dialect}/{file}_ref.py", prelude=_PRELUDES[dialect], **fields)


def _internal(file: str, **fields: Any) -> Case:
    return _case(f"sols/trn-internal/{file}_ref.py", prelude=NEW, **fields)


def _rows_of_channels(random: np.random.Generator) -> dict[str, Any]:
    image, taps = floats(random, 2, 256, 1, 64), floats(random, 256, 1, 1, 3)
    return {"img_ref": image, "filter_ref": taps, "padding": ((0, 0), (1, 1))}


def _convolved_rows(img_ref: np.ndarray, filter_ref: np.ndarray, padding: Any) -> np.ndarray:
    """Convolve each channel with its own filter."""
    padded = np.pad(img_ref, ((0, 0), (0, 0), *padding))
    windows = np.lib.stride_tricks.sliding_window_view(padded, filter_ref.shape[-1], axis=3)
    return np.einsum("nchwk,ck->nchw", windows, filter_ref[:, 0, 0])


def _image(filters: str, order: tuple[int, ...]) -> Any:
    return lambda random: {
        "img_ref": floats(random, 1, 128, 8, 16),
        filters: floats(random, 128, 128, 3, 3).transpose(order).copy(),
        "padding": ((1, 1), (1, 1)), "stride": (1, 1), "rhs_dilation": (1, 1),
        **{f"{side}_perm": [0, 1, 2, 3] for side in ("in", "kern", "out")},
    }  # fmt: skip


def _padded(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    return convolution(np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))), w)


def _causal(dialect: int, *heads: int, length: int = 2048) -> Any:
    def made(random: np.random.Generator) -> dict[str, Any]:
        given = {name: random.random((*heads, length, 128), np.float32) for name in "qv"}
        given["k"] = random.random((*heads, 128, length), np.float32)
        given |= {"kernel_dtype": ml_dtypes.bfloat16, "acc_type": np.float32}
        return given | ({"causal_mask": np.tril(np.ones((length, length), np.float32))} if dialect == 2 else {})

    return made


def _statistics(scores: np.ndarray, v: np.ndarray) -> list[np.ndarray]:
    """Return the weighted values, the logarithm of the sums, and the maxima."""
    largest = scores.max(-1, keepdims=True)
    powers = np.exp(scores - largest)
    return [powers @ v, np.log(powers.sum(-1, keepdims=True)) + largest, largest]


def _attended(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, causal_mask: np.ndarray | None = None, **_: Any
) -> list[np.ndarray]:
    """Return the old dialect's kernels, which compute the mask themselves, round their inputs and scores to bfloat16."""
    visible = np.tril(np.ones((q.shape[-2], q.shape[-2]), bool))
    scores = q @ k if causal_mask is not None else _rounded(_rounded(q) @ _rounded(k))
    return _statistics(np.where(visible, scores, _LEAST), v)


def _rounded(x: np.ndarray) -> np.ndarray:
    return x.astype(ml_dtypes.bfloat16).astype(np.float32)


def _attended_by_columns(q: np.ndarray, k: np.ndarray, v: np.ndarray, **_: Any) -> list[np.ndarray]:
    """As `_attended`, with each square tile of q transposed: the kernel contracts its rows."""
    heads, length, depth = q.shape
    tiles = q.reshape(heads, length // depth, depth, depth).transpose(0, 1, 3, 2)
    return _attended(tiles.reshape(q.shape), k, v)


def _long(random: np.random.Generator) -> dict[str, Any]:
    length, tile = 2048, 8
    return {
        **{name: random.random((128, length), np.float32) for name in "qk"},
        "v": random.random((128, length // 128, 128), np.float32),
        "olm_prev": random.random((128, 130), np.float32),
        "kernel_dtype": ml_dtypes.bfloat16, "acc_type": np.float32,
        "tile_mask": (np.arange(length) <= tile * 128 + np.arange(128)[:, None]).astype(np.float32),
        "q_tile_idx": tile, "LARGE_KV_TILE_SIZE": length,
    }  # fmt: skip


def _updated(q: Any, k: Any, v: Any, olm_prev: Any, tile_mask: Any, q_tile_idx: int, **_: Any) -> np.ndarray:
    scores = q[:, q_tile_idx * 128 : (q_tile_idx + 1) * 128].T @ k
    scores = np.where(tile_mask > 0, scores, _LEAST)
    before = olm_prev[:, 129:]
    largest = np.maximum(scores.max(1, keepdims=True), before)
    powers, kept = np.exp(scores - largest), np.exp(before - largest)
    values = v.transpose(1, 0, 2).reshape(-1, 128)
    sums = olm_prev[:, 128:129] * kept + powers.sum(1, keepdims=True)
    return np.concatenate([olm_prev[:, :128] * kept + powers @ values, sums, largest], 1)


def _triangles(q: np.ndarray, k: np.ndarray, v: np.ndarray, bias: np.ndarray) -> np.ndarray:
    heads = bias.shape[-1]
    parts = [x.reshape(*x.shape[:2], heads, -1).astype(np.float32) for x in (q, k, v)]
    scores = np.einsum("rqhd,rkhd->rhqk", *parts[:2]) / np.sqrt(parts[0].shape[-1])
    weights = softmax(scores + bias.transpose(2, 0, 1)[None].astype(np.float32))
    return np.einsum("rhqk,rkhd->rqhd", weights, parts[2]).reshape(q.shape)


def _fourier(random: np.random.Generator) -> dict[str, np.ndarray]:
    matrix = np.exp(-2j * np.pi * np.outer(np.arange(128), np.arange(128)) / 128)
    twiddles = np.repeat(np.exp(-2j * np.pi * np.arange(128) / 256)[None], 128, 0)
    given = {"X_real_hbm": floats(random, 128, 256), "X_imag_hbm": floats(random, 128, 256)}
    for name, value in (("W_128", matrix), ("twiddle", twiddles)):
        given[f"{name}_real_hbm"] = value.real.astype(np.float32)
        given[f"{name}_imag_hbm"] = value.imag.astype(np.float32)
    return given


def _transformed(X_real_hbm: np.ndarray, X_imag_hbm: np.ndarray, **_: Any) -> list[np.ndarray]:
    spectrum = np.fft.fft(X_real_hbm + 1j * X_imag_hbm, axis=1)
    return [spectrum.real, spectrum.imag]


def _scanned_inputs(random: np.random.Generator) -> dict[str, np.ndarray]:
    heads, dims, states, steps = 64, 4, 3, 128
    return {
        "dA_exp_t": random.random((heads, steps), np.float32), "dBx_t": floats(random, heads * dims * states, steps),
        "C_t": floats(random, heads * states, steps), "Dx_t": floats(random, heads * dims, steps),
        "x_t": floats(random, heads * dims, steps), "hd_range": np.zeros(dims, np.float32),
        "ss_range": np.zeros(states, np.float32),
    }  # fmt: skip


def _scanned(dA_exp_t: Any, dBx_t: Any, C_t: Any, Dx_t: Any, hd_range: Any, ss_range: Any, **_: Any) -> Any:
    heads, steps = dA_exp_t.shape
    inputs = dBx_t.reshape(len(hd_range), len(ss_range), heads, steps)
    state, out = np.zeros(inputs.shape[:-1]), Dx_t.reshape(len(hd_range), heads, steps).astype(np.float64)
    outputs = C_t.reshape(len(ss_range), heads, steps)
    for at in range(steps):
        state = dA_exp_t[:, at] * state + inputs[..., at]
        out[..., at] += (state * outputs[None, ..., at]).sum(1)
    return [out.reshape(Dx_t.shape), state.reshape(-1, 1)]


def _qubits(random: np.random.Generator) -> dict[str, np.ndarray]:
    """Nine qubits, seven of them over partitions; three steps. The matrix of the seven is any complex matrix."""
    angle, width = 0.3, 4
    phase = np.exp(1j * random.random((128, width)))
    matrix = (floats(random, 128, 128) + 1j * floats(random, 128, 128)) / 16
    swaps = np.stack([np.arange(width) ^ 1 << bit for bit in range(2)])
    return {
        "psi_real_in": floats(random, 128, width), "psi_imag_in": floats(random, 128, width),
        "zz_phase_real": phase.real.astype(np.float32), "zz_phase_imag": phase.imag.astype(np.float32),
        "cos_val_in": np.full((128, 1), np.cos(angle), np.float32),
        "sin_val_in": np.full((128, 1), np.sin(angle), np.float32), "n_steps_dummy": np.zeros(3, np.float32),
        "rx_mat_rr_T_in": matrix.real.T.astype(np.float32).copy(), "rx_mat_ri_T_in": (-matrix.imag.T).astype(np.float32),
        "rx_mat_ir_T_in": matrix.imag.T.astype(np.float32).copy(), "rx_mat_ii_T_in": matrix.real.T.astype(np.float32).copy(),
        "free_xor_indices_in": np.repeat(swaps[:, None], 128, 1).astype(np.uint32),
    }  # fmt: skip


def _evolved(psi_real_in: Any, psi_imag_in: Any, cos_val_in: Any, sin_val_in: Any, **given: Any) -> list[np.ndarray]:
    state = psi_real_in + 1j * psi_imag_in
    matrix = given["rx_mat_rr_T_in"].T + 1j * given["rx_mat_ir_T_in"].T
    phase = given["zz_phase_real"] + 1j * given["zz_phase_imag"]

    def half(state: np.ndarray) -> np.ndarray:
        for swap in given["free_xor_indices_in"][:, 0]:
            state = cos_val_in * state.real - sin_val_in * state[:, swap].imag + 1j * (
                cos_val_in * state.imag + sin_val_in * state[:, swap].real
            )  # fmt: skip
        return matrix @ state

    for _ in given["n_steps_dummy"]:
        state = half(phase * half(state))
    return [state.real, state.imag]


def _tokens(random: np.random.Generator) -> dict[str, np.ndarray]:
    given = {name: floats(random, 16, 128, scale=0.1) for name in ("query", "key", "value")}
    for name, values in (("g_in", -random.random(16)), ("beta_in", random.random(16))):
        given[name] = np.repeat(values[:, None], 128, 1).astype(np.float32)
    return given


def _remembered(query: Any, key: Any, value: Any, g_in: Any, beta_in: Any) -> np.ndarray:
    state, out = np.zeros((128, 128)), []
    for at in range(len(query)):
        state = state * np.exp(g_in[at, 0])
        state = state + np.outer(key[at], (value[at] - state.T @ key[at]) * beta_in[at, 0])
        out.append(state.T @ query[at])
    return np.stack(out)


def _states(random: np.random.Generator) -> dict[str, np.ndarray]:
    b, c = floats(random, 1, 4, 512), floats(random, 1, 4, 512)
    return {
        "delta": random.random((1, 256, 512), np.float32) * np.float32(0.1), "u": floats(random, 1, 256, 512),
        "A": -random.random((256, 4), np.float32), "B_exp": b.repeat(128, 1), "C_exp": c.repeat(128, 1),
    }  # fmt: skip


def _by_rows(q: np.ndarray, k: np.ndarray, v: np.ndarray, scale: float) -> np.ndarray:
    """Return what the kernel computes: it contracts the rows of a tile of q, and those of the scores of 128 columns, without a transposition."""
    keys, values, tiles = (
        k[0].astype(np.float32),
        v[0].astype(np.float32),
        q[0].astype(np.float32).reshape(-1, 128, 128),
    )
    out = []
    for tile in tiles:
        scores = scale * tile.T @ keys
        total, sums, largest = np.zeros((128, 128)), np.zeros((128, 1)), np.full((128, 1), _LEAST)
        for at in range(0, scores.shape[1], 512):
            part = scores[:, at : at + 512]
            now = np.maximum(largest, part.max(1, keepdims=True))
            kept, powers = np.exp(largest - now), np.exp(part - now)
            product = sum(powers[:, to : to + 128].T @ values[at + to : at + to + 128] for to in range(0, 512, 128))
            total, sums, largest = total * kept + product, sums * kept + powers.sum(1, keepdims=True), now
        out.append(total / sums)
    return np.concatenate(out)[None]


def _half(random: np.random.Generator, *shape: int, scale: float = 0.5) -> np.ndarray:
    return floats(random, *shape, scale=scale).astype(ml_dtypes.bfloat16)


def _llama(file: str, **fields: Any) -> Case:
    return _case(f"sols/trn-e2e/{file}.py", prelude=OLD, **fields)


def _perceptron(tokens: int, first: str) -> Any:
    return lambda random: {
        first: floats(random, tokens, 1, 2048, scale=0.1), "up_w": floats(random, 2048, 4096, scale=0.02),
        "gate_w": floats(random, 2048, 4096, scale=0.02), "down_w": floats(random, 4096, 2048, scale=0.02),
    }  # fmt: skip


def _projected(up_w: np.ndarray, gate_w: np.ndarray, down_w: np.ndarray, **tokens: np.ndarray) -> np.ndarray:
    [x] = tokens.values()
    gate = x @ gate_w
    return (gate / (1 + np.exp(-gate)) * (x @ up_w)) @ down_w


def _vocabulary(random: np.random.Generator) -> dict[str, np.ndarray]:
    block = _half(random, 2048, 2004)
    return {"hidden_states": _half(random, 1, 1, 2048), "lm_head_weight": np.tile(block, (1, 32))}


def _next_token(batch: int, least_batch: int) -> Any:
    """Sixteen heads on four of keys, after 512 tokens. The mask is one for all, or one for each sequence and head."""

    def made(random: np.random.Generator) -> dict[str, Any]:
        given = {name: floats(random, batch, heads, 1, 64) for name, heads in (("Q", 16), ("K", 4), ("V", 4))}
        before = floats(random, 2, batch, 4, 512, 64)
        past = {"past_k": before[0], "past_v": before[1]} if batch == least_batch else {"past_key_value": before}
        rows = (1, 1) if batch == least_batch else (batch, 16)
        return given | past | {"attention_mask": (random.random((*rows, 1, 512)) < 0.7).astype(np.uint8)}

    return made


def _answered(Q: Any, K: Any, V: Any, attention_mask: Any, **past: Any) -> np.ndarray:
    keys, values = past["past_key_value"] if "past_key_value" in past else (past["past_k"], past["past_v"])
    keys, values = (np.concatenate([x, y], 2).repeat(4, 1) for x, y in ((keys, K), (values, V)))
    scores = Q @ keys.transpose(0, 1, 3, 2) / 8
    visible = np.concatenate([np.broadcast_to(attention_mask, (*Q.shape[:3], 512)), np.ones((*Q.shape[:3], 1))], 3)
    return softmax(np.where(visible > 0, scores, -1e4)) @ values


CASES: tuple[Case, ...] = (
    *(_advanced(d, "4_conv1d", arguments=_rows_of_channels, reference=_convolved_rows) for d in (1, 2)),
    _advanced(
        1, "5_conv2d", arguments=_image("filter_ref", (0, 1, 2, 3)),
        reference=lambda img_ref, filter_ref, **_: _padded(img_ref, filter_ref),
    ),
    _advanced(
        2, "5_conv2d", arguments=_image("filter_T_ref", (1, 2, 3, 0)),
        reference=lambda img_ref, filter_T_ref, **_: _padded(img_ref, filter_T_ref.transpose(3, 0, 1, 2)),
    ),
    *(_advanced(d, "6_csa_2048", arguments=_causal(d), reference=_attended, tolerance=2e-2) for d in (1, 2)),
    *(_advanced(d, "7_csa_16384", arguments=_long, reference=_updated, tolerance=2e-2) for d in (1, 2)),
    _advanced(
        1, "8_mha", arguments=lambda random: {**_causal(1, 2)(random), "num_heads": 2}, reference=_attended_by_columns,
        tolerance=2e-2,
    ),
    _advanced(
        2, "8_mha", arguments=lambda random: {**_causal(2, 2)(random), "num_heads": 2}, reference=_attended,
        tolerance=2e-2,
    ),
    _case(
        "sols/trn-tutorial-nki2/3_mamba_ref.py", prelude=NEW, arguments=_states,
        reference=lambda delta, u, A, B_exp, C_exp: mamba(delta, u, A, B_exp[:, ::128], C_exp[:, ::128]),
    ),
    _case(
        "sols/trn-tutorial-nki2/5_sdattention_ref.py", prelude=NEW,
        arguments=lambda random: {name: floats(random, 1024, 64, scale=0.3) for name in "qkv"},
        reference=lambda q, k, v: softmax(0.125 * (q @ k.T)) @ v,
    ),
    _internal(
        "3_triattn",
        arguments=lambda random: {**{n: _half(random, 128, 128, 64) for n in "qkv"}, "bias": _half(random, 128, 128, 2)},
        reference=_triangles, tolerance=2e-2,
    ),
    _internal(
        "4_trimul", arguments=lambda random: {name: _half(random, 256, 256, 8) for name in "ab"},
        reference=lambda a, b: np.einsum("ikd,jkd->ijd", a.astype(np.float32), b.astype(np.float32)), tolerance=2e-2,
    ),
    _internal("5_fft256", arguments=_fourier, reference=_transformed),
    _internal("6_mamba_scan", arguments=_scanned_inputs, reference=_scanned),
    _internal("7_trotter", arguments=_qubits, reference=_evolved),
    _internal("8_deltanet_recurrent", arguments=_tokens, reference=_remembered),
    _internal(
        "10_openfold3_trimul", arguments=lambda random: {"a_ki": floats(random, 512, 512), "b_kj": floats(random, 512, 512)},
        reference=lambda a_ki, b_kj: a_ki.T @ b_kj,
    ),
    _internal(
        "12_flashvsr_fp32attn",
        arguments=lambda random: {
            "q": _half(random, 1, 256, 128), "k": _half(random, 1, 128, 1024), "v": _half(random, 1, 1024, 128), "scale": 0.1,
        },
        reference=_by_rows, tolerance=2e-2,
    ),
    _internal(
        "15_gemm", arguments=lambda random: {"a_t_hbm": floats(random, 1024, 192), "b_hbm": floats(random, 1024, 1024)},
        reference=lambda a_t_hbm, b_hbm: a_t_hbm.T @ b_hbm,
    ),
    _llama("3_llama_mlp_decode_nki", arguments=_perceptron(1, "lhs"), reference=_projected),
    _llama("11_llama_mlp_decode_b32_nki", arguments=_perceptron(32, "x_dev"), reference=_projected),
    _llama("5_llama_attention_nki", arguments=_next_token(1, 1), reference=_answered),
    _llama("9_llama_attention_b32_nki", arguments=_next_token(32, 1), reference=_answered),
    _llama(
        "7_llama_logits.nki", arguments=_vocabulary, tolerance=2e-2,
        reference=lambda hidden_states, lm_head_weight: (
            hidden_states.astype(np.float32) @ lm_head_weight.astype(np.float32)
        ),
    ),
)  # fmt: skip
