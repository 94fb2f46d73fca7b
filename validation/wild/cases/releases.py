"""Kernels of AWS in older and newer releases: nki-samples of NKI 0.2, a workshop, vLLM, skills and samples for models."""

from __future__ import annotations

from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from validation.wild.cases.case import Arrays, Case, attention, floats, rms_norm, softmax
from validation.wild.cases.llama import paged, paged_attention

_SAMPLES = partial(Case, "aws-qieqingy/nki-samples", "c72a66b")
_FORK = partial(Case, "parfloat/nki-samples", "f5ddf35")
_WORKSHOP = partial(
    Case,
    "Maurits-de-Groot/WOR201---Accelerating-AI-Innovation-on-AWS-Trainium-and-Inferentia-with-the-Neuron-Kernel-Interface",
    "e999946",
)
_VLLM = partial(Case, "aws-neuron/upstreaming-to-vllm", "dd417b3", "vllm/attention/ops/nki_flash_attn.py")
_SKILLS = partial(Case, "aws-neuron/neuron-agentic-development", "1c2dacd")
_SPECTRAL = partial(
    Case, "aws-samples/sample-spectral-dns-on-aws-neuron", "5a408ab", "kernels/dft3d_perm_nki.py", target="trn1"
)
_REFERENCE, _TUTORIALS = "src/nki_samples/reference/", "src/nki_samples/tutorials/"


def _halves(random: np.random.Generator, *shape: int, scale: float = 1.0) -> np.ndarray:
    return floats(random, *shape, scale=scale).astype(ml_dtypes.bfloat16)


def _wide(*arrays: Any) -> list[np.ndarray]:
    return [np.asarray(array).astype(np.float32) for array in arrays]


def _heads(*names: str) -> Any:
    return lambda random: {name: _halves(random, 1, 1, 64, 2048) for name in names} | {
        "v": _halves(random, 1, 1, 2048, 64),
        "seed": None,
    }


def _causal(q: np.ndarray, k: np.ndarray, scale: float) -> np.ndarray:
    """Return the scores of q and k [d, S], with those of later keys left out."""
    scores = q.T @ k * scale
    return np.where(np.tril(np.ones(scores.shape)) > 0, scores, -1e9)


def _flash(q: Any, k: Any, v: Any, seed: None) -> Any:
    """Return the output [1, 1, S, d] and the logarithms of the rows' sums, [1, 1, 128, S / 128]."""
    q, k, v = (x[0, 0] for x in _wide(q, k, v))
    scores = _causal(q, k, 0.125)
    sums = scores.max(1) + np.log(np.exp(scores - scores.max(1, keepdims=True)).sum(1))
    return (softmax(scores) @ v)[None, None], sums.reshape(-1, 128).T[None, None]


def _gradient_arguments(random: np.random.Generator) -> Arrays:
    q, k, v, dy = (floats(random, 64, 512) for _ in range(4))
    scores = _causal(q, k, 0.125)
    sums = np.log(np.exp(scores).sum(1))
    arrays = {"q_ref": q, "k_ref": k, "v_ref": v, "o_ref": (softmax(scores) @ v.T).T, "dy_ref": dy}
    return {name: value[None, None] for name, value in arrays.items()} | {
        "lse_ref": sums.reshape(-1, 128).T[None, None].astype(np.float32),
        "seed_ref": None,
        "use_causal_mask": True,
    }


def _gradients(q_ref: Any, k_ref: Any, v_ref: Any, o_ref: Any, dy_ref: Any, **_: Any) -> Any:
    q, k, v, o, dy = (x[0, 0] for x in (q_ref, k_ref, v_ref, o_ref, dy_ref))
    weights = softmax(_causal(q, k, 0.125))
    d_scores = weights * (dy.T @ v - (dy * o).sum(0)[:, None]) * 0.125
    return k @ d_scores.T, q @ d_scores, dy @ weights


def _selected(operand_tensor: np.ndarray, source_tensor: np.ndarray) -> np.ndarray:
    """Each source element goes to the largest element of its 3 x 3 window, stride 2, padding 1."""
    height, width = operand_tensor.shape[2:]
    padded = np.pad(operand_tensor, ((0, 0), (0, 0), (1, 1), (1, 1)))
    out = np.zeros(padded.shape, np.float32)
    for i, j, y, x in np.ndindex(*source_tensor.shape):
        at = np.argmax(padded[i, j, 2 * y : 2 * y + 3, 2 * x : 2 * x + 3])
        out[i, j, 2 * y + at // 3, 2 * x + at % 3] += source_tensor[i, j, y, x]
    return out[:, :, 1 : height + 1, 1 : width + 1]


def _resized(data_tensor: np.ndarray, out_shape: tuple[int, ...]) -> np.ndarray:
    rows = np.arange(out_shape[1]) * data_tensor.shape[1] // out_shape[1]
    columns = np.arange(out_shape[2]) * data_tensor.shape[2] // out_shape[2]
    return data_tensor[:, rows][:, :, columns]


def _layer_norm(input_tensor: Any, epsilon: float, gamma_vector: Any, beta_vector: Any) -> np.ndarray:
    centred = input_tensor - input_tensor.mean(1, keepdims=True)
    return centred / np.sqrt(centred.var(1, keepdims=True) + epsilon) * gamma_vector + beta_vector


def _rotary(random: np.random.Generator) -> Arrays:
    angles = random.random((2, 200, 64)).astype(np.float32)
    angles = np.concatenate([angles, angles], -1)
    return {
        "q": floats(random, 2, 4, 200, 128),
        "k": floats(random, 2, 4, 200, 128),
        "cos": np.cos(angles),
        "sin": np.sin(angles),
    }


def _rotated(q: Any, k: Any, cos: Any, sin: Any) -> np.ndarray:
    turned = [np.concatenate([-x[..., 64:], x[..., :64]], -1) for x in (q, k)]
    return np.stack([x * cos[:, None] + t * sin[:, None] for x, t in zip((q, k), turned, strict=True)])


def _transform(*names: str) -> Any:
    """Return a field of 32^3 and the matrices of its transform."""
    angles = 2 * np.pi * np.outer(np.arange(32), np.arange(32)) / 32
    cosines, sines = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    return lambda random: {name: floats(random, 32, 32, 32) for name in names} | {
        "C": cosines,
        "S": sines,
        "nS": -sines,
    }


def _spectrum(f: np.ndarray, **_: Any) -> Any:
    """Return the spectrum with its last two axes swapped, as the kernels keep it."""
    spectrum = np.fft.fftn(f).transpose(0, 2, 1)
    return spectrum.real, spectrum.imag


CASES = (
    _SAMPLES(
        _REFERENCE + "allocated_attention.py",
        "allocated_fused_self_attn_for_SD_small_head_size",
        lambda r: {
            "q_ref": floats(r, 1, 128, 1024, scale=0.3),
            "k_ref": floats(r, 1, 128, 1024, scale=0.3),
            "v_ref": floats(r, 1, 1024, 128),
        },
        lambda q_ref, k_ref, v_ref: attention(q_ref[0], k_ref[0], v_ref[0].T, 0.125).T,
        tolerance=2e-2,
        make=lambda module: module.allocated_fused_self_attn_for_SD_small_head_size[1],
    ),
    _SAMPLES(
        _REFERENCE + "allocated_fused_linear.py",
        "allocated_fused_rms_norm_qkv",
        lambda r: {"hidden": _halves(r, 1, 256, 512), "weights": _halves(r, 512, 384, scale=0.05)},
        lambda hidden, weights: np.matmul(rms_norm(_wide(hidden)[0], np.float32(1), 1e-6), _wide(weights)[0]),
        tolerance=2e-2,
    ),
    _SAMPLES(
        _REFERENCE + "attention.py",
        "flash_fwd",
        _heads("q", "k"),
        _flash,
        tolerance=2e-2,
        make=lambda module: module.flash_fwd[1, 1],
    ),
    _SAMPLES(
        _REFERENCE + "attention.py",
        "flash_attn_bwd",
        _gradient_arguments,
        _gradients,
        make=lambda module: module.flash_attn_bwd[1, 1],
    ),
    _SAMPLES(
        _REFERENCE + "attention.py",
        "fused_self_attn_for_SD_small_head_size",
        lambda r: {
            "q_ref": floats(r, 2, 64, 1024, scale=0.3),
            "k_ref": floats(r, 2, 1024, 64, scale=0.3),
            "v_ref": floats(r, 2, 1024, 64),
        },
        lambda q_ref, k_ref, v_ref: softmax(0.125 * np.einsum("bdq,bkd->bqk", q_ref, k_ref)) @ v_ref,
        tolerance=2e-2,
        make=lambda module: module.fused_self_attn_for_SD_small_head_size[2],
    ),
    _SAMPLES(
        _REFERENCE + "tutorial.py",
        "add_kernel_nx8x128x512",
        lambda r: {"a_ptr": floats(r, 2, 8, 128, 512), "b_ptr": floats(r, 2, 8, 128, 512), "n_elements": 1048576},
        lambda a_ptr, b_ptr, n_elements: a_ptr + b_ptr,
        make=lambda module: module.add_kernel_nx8x128x512[2],
    ),
    _SAMPLES(
        _REFERENCE + "vision.py",
        "select_and_scatter_kernel",
        lambda r: {
            "operand_tensor": r.random((4, 64, 16, 16), np.float32),
            "source_tensor": r.random((4, 64, 8, 8), np.float32),
        },
        _selected,
    ),
    _SAMPLES(
        _REFERENCE + "vision.py",
        "resize_nearest_fixed_dma_kernel",
        lambda r: {"data_tensor": floats(r, 4, 6, 5, 32), "out_shape": (4, 11, 9, 32)},
        _resized,
    ),
    *(
        _SAMPLES(
            _TUTORIALS + "layernorm/layernorm_nki_kernel.py",
            f"nki_layernorm_kernel_v{version}",
            lambda r: {
                "input_tensor": floats(r, 300, 1024),
                "epsilon": 1e-5,
                "gamma_vector": floats(r, 1024),
                "beta_vector": floats(r, 1024),
            },
            _layer_norm,
        )
        for version in (1, 2)
    ),
    _SAMPLES(
        _TUTORIALS + "sd_attention/sd_attention_nki_kernels.py",
        "fused_self_attn_for_SD_small_head_size",
        lambda r: {f"{name}_ref": floats(r, 512, 64, scale=0.5) for name in "qkv"},
        lambda q_ref, k_ref, v_ref: softmax(0.125 * q_ref @ k_ref.T) @ v_ref,
        tolerance=2e-2,
    ),
    _FORK(
        _TUTORIALS + "rotary/rotary_nki_kernels.py",
        "nki_apply_rotary_embedding",
        _rotary,
        _rotated,
        make=lambda module: module.nki_apply_rotary_embedding[2, 4],
    ),
    _FORK(
        _TUTORIALS + "softmax/softmax_nki_kernels.py",
        "nki_softmax_kernel",
        lambda r: {"a_tensor": floats(r, 300, 512)},
        lambda a_tensor: softmax(a_tensor),
    ),
    _WORKSHOP(
        "2-custom-operators.py",
        "nki_tensor_add_kernel_",
        lambda r: {name: floats(r, 256, 1024) for name in ("a_input", "b_input", "c_output")},
        lambda a_input, b_input, c_output: a_input + b_input,
        outputs=("c_output",),
        prelude="from torch_neuronx import nki_jit",
        make=lambda module: _decorated(module.nki_tensor_add_kernel_)[2, 2],
    ),
    _WORKSHOP(
        "prof-kernel.py",
        "tensor_exp_kernel_",
        lambda r: {"in_tensor": floats(r, 250, 512), "out_tensor": np.zeros((250, 512), np.float32)},
        lambda in_tensor, out_tensor: np.exp(in_tensor),
        outputs=("out_tensor",),
        decorate=True,
    ),
    _VLLM(
        "flash_paged_attention",
        paged,
        paged_attention,
        tolerance=2e-2,
        make=lambda module: module.flash_paged_attention[1, 2],
        prelude="def cdiv(a, b): return -(-a // b)",
    ),
    _SKILLS(
        "skills/neuron-nki-writing/examples/simple_matmul.py",
        "simple_matmul",
        lambda r: {"lhs_T": floats(r, 200, 300), "rhs": floats(r, 200, 700)},
        lambda lhs_T, rhs: lhs_T.T @ rhs,
    ),
    _SPECTRAL("dft3d_fwd_real", _transform("f"), _spectrum),
    _SPECTRAL(
        "dft3d_inv_real",
        _transform("F_re", "F_im"),
        lambda F_re, F_im, **_: np.fft.ifftn((F_re + 1j * F_im).transpose(0, 2, 1)).real,
    ),
)


def _decorated(function: Any) -> Any:
    from neff_bench.simulator.nki.beta.jit import jit

    return jit(function)
