"""awslabs/nki-autotune: its kernel library, 2048 cubed."""

from __future__ import annotations

from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from validation.wild.cases.case import Case, floats, rms_norm

_case = partial(Case, "awslabs/nki-autotune", "d57bcc3", tolerance=2e-2)


def _pair(first: str) -> Any:
    return lambda random: {name: floats(random, 2048, 2048).astype(ml_dtypes.bfloat16) for name in (first, "rhs")}


def _wide(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float32)


CASES: tuple[Case, ...] = (
    _case(
        "kernel_library/matmul/lhsT_rhs/kernel_hand_90.92mfu.py",
        "matmul_lhsT_rhs_nkigym",
        _pair("lhs_T"),
        lambda lhs_T, rhs: _wide(lhs_T).T @ _wide(rhs),
    ),
    _case(
        "kernel_library/matmul/lhs_rhs/kernel_handtuned_89.26mfu.py",
        "matmul_lhs_rhs_nkigym",
        _pair("lhs"),
        lambda lhs, rhs: _wide(lhs) @ _wide(rhs),
    ),
    _case(
        "kernel_library/rmsnorm_matmul/kernel_hand_online.py",
        "rmsnorm_matmul_online",
        _pair("lhs"),
        lambda lhs, rhs: rms_norm(_wide(lhs), np.float32(1), 1e-6) @ _wide(rhs),
    ),
)
