"""EmilyWebber/nki-helpers: tensor additions and a product."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tools.wild_cases.case import Case, floats

_case = partial(Case, "EmilyWebber/nki-helpers", "300fcf7")


def _pair(*shape: int) -> Any:
    return lambda random: {name: floats(random, *shape) for name in ("a_input", "b_input")}


def _sum(a_input: np.ndarray, b_input: np.ndarray, **_: Any) -> np.ndarray:
    return a_input + b_input


CASES: tuple[Case, ...] = (
    _case("tensor_add/tensor_add.py", "nki_tensor_add_kernel", _pair(128, 512), _sum),
    _case("profiler/profile_tensor_add.py", "nki_tensor_add_kernel", _pair(128, 512), _sum),
    _case("tensor_add/tensor_add_spmd_nc1.py", "nki_tensor_add", _pair(256, 1024), _sum),
    _case("tensor_add/tensor_add_spmd_nc2.py", "nki_tensor_add_nc", _pair(512, 1024), _sum, lnc=2),
    _case(
        "matmul/nki_matmul_spmd.py",
        "nki_matmul_basic_",
        lambda random: {"lhsT": floats(random, 128, 128), "rhs": floats(random, 128, 128)},
        lambda lhsT, rhs: lhsT.T @ rhs,
    ),
)
