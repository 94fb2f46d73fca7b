"""allenkchau/trainium-kernel-fusion: attention, MLP and softmax, fused and not."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tools.wild_cases.case import Case, attention, floats

_case = partial(Case, "allenkchau/trainium-kernel-fusion", "d709ddf")


def _heads(random: np.random.Generator) -> dict[str, Any]:
    return {f"{name}_ref": floats(random, 128, 1024, scale=0.5) for name in "qkv"}


def _attention(q_ref: np.ndarray, k_ref: np.ndarray, v_ref: np.ndarray) -> np.ndarray:
    return attention(q_ref, k_ref, v_ref)


CASES: tuple[Case, ...] = (
    _case("kernels/baseline/attention.py", "baseline_attention", _heads, _attention),
    _case("kernels/fused/attention.py", "fused_attention", _heads, _attention),
)
