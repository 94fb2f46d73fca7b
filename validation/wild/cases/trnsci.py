"""trnsci: transforms, random numbers, linear algebra, tensor contractions and sparse products (current dialect, NKI 0.3)."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from validation.wild.cases.case import Case, floats

_FFT = partial(Case, "trnsci/trnfft", "9c494a8")
_RANDOM = partial(Case, "trnsci/trnrand", "cb37049", "trnrand/nki/dispatch.py")
_SOLVER = partial(Case, "trnsci/trnsolver", "48a415c", "trnsolver/nki/dispatch.py")
_TENSOR = partial(Case, "trnsci/trntensor", "cfad107", "trntensor/nki/_kernels.py")
_SPARSE = partial(Case, "trnsci/trnsparse", "6ae5ad9", "trnsparse/nki/kernels.py")
_WORD = 0xFFFFFFFF


def _parts(value: np.ndarray) -> list[np.ndarray]:
    return [value.real, value.imag]


def _butterflies(random: np.random.Generator) -> dict[str, Any]:
    """Stage 2 of four transforms of 64: 32 groups of 8."""
    states = {name: floats(random, 4, 64) for name in ("x_re", "x_im")}
    return {**states, **{name: floats(random, 32, 4) for name in ("tw_re_bcast", "tw_im_bcast")}, "n": 64, "stage": 2}


def _butterfly(x_re: Any, x_im: Any, tw_re_bcast: Any, tw_im_bcast: Any, n: int, stage: int) -> list[np.ndarray]:
    groups = (x_re + 1j * x_im).reshape(32, 8)
    turned = (tw_re_bcast + 1j * tw_im_bcast) * groups[:, 4:]
    return _parts(np.concatenate([groups[:, :4] + turned, groups[:, :4] - turned], 1).reshape(4, n))


def _radix4(x_re: np.ndarray, x_im: np.ndarray, tw_re: np.ndarray, tw_im: np.ndarray) -> list[np.ndarray]:
    return _parts(np.fft.fft((x_re + 1j * x_im) * (tw_re + 1j * tw_im)))


def _complex(*shapes: tuple[str, int, int]) -> Any:
    return lambda random: {
        f"{name}_{part}": floats(random, *shape) for name, *shape in shapes for part in ("real", "imag")
    }


def _cast(values: np.ndarray, least: int, most: int) -> np.ndarray:
    """Integers through float32, as a copy between integer types goes on the chip: they are rounded and saturate."""
    return np.clip(values.astype(np.float32).astype(np.int64), least, most)


def _philox(counter_lo_ref: np.ndarray, key_lo_ref: np.ndarray, key_hi_ref: np.ndarray) -> np.ndarray:
    """Philox 4x32-10 with the chip's casts between int32 and uint32: the kernel's authors say that its numbers are not
    Philox's for that reason (CHANGELOG.md of the repository)."""
    signed, unsigned = partial(_cast, least=-(1 << 31), most=_WORD >> 1), partial(_cast, least=0, most=_WORD)
    words = [counter_lo_ref.ravel().astype(np.int64), *(np.zeros(len(counter_lo_ref), np.int64) for _ in range(3))]
    keys = [key.ravel().astype(np.int64) for key in (key_lo_ref, key_hi_ref)]
    for _ in range(10):
        products = [
            unsigned(word).astype(np.uint64) * np.uint64(by) for word, by in zip(words[::2], (0xD2511F53, 0xCD9E8D57))
        ]
        (high, low), (higher, lower) = (
            [signed(one >> np.uint64(32)), signed(one & np.uint64(_WORD))] for one in products
        )
        words = [higher ^ words[1] ^ keys[0], lower, high ^ words[3] ^ keys[1], low]
        keys = [signed(unsigned(key) + by & _WORD) for key, by in zip(keys, (0x9E3779B9, 0xBB67AE85))]
    return np.stack(words, 1).astype(np.int32)


def _threefry(**references: np.ndarray) -> np.ndarray:
    """Threefry 4x32-20 with four pairs of rotations; the 24 low bits of each word as a fraction."""
    given = [value.ravel().astype(np.uint64) for value in references.values()]
    words, keys = given[:4], given[4:]
    keys.append(keys[0] ^ keys[1] ^ keys[2] ^ keys[3] ^ np.uint64(0x1BD11BDA))

    def inject(step: int) -> list[np.ndarray]:
        steps = (0, 0, 0, step)
        return [(words[at] + keys[(step + at) % 5] + np.uint64(steps[at])) & np.uint64(_WORD) for at in range(4)]

    words = inject(0)
    for turn in range(20):
        one, two = ((10, 26), (11, 21), (13, 27), (23, 5))[turn % 4]
        for a, b, bits in ((0, 1, one), (2, 3, two)) if turn % 2 == 0 else ((0, 3, one), (2, 1, two)):
            words[a] = (words[a] + words[b]) & np.uint64(_WORD)
            turned = words[b] << np.uint64(bits) | words[b] >> np.uint64(32 - bits)
            words[b] = turned & np.uint64(_WORD) ^ words[a]
        if turn % 4 == 3:
            words = inject(turn // 4 + 1)
    return np.stack([(word & np.uint64(0xFFFFFF)).astype(np.float64) / 2**24 for word in words], 1)


def _sobol(gray_ref: np.ndarray) -> np.ndarray:
    """24 bits of the first ten Sobol dimensions, with the direction numbers of Joe and Kuo."""
    table = [(1, 0, (1,)), (2, 1, (1, 1)), (3, 1, (1, 1, 1)), (3, 2, (1, 1, 3)), (4, 1, (1, 1, 1, 1)),
             (4, 4, (1, 3, 5, 13)), (5, 2, (1, 1, 5, 5, 17)), (5, 4, (1, 1, 5, 5, 5)), (5, 7, (1, 1, 7, 11, 19))]  # fmt: skip
    directions = [[1 << 23 - bit for bit in range(24)]]
    for degree, polynomial, start in table:
        numbers = [value << 23 - at for at, value in enumerate(start)]
        for at in range(degree, 24):
            number = numbers[at - degree] ^ numbers[at - degree] >> degree
            for step in range(1, degree):
                number ^= numbers[at - step] * (polynomial >> degree - 1 - step & 1)
            numbers.append(number)
        directions.append(numbers)
    points = np.zeros((len(gray_ref), 10), np.int64)
    for dimension, numbers in enumerate(directions):
        for bit, number in enumerate(numbers):
            points[:, dimension] ^= (gray_ref[:, 0] >> bit & 1) * number
    return points / 2**24


def _halton(indices_ref: np.ndarray) -> np.ndarray:
    columns = []
    for base in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29):
        rest, factor, column = indices_ref[:, 0].astype(np.int64), 1.0, np.zeros(len(indices_ref))
        while rest.any():
            factor /= base
            column, rest = column + factor * (rest % base), rest // base
        columns.append(column)
    return np.stack(columns, 1)


def _normal(uniforms_ref: np.ndarray) -> np.ndarray:
    radius, angle = np.sqrt(-2 * np.log(uniforms_ref[:, 0])), 2 * np.pi * uniforms_ref[:, 1]
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1)


def _lanes(*names: str) -> Any:
    return lambda random: {name: random.integers(1, 1 << 22, (128, 1)).astype(np.int32) for name in names}


def _energies(B: np.ndarray, eps_occ: np.ndarray, eps_vir: np.ndarray) -> np.ndarray:
    products = np.einsum("iap,jbp->ijab", B, B)
    occupied = eps_occ[:, None, None, None, 0] + eps_occ[None, :, None, None, 0]
    gaps = occupied - eps_vir[None, None, :, None, 0] - eps_vir[None, None, None, :, 0]
    return (products * (2 * products - products.transpose(0, 1, 3, 2)) / gaps).sum((2, 3))


def _screened(a: np.ndarray, q: np.ndarray, threshold_sqrt: float, b: np.ndarray) -> np.ndarray:
    return (a * (q * q.T > threshold_sqrt)) @ b


def _blocks(random: np.random.Generator, *names: str) -> dict[str, np.ndarray]:
    """Return two rows of blocks, three blocks each, heads of 64."""
    shapes = {"q_scaled_blocks": (2, 128, 64)}
    return {name: floats(random, *shapes.get(name, (2, 3, 128, 64)), scale=0.3) for name in names}


def _scores(q_scaled_blocks: np.ndarray, k_gathered_pad: np.ndarray) -> np.ndarray:
    return np.einsum("mqd,mktd->mkqt", q_scaled_blocks, k_gathered_pad)


def _statistics(**given: np.ndarray) -> list[np.ndarray]:
    scores = _scores(**given)
    largest = scores.max(-1, keepdims=True)
    return [largest, np.exp(scores - largest).sum(-1, keepdims=True)]


def _with_rows(random: np.random.Generator, *names: str) -> dict[str, np.ndarray]:
    given = _blocks(random, *names)
    scores = _scores(given["q_scaled_blocks"], given["k_gathered_pad"])
    largest = scores.max((1, 3))[..., None]
    sums = np.exp(scores - largest[:, None]).sum((1, 3))[..., None]
    return {**given, "row_max": largest.astype(np.float32), "row_denom": sums.astype(np.float32)}


def _weights(given: dict[str, np.ndarray]) -> np.ndarray:
    scores = _scores(given["q_scaled_blocks"], given["k_gathered_pad"])
    return np.exp(scores - given["row_max"][:, None]) / given["row_denom"][:, None]


def _attended(**given: np.ndarray) -> np.ndarray:
    return np.einsum("mkqt,mktd->mqd", _weights(given), given["v_gathered_pad"]).reshape(256, 64)


def _backward_inputs(random: np.random.Generator) -> dict[str, np.ndarray]:
    given = _with_rows(random, "q_scaled_blocks", "k_gathered_pad", "v_gathered_pad", "do_gathered_pad")
    rows = {"D_blocks": floats(random, 2, 128, 1)}
    names = ("q_scaled_blocks", "k_gathered_pad", "v_gathered_pad", "do_gathered_pad")
    return {**{name: given[name] for name in names}, **rows, **{n: given[n] for n in ("row_max", "row_denom")}}


def _query_gradient(**given: np.ndarray) -> np.ndarray:
    grown = np.einsum("mkqd,mktd->mkqt", given["do_gathered_pad"], given["v_gathered_pad"])
    inner = _weights(given) * (grown - given["D_blocks"][:, None])
    return np.einsum("mkqt,mktd->mqd", inner, given["k_gathered_pad"]).reshape(256, 64)


def _columns(random: np.random.Generator) -> dict[str, np.ndarray]:
    """Return two columns of blocks that three rows of blocks attend to."""
    given = {name: floats(random, 2, 128, 64, scale=0.3) for name in ("k_blocks", "v_blocks")}
    given |= {name: floats(random, 2, 3, 128, 64, scale=0.3) for name in ("q_gathered_col", "do_gathered_col")}
    given["D_gathered_col"] = floats(random, 2, 3, 128, 1)
    scores = np.einsum("krqd,ktd->krqt", given["q_gathered_col"], given["k_blocks"])
    given["row_max_gathered_col"] = scores.max(-1, keepdims=True)
    given["row_denom_gathered_col"] = np.exp(scores - scores.max(-1, keepdims=True)).sum(-1, keepdims=True)
    return given


def _key_gradients(**given: np.ndarray) -> list[np.ndarray]:
    scores = np.einsum("krqd,ktd->krqt", given["q_gathered_col"], given["k_blocks"])
    weights = np.exp(scores - given["row_max_gathered_col"]) / given["row_denom_gathered_col"]
    grown = np.einsum("krqd,ktd->krqt", given["do_gathered_col"], given["v_blocks"])
    inner = weights * (grown - given["D_gathered_col"])
    keys = np.einsum("krqt,krqd->ktd", inner, given["q_gathered_col"])
    return [keys.reshape(256, 64), np.einsum("krqt,krqd->ktd", weights, given["do_gathered_col"]).reshape(256, 64)]


CASES: tuple[Case, ...] = (
    *(
        _FFT("trnfft/nki/butterfly.py", name, _butterflies, _butterfly)
        for name in ("butterfly_stage_kernel", "butterfly_stage_kernel_kahan")
    ),
    _FFT(
        "trnfft/nki/stockham.py", "stockham_radix4_stage_kernel",
        lambda random: {name: floats(random, 256, 4) for name in ("x_re", "x_im", "tw_re", "tw_im")}, _radix4,
    ),
    *(
        _FFT(
            "trnfft/nki/dispatch.py", name, _complex(("a", 256, 128), ("b", 128, 256)),
            lambda a_real, a_imag, b_real, b_imag: _parts((a_real + 1j * a_imag) @ (b_real + 1j * b_imag)),
        )
        for name in ("_complex_gemm_kernel", "_complex_gemm_kernel_bf16")
    ),
    _FFT(
        "trnfft/nki/dispatch.py", "_complex_linear_kernel", _complex(("x", 128, 256), ("w", 256, 256)),
        lambda x_real, x_imag, w_real, w_imag: _parts((x_real + 1j * x_imag) @ (w_real + 1j * w_imag).T),
    ),
    _FFT(
        "trnfft/nki/dispatch.py", "_complex_mul_kernel", _complex(("a", 64, 512), ("b", 64, 512)),
        lambda a_real, a_imag, b_real, b_imag: _parts((a_real + 1j * a_imag) * (b_real + 1j * b_imag)),
    ),
    _RANDOM("philox4x32_kernel", _lanes("counter_lo_ref", "key_lo_ref", "key_hi_ref"), _philox),
    _RANDOM(
        "box_muller_kernel", lambda random: {"uniforms_ref": random.random((128, 2), np.float32)}, _normal,
    ),
    _RANDOM(
        "threefry4x32_kernel", _lanes(*(f"{word}{at}_ref" for word in "ck" for at in range(4))), _threefry,
        tolerance=1e-6,
    ),
    _RANDOM("sobol_gray_code_kernel", _lanes("gray_ref"), _sobol, tolerance=1e-6),
    _RANDOM("halton_kernel", _lanes("indices_ref"), _halton, tolerance=1e-5),
    _SOLVER(
        "matvec_kernel", lambda random: {"A": floats(random, 96, 96), "v": floats(random, 96, 1)}, lambda A, v: A @ v,
    ),
    _SOLVER(
        "rank2_update_kernel",
        lambda random: {"A": floats(random, 64, 64), "u": floats(random, 64, 1), "v": floats(random, 64, 1)},
        lambda A, u, v: A - u @ v.T - v @ u.T,
    ),
    _TENSOR(
        "matmul_kernel", lambda random: {"a": floats(random, 256, 256), "b": floats(random, 256, 512)},
        lambda a, b: a @ b,
    ),
    _TENSOR(
        "batched_matmul_kernel", lambda random: {"a": floats(random, 3, 128, 256), "b": floats(random, 3, 256, 128)},
        lambda a, b: a @ b,
    ),
    _TENSOR(
        "mp2_energy_kernel",
        lambda random: {
            "B": floats(random, 3, 32, 64),
            "eps_occ": -1 - random.random((3, 1), np.float32),
            "eps_vir": 1 + random.random((32, 1), np.float32),
        },
        _energies,
    ),
    _TENSOR(
        "ao_to_mo_transform_kernel",
        lambda random: {"eri": floats(random, 256, 256, 2), "C_occ": floats(random, 256, 16), "C_vir": floats(random, 256, 48)},
        lambda eri, C_occ, C_vir: np.einsum("mi,mnp,na->iap", C_occ, eri, C_vir),
    ),
    _SPARSE(
        "_bsr_spmm_kernel",
        lambda random: {"blocks_pad": floats(random, 2, 3, 128, 128), "b_gathered": floats(random, 2, 3, 128, 256)},
        lambda blocks_pad, b_gathered: np.einsum("mkij,mkjn->min", blocks_pad, b_gathered).reshape(256, 256),
    ),
    _SPARSE(
        "_screened_spmm_kernel",
        lambda random: {
            "a": floats(random, 256, 256), "q": random.random((256, 1), np.float32), "threshold_sqrt": 0.25,
            "b": floats(random, 256, 128),
        },
        _screened,
    ),
    _SPARSE("_attn_stats_kernel", lambda random: _blocks(random, "q_scaled_blocks", "k_gathered_pad"), _statistics),
    _SPARSE(
        "_attn_out_kernel", lambda random: _with_rows(random, "q_scaled_blocks", "k_gathered_pad", "v_gathered_pad"),
        _attended,
    ),
    _SPARSE("_attn_bwd_dq_kernel", _backward_inputs, _query_gradient),
    _SPARSE("_attn_bwd_dkdv_kernel", _columns, _key_gradients),
    _SPARSE(
        "_spmm_dense_kernel", lambda random: {"a": floats(random, 256, 128), "b": floats(random, 128, 512)},
        lambda a, b: a @ b,
    ),
)  # fmt: skip
