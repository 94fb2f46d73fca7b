"""ucb-bar/autocomp: reference solutions of its Trainium tasks in both dialects. Its harness puts the imports before them."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from validation.wild.cases.case import Case, attention, floats, mamba, rms_norm, softmax

REPOSITORY = ("ucb-bar/autocomp", "dd26a56")
_case = partial(Case, *REPOSITORY)
OLD = """
import math
import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import neuronxcc.nki.typing as nt
from neuronxcc.nki.language import par_dim


def div_ceil(n, d):
    return -(-n // d)


def normalize_dim(at, rank):
    return at % rank


def n_elts(shape):
    return math.prod(shape)
"""
NEW = """
import math
import numpy as np
import nki
import nki.isa as nisa
import nki.language as nl
"""
_DIALECTS = (("nki1", OLD), ("nki2", NEW))


def _heads(length: int) -> Any:
    return lambda random: {name: floats(random, 128, length, scale=0.5) for name in "qkv"}


def _rows(random: np.random.Generator) -> dict[str, Any]:
    return {
        "input_tensor": floats(random, 256, 1024),
        "epsilon": 1e-5,
        "gamma_vector": floats(random, 1024),
        "beta_vector": floats(random, 1024),
    }


def _layer_norm(
    input_tensor: np.ndarray, epsilon: float, gamma_vector: np.ndarray, beta_vector: np.ndarray
) -> np.ndarray:
    centred = input_tensor - input_tensor.mean(1, keepdims=True)
    return centred / np.sqrt(centred.var(1, keepdims=True) + epsilon) * gamma_vector + beta_vector


def _states(random: np.random.Generator) -> dict[str, Any]:
    return {
        "delta": random.random((1, 256, 512), np.float32) * np.float32(0.1),
        "u": floats(random, 1, 256, 512),
        "A": -random.random((256, 4), np.float32),
        "B": floats(random, 1, 4, 512),
        "C": floats(random, 1, 4, 512),
    }


def _pooled(in_tensor: np.ndarray, pool_size: int) -> np.ndarray:
    return np.lib.stride_tricks.sliding_window_view(in_tensor, (pool_size, pool_size)).max((2, 3))


def _rotated(x_in: np.ndarray, cos: np.ndarray, sin: np.ndarray) -> np.ndarray:
    first, second = x_in[:64], x_in[64:]
    return np.concatenate([first * cos - second * sin, second * cos + first * sin])


def _tutorials(dialect: str, prelude: str) -> tuple[Case, ...]:
    folder = f"sols/trn-tutorial-{dialect}/"
    case = partial(_case, kernel="solution", prelude=prelude)
    return (
        case(
            path=folder + "0_rmsnorm_ref.py",
            arguments=lambda random: {"a_tensor": floats(random, 256, 1024), "g_tensor": floats(random, 1024)},
            reference=lambda a_tensor, g_tensor: rms_norm(a_tensor, g_tensor, 0.0),
        ),
        case(path=folder + "1_layernorm_ref.py", arguments=_rows, reference=_layer_norm),
        case(
            path=folder + "2_gemm_ref.py",
            arguments=lambda random: {"lhsT": floats(random, 2048, 2048), "rhs": floats(random, 2048, 1024)},
            reference=lambda lhsT, rhs: lhsT.T @ rhs,
        ),
        case(path=folder + "4_attention_ref.py", arguments=_heads(1024), reference=attention),
    )


def _advanced(dialect: str, prelude: str) -> tuple[Case, ...]:
    folder = f"sols/trn-advanced-{dialect}/"
    case = partial(_case, kernel="solution", prelude=prelude)
    return (
        case(
            path=folder + "0_cumsum_ref.py",
            arguments=lambda random: {"x": floats(random, 200, 2048)},
            reference=lambda x: np.cumsum(x, 1),
        ),
        case(
            path=folder + "1_transpose_ref.py",
            arguments=lambda random: {"ref": floats(random, 4, 256, 256), "dim": 1},
            reference=lambda ref, dim: ref.transpose(0, 2, 1),
        ),
        case(
            path=folder + "2_maxpool_ref.py",
            arguments=lambda random: {"in_tensor": floats(random, 448, 448), "pool_size": 3},
            reference=_pooled,
        ),
        case(
            path=folder + "3_rope_ref.py",
            arguments=lambda random: {
                "x_in": floats(random, 128, 4096),
                "cos": floats(random, 64, 4096),
                "sin": floats(random, 64, 4096),
            },
            reference=_rotated,
        ),
    )


CASES: tuple[Case, ...] = (
    *(case for dialect in _DIALECTS for case in _tutorials(*dialect)),
    _case(
        "sols/trn-tutorial-nki1/3_mamba_ref.py",
        "solution",
        _states,
        lambda delta, u, A, B, C: mamba(delta, u, A, B, C),
        prelude=OLD,
    ),
    _case(
        "sols/trn-tutorial-nki1/5_sdattention_ref.py",
        "solution",
        lambda random: {f"{name}_ref": floats(random, 4096, 64, scale=0.3) for name in "qkv"},
        lambda q_ref, k_ref, v_ref: softmax(0.125 * (q_ref @ k_ref.T)) @ v_ref,
        prelude=OLD,
    ),
    *(case for dialect in _DIALECTS for case in _advanced(*dialect)),
)
