"""EmilyWebber/nki-helpers: tensor additions, a product, and a mixture of experts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from validation.wild.cases.case import Case, floats, rms_norm, softmax

_case = partial(Case, "EmilyWebber/nki-helpers", "300fcf7")


def _pair(*shape: int) -> Any:
    return lambda random: {name: floats(random, *shape) for name in ("a_input", "b_input")}


def _sum(a_input: np.ndarray, b_input: np.ndarray, **_: Any) -> np.ndarray:
    return a_input + b_input


def _experts(transposed: bool) -> Any:
    """128 tokens of 128, eight experts. `transposed`: the biases are, and the tokens have another name."""

    def arguments(random: np.random.Generator) -> dict[str, Any]:
        def half(*shape: int, scale: float = 1.0) -> np.ndarray:
            return floats(random, *shape, scale=scale).astype(np.float16)

        biases = {f"mlp{at}_bias": half(8, rows, scale=0.01) for at, rows in ((1, 64), (2, 128))}
        if transposed:
            biases = {f"{name}_T": bias.T.copy() for name, bias in biases.items()}
        return {
            "x" if transposed else "t": half(128, 128), "scale": half(1, 128),
            "gate_weight": half(128, 8), "gate_bias": half(1, 8),
            "mlp1_weight": half(8, 64, 128, scale=0.1), "mlp2_weight": half(8, 128, 32, scale=0.1), **biases,
        }  # fmt: skip

    return arguments


def _routed(
    tokens: Any, scale: Any, gate_weight: Any, gate_bias: Any, first: Any, second: Any, common: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return each token's result of its four best experts, [128, 4, 128], and their weights, [128, 4, 1]. `first`, `second`: weights and
    biases. `common`: all tokens go to the experts of the first, with weights of their own."""
    x = rms_norm(tokens.astype(np.float32), scale.astype(np.float32))
    gates = x @ gate_weight.astype(np.float32) + gate_bias
    chosen = np.argsort(-gates, 1)[:, :4]
    weights = softmax(np.take_along_axis(gates, chosen, 1))
    chosen = chosen[:1].repeat(len(x), 0) if common else chosen
    hidden = np.einsum("tkoi,ti->tko", first[0][chosen].astype(np.float32), x) + first[1][chosen]
    gate, linear = np.minimum(hidden[..., ::2], 7), np.clip(hidden[..., 1::2], -7, 7)
    inner = gate / (1 + np.exp(-1.702 * gate)) * (linear + 1)
    out = np.einsum("tkoi,tki->tko", second[0][chosen].astype(np.float32), inner) + second[1][chosen]
    return out, weights[..., None]


def _mixture(t: Any, mlp1_weight: Any, mlp1_bias: Any, mlp2_weight: Any, mlp2_bias: Any, **gate: Any) -> np.ndarray:
    """The kernel adds a bias to each of the products that it sums: 128 times in the first layer, 32 times in the second.
    It spreads the experts of each partition over the tokens and reads them from the first partition."""
    first, second = (mlp1_weight, 128.0 * mlp1_bias), (mlp2_weight, 32.0 * mlp2_bias)
    out, weights = _routed(t, **gate, first=first, second=second, common=True)
    return (out * weights).sum(1)


def _residual(x: Any, **gate: Any) -> np.ndarray:
    """The kernel adds the bias of the first layer 128 times."""
    out, weights = _transposed(x, **gate)
    return (out * weights).sum(1) + x


def _last(x: Any, **gate: Any) -> np.ndarray:
    """Return what the four experts make of the last token, which is all that this kernel returns."""
    return _transposed(x, **gate)[0][-1].T


def _transposed(x: Any, mlp1_weight: Any, mlp1_bias_T: Any, mlp2_weight: Any, mlp2_bias_T: Any, **gate: Any) -> Any:
    first, second = (mlp1_weight, 128.0 * mlp1_bias_T.T), (mlp2_weight, mlp2_bias_T.T)
    return _routed(x, **gate, first=first, second=second)


def _first(t: Any, scale: Any, gate_weight: Any, gate_bias: Any, mlp1_weight: Any, **_: Any) -> np.ndarray:
    """Return the first layer's weights of the best expert of the first token."""
    gates = rms_norm(t.astype(np.float32), scale.astype(np.float32)) @ gate_weight.astype(np.float32) + gate_bias
    return mlp1_weight[gates[0].argmax()]


def _downwards(
    t: Any, scale: Any, gate_weight: Any, gate_bias: Any, mlp1_weight: Any, mlp1_bias_T: Any, **_: Any
) -> Any:
    """Return the first layer on the first token with its four experts; the kernel adds the bias 128 times."""
    x = rms_norm(t.astype(np.float32), scale.astype(np.float32))
    chosen = np.argsort(-(x[0] @ gate_weight.astype(np.float32) + gate_bias[0]))[:4]
    return mlp1_weight[chosen].astype(np.float32) @ x[0] + 128.0 * mlp1_bias_T.T[chosen]


def _projection(random: np.random.Generator) -> dict[str, Any]:
    given = _experts(transposed=False)(random)
    return {("mlp1_bias_T" if name == "mlp1_bias" else name): value.T.copy() if name == "mlp1_bias" else value
            for name, value in given.items()}  # fmt: skip


def _with_its_global(name: str, kernel: str) -> Callable[[Any], Any]:
    """Return the kernel with the variable of its script that it reads the dtype of."""

    def make(module: Any) -> Any:
        setattr(module, name, np.zeros(1, np.float16))
        return getattr(module, kernel)

    return make


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
    _case("moe/moe_fwd.py", "v2", _experts(transposed=False), _mixture, tolerance=2e-2),
    _case(
        "moe/transposed/moe_fwd_transposed.py",
        "moe_mlp_fwd",
        _experts(transposed=True),
        _residual,
        tolerance=2e-2,
        make=_with_its_global("mlp1_weight", "moe_mlp_fwd"),
    ),
    _case(
        "moe/transposed/moe_fwd_transposed_loop_fusion.py",
        "moe_mlp_fwd_fused",
        _experts(transposed=True),
        _last,
        tolerance=2e-2,
    ),
    _case("moe/mlp_expert_selection.py", "sample_selection_kernel", _experts(transposed=False), _first, tolerance=2e-2),
    _case(
        "moe/token_projection.py",
        "sample_token_projection",
        _projection,
        _downwards,
        tolerance=2e-2,
        make=_with_its_global("mlp1_bias", "sample_token_projection"),
    ),
)
