"""One public kernel: where it is, on which arrays it runs, and what it must compute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Arrays = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """`path`: in the checkout. `prelude`: imports that the file's own harness puts before it.

    `arguments`: the keyword arguments of a launch, made from a generator. `reference`: the expected result for them, an
    array or several in the order of the kernel's results. `outputs`: arguments that a kernel without a result writes.
    `tolerance`: of the relative L2 error. `decorate`: a plain function of the old dialect, which its own script
    decorates. `make`: the kernel from its module, where a function of the file makes it.
    """

    repository: str
    commit: str
    path: str
    kernel: str
    arguments: Callable[[np.random.Generator], Arrays]
    reference: Callable[..., Any]
    target: str = "trn2"
    lnc: int = 1
    tolerance: float = 5e-3
    prelude: str = ""
    outputs: tuple[str, ...] = ()
    decorate: bool = False
    module_reference: bool = False
    label: str = ""
    make: Callable[[Any], Any] | None = None

    @property
    def name(self) -> str:
        return f"{self.path}:{self.kernel}{self.label}"


def relative_error(result: Any, expected: Any) -> float:
    """Return the L2 norm of the difference over that of the expected values; infinite where a value is no number."""
    got = np.asarray(result, dtype=np.float32).ravel()
    want = np.asarray(expected, dtype=np.float32).ravel()
    if got.shape != want.shape or not np.isfinite(got).all():
        return float("inf")
    return float(np.linalg.norm(got - want) / max(float(np.linalg.norm(want)), 1e-30))


def floats(random: np.random.Generator, *shape: int, scale: float = 1.0) -> np.ndarray:
    return (random.standard_normal(shape) * scale).astype(np.float32)


def softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, scale: float = 1.0) -> np.ndarray:
    """Return attention. q, k, v: [d, S], as the tutorials lay them out; the result is [S, d]."""
    return softmax(scale * (q.T @ k)) @ v.T


def rms_norm(x: np.ndarray, g: np.ndarray, epsilon: float = 1e-5) -> np.ndarray:
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * g


def mamba(delta: np.ndarray, u: np.ndarray, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """delta, u: [batch, channels, S]; a: [channels, states]; b, c: [batch, states, S]."""
    state = np.zeros((*delta.shape[:2], a.shape[1]))
    out = np.zeros(delta.shape)
    for at in range(delta.shape[2]):
        step = delta[..., at, None]
        state = np.exp(step * a) * state + step * u[..., at, None] * b[:, None, :, at]
        out[..., at] = (state * c[:, None, :, at]).sum(2)
    return out


def convolution(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return a convolution. x: [N, C, H, W], w: [O, C, h, w]; stride 1, no padding."""
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], axis=(2, 3))
    return np.einsum("nchwij,ocij->nohw", windows, w, optimize=True)
