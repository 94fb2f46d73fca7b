"""State-space layers, image warps by gathers, and first kernels of courses and of programs that write kernels."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from validation.wild.cases.case import Case, floats, rms_norm
from validation.wild.cases.contest import silu

_SSM = partial(Case, "awslabs/state-space-models-neuron", "3e6d165", tolerance=5e-3)
_WARP = partial(Case, "yahavb/pave_univr_trn2_repro", "4307f43")
_COURSE = partial(Case, "arminagha1234/trainium-course-cluster", "d25aaed")

Arrays = dict[str, Any]
_SIZES = {"n_groups": 2, "d_state": 128, "d_inner": 256, "d_head": 64}


def _grouped(input_tensor: np.ndarray, w_tensor: np.ndarray, bias_tensor: np.ndarray) -> np.ndarray:
    """Return a causal convolution of each channel by itself over [batch, S, channels]."""
    taps = w_tensor.shape[2]
    padded = np.pad(input_tensor, ((0, 0), (taps - 1, 0), (0, 0)))
    return sum(padded[:, i : i + input_tensor.shape[1]] * w_tensor[:, 0, i] for i in range(taps)) + bias_tensor


def _channels(random: np.random.Generator) -> Arrays:
    return {
        "input_tensor": floats(random, 2, 256, 128),
        "w_tensor": floats(random, 128, 1, 4),
        "bias_tensor": floats(random, 128),
        "activation": "silu",
    }


def _convolved(input_tensor: Any, w_tensor: Any, bias_tensor: Any, activation: str) -> np.ndarray:
    return silu(_grouped(input_tensor, w_tensor, bias_tensor))


def _backward(input_tensor: Any, w_tensor: Any, bias_tensor: Any, d_output_tensor: Any, activation: str) -> Any:
    """The kernel goes through the sequence 128 at a time and carries nothing backwards, so S is 128 here."""
    z = _grouped(input_tensor, w_tensor, bias_tensor)
    sigmoid = 1 / (1 + np.exp(-z))
    d_z = d_output_tensor * sigmoid * (1 + z * (1 - sigmoid))
    after = np.pad(d_z, ((0, 0), (0, 3), (0, 0)))
    before = np.pad(input_tensor, ((0, 0), (3, 0), (0, 0)))
    d_input = sum(after[:, i : i + 128] * w_tensor[:, 0, 3 - i] for i in range(4))
    d_weight = np.stack([(before[:, i : i + 128] * d_z).sum((0, 1)) for i in range(4)], 1)[:, None]
    return d_input, d_weight, d_z.sum((0, 1))


def _token(random: np.random.Generator) -> Arrays:
    return {
        "xBC_tensor": floats(random, 2, 1, 512),
        "conv_state_tensor": floats(random, 2, 512, 4),
        "conv_weight_tensor": floats(random, 512, 4),
        "conv_bias_tensor": floats(random, 512),
        "S_tensor": floats(random, 2, 4, 64, 64),
        "dt_tensor": np.abs(floats(random, 2, 1, 4)),
        "logA_tensor": -np.abs(floats(random, 4)),
        "D_tensor": floats(random, 4),
        "out_S_tensor": np.zeros((2, 4, 64, 64), np.float32),
        "out_Y_tensor": np.zeros((2, 1, 256), np.float32),
        "out_conv_tensor": np.zeros((2, 512, 4), np.float32),
        "n_groups": 2,
    }


def _stepped(
    xBC_tensor: Any, conv_state_tensor: Any, conv_weight_tensor: Any, conv_bias_tensor: Any, S_tensor: Any, dt_tensor: Any,
    logA_tensor: Any, D_tensor: Any, **_: Any,
) -> Any:  # fmt: skip
    window = np.concatenate([conv_state_tensor[:, :, 1:], xBC_tensor[:, 0, :, None]], 2)
    z = silu((window * conv_weight_tensor).sum(2) + conv_bias_tensor)
    x, b, c = z[:, :256].reshape(2, 4, 64), z[:, 256:384].reshape(2, 2, 64), z[:, 384:].reshape(2, 2, 64)
    b, c, dt = np.repeat(b, 2, 1), np.repeat(c, 2, 1), dt_tensor[:, 0, :, None, None]
    state = S_tensor * np.exp(logA_tensor[:, None, None] * dt) + dt * x[..., None] * b[:, :, None]
    return state, (np.einsum("bhds,bhs->bhd", state, c) + D_tensor[:, None] * x).reshape(2, 1, 256), window


def _on_two(module: Any) -> Any:
    """Return the kernel decorated as its file does by way of torch_neuronx, on a grid of two."""
    from neuronxcc import nki

    return nki.jit(module.mamba_inference_kernel_)[2]


def _sequence(random: np.random.Generator) -> Arrays:
    return {
        "zxBCdt_tensor": floats(random, 1, 256, 256 + 768 + 4, scale=0.5),
        "logA_tensor": -np.abs(floats(random, 4)),
        "D_tensor": floats(random, 4),
        "conv_weight": floats(random, 768, 1, 4),
        "conv_bias": floats(random, 768),
        "dt_bias": floats(random, 4),
        "norm_weight_tensor": floats(random, 256),
        **_SIZES,
    }


def _layer(
    zxBCdt_tensor: Any,
    logA_tensor: Any,
    D_tensor: Any,
    conv_weight: Any,
    conv_bias: Any,
    dt_bias: Any,
    norm_weight_tensor: Any,
    **_: Any,
) -> Any:
    z, inner, steps = np.split(zxBCdt_tensor, (256, 1024), 2)
    mixed = silu(_grouped(inner, conv_weight, conv_bias))
    soft = np.log1p(np.exp(steps + dt_bias))
    x, b, c = (
        mixed[0, :, :256].reshape(256, 4, 64),
        mixed[0, :, 256:512].reshape(256, 2, 128),
        mixed[0, :, 512:].reshape(256, 2, 128),
    )
    state, scan = np.zeros((4, 64, 128)), np.zeros((1, 256, 256), np.float32)
    for at in range(256):
        dt = soft[0, at]
        keys, queries = np.repeat(b[at], 2, 0), np.repeat(c[at], 2, 0)
        state = state * np.exp(logA_tensor * dt)[:, None, None] + (dt[:, None] * x[at])[..., None] * keys[:, None]
        scan[0, at] = (np.einsum("hds,hs->hd", state, queries) + D_tensor[:, None] * x[at]).ravel()
    gated = (scan * silu(z)).reshape(1, 256, 2, 128)
    out = rms_norm(gated, norm_weight_tensor.reshape(2, 128), 1e-5).reshape(1, 256, 256)
    return out, z, inner, steps, mixed, soft, scan


def _taps(names: tuple[str, ...], weights: tuple[str, ...], kind: type) -> Any:
    def made(random: np.random.Generator) -> Arrays:
        indices = {name: random.integers(0, 300, (300, 1)).astype(kind) for name in names}
        return {"img": floats(random, 300, 48)} | indices | {name: floats(random, 300, 1) for name in weights}

    return made


def _blended(img: np.ndarray, **values: np.ndarray) -> np.ndarray:
    names = list(values)
    return sum(img[values[at][:, 0]] * values[weight] for at, weight in zip(names[:4], names[4:8], strict=True))


def _padded_image(random: np.random.Generator) -> Arrays:
    """Return an image of 16 x 20 pixels with a row and a column more."""
    rows, columns = random.integers(0, 16, 300), random.integers(0, 20, 300)
    return {
        "img_padded": floats(random, 17 * 21, 48),
        "idx_tl": (rows * 21 + columns).astype(np.uint32)[:, None],
        "wx": random.random((300, 1), np.float32),
        "wy": random.random((300, 1), np.float32),
        "w_pad": 21,
    }


def _bilinear(img_padded: Any, idx_tl: Any, wx: Any, wy: Any, w_pad: int) -> np.ndarray:
    at = idx_tl[:, 0].astype(int)
    top = img_padded[at] * (1 - wx) + img_padded[at + 1] * wx
    return top * (1 - wy) + (img_padded[at + w_pad] * (1 - wx) + img_padded[at + w_pad + 1] * wx) * wy


def _corners(random: np.random.Generator) -> Arrays:
    rows, columns = random.integers(0, 15, 300), random.integers(0, 19, 300)
    weights = {name: floats(random, 300, 1) for name in ("w_tl", "w_tr", "w_bl", "w_br")}
    return (
        {"img": floats(random, 320, 48), "idx_tl": (rows * 20 + columns).astype(np.uint32)[:, None]}
        | weights
        | {"row_w": 20}
    )


def _cornered(img: Any, idx_tl: Any, w_tl: Any, w_tr: Any, w_bl: Any, w_br: Any, row_w: int) -> np.ndarray:
    at = idx_tl[:, 0].astype(int)
    return img[at] * w_tl + img[at + 1] * w_tr + img[at + row_w] * w_bl + img[at + row_w + 1] * w_br


def _shifted(img: np.ndarray, wts: np.ndarray) -> np.ndarray:
    rows, columns = wts.shape[1:]
    return sum(img[i : i + rows, j : j + columns] * wts[3 * i + j][..., None] for i in range(3) for j in range(3))


CASES = (
    _SSM(
        "rmsnorm.py",
        "nki_rmsnorm_kernel",
        lambda r: {"a_tensor": floats(r, 200, 512), "g_tensor": floats(r, 512)},
        lambda a_tensor, g_tensor: rms_norm(a_tensor, g_tensor, 0.0),
    ),
    _SSM("mamba2/conv1d_grouped.py", "conv1d_with_transpose", _channels, _convolved),
    _SSM(
        "mamba2/conv1d_grouped.py",
        "conv1d_with_transpose_bwd",
        lambda r: _channels(r) | {"input_tensor": floats(r, 2, 128, 128), "d_output_tensor": floats(r, 2, 128, 128)},
        _backward,
    ),
    _SSM(
        "mamba2/mamba2_kernel_inference.py",
        "mamba_inference_kernel_",
        _token,
        _stepped,
        outputs=("out_S_tensor", "out_Y_tensor", "out_conv_tensor"),
        make=_on_two,
    ),
    _SSM("mamba2/fused_kernel.py", "fused_mamba2_kernel_fwd", _sequence, _layer),
    _WARP(
        "nki_shift_warp.py",
        "shift_warp_band",
        lambda r: {"img": floats(r, 202, 66, 3), "wts": floats(r, 9, 200, 64)},
        _shifted,
    ),
    _WARP(
        "pave_univr/nki_dma_warp.py",
        "bilinear_gather_blend",
        _taps(("idx_tl", "idx_tr", "idx_bl", "idx_br"), ("w_tl", "w_tr", "w_bl", "w_br"), np.uint32),
        _blended,
    ),
    _WARP("pave_univr/nki_dma_warp_v2.py", "bilinear_gather_blend_v2", _padded_image, _bilinear),
    _WARP("pave_univr/nki_dma_warp_v3.py", "bilinear_2x2_gather_blend", _corners, _cornered),
    _WARP(
        "pave_univr/resample_nki.py",
        "resample_gather_blend",
        _taps(("idx0", "idx1", "idx2", "idx3"), ("w0", "w1", "w2", "w3"), np.int32),
        _blended,
    ),
    _COURSE(
        "pcs/examples/scale_by_two/kernel.py",
        "scale_by_two",
        lambda r: {"x_hbm": floats(r, 200, 512)},
        lambda x_hbm: 2 * x_hbm,
    ),
    Case(
        "aws-neuron/torch2nki",
        "56f6d4e",
        "evaluation/samples/dot_product_kernel.py",
        "nki_dot_product",
        lambda r: {"a_tensor": floats(r, 64), "b_tensor": floats(r, 64)},
        lambda a_tensor, b_tensor: a_tensor @ b_tensor,
    ),
    Case(
        "aws-neuron/torch2nki",
        "56f6d4e",
        "evaluation/samples/matrix_multiplication_nki_kernels.py",
        "nki_matmul_block_free_dimension_",
        lambda r: {"lhsT": floats(r, 256, 256), "rhs": floats(r, 256, 1024)},
        lambda lhsT, rhs: lhsT.T @ rhs,
    ),
    Case(
        "arjun-banerjee/torch2nki",
        "c4fccc6",
        "vector_add_kernel.py",
        "vector_add_kernel",
        lambda r: {"v1": floats(r, 64), "v2": floats(r, 64)},
        lambda v1, v2: v1 + v2,
    ),
)
