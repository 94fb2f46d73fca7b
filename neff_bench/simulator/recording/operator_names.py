"""Names the operators that instructions are programmed with, by name and kind (AWS docs nki/api/nki.api.shared.rst)."""

from __future__ import annotations

from typing import Any

from neff_bench.simulator.native.recorder import compiled_form
from neff_bench.simulator.recording.recorder import invalid

BITVEC = frozenset({"invert", "bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"})
COMPARE = frozenset({"equal", "not_equal", "greater_equal", "greater", "less_equal", "less"})
BINARY = BITVEC - {"invert"} | COMPARE | frozenset(
    "add subtract multiply divide maximum minimum logical_and logical_or logical_xor power abs_max abs_min fmod mod"
    .split()
)  # fmt: skip
UNARY = frozenset(
    "invert logical_not abs square relu rsqrt reciprocal exp log sqrt tanh sigmoid gelu gelu_apprx_sigmoid"
    " gelu_apprx_tanh gelu_dx gelu_apprx_sigmoid_dx silu silu_dx softplus mish erf erf_dx copy sin cos tan arctan ceil"
    " floor trunc negative sign prelu".split()
)
TOKENS = frozenset({"bypass", "average"})
ACTIVATIONS = frozenset(
    "copy square sigmoid relu prelu gelu gelu_dx gelu_apprx_tanh gelu_apprx_sigmoid gelu_apprx_sigmoid_dx silu silu_dx"
    " tanh softplus mish erf erf_dx exp log sin arctan sqrt rsqrt reciprocal sign abs".split()
)
ALU_UNARY = frozenset({"abs", "square", "relu", "rsqrt", "reciprocal", "invert", "logical_not"})
ALU = BINARY | ALU_UNARY | {"bypass"}
REDUCTIONS = frozenset(
    "add subtract multiply maximum minimum bitwise_and bitwise_or bitwise_xor logical_and logical_or logical_xor abs_max"
    " abs_min average".split()
)


KNOWN = BINARY | UNARY | TOKENS

_ALIASES = {
    "max": "maximum", "min": "minimum", "mult": "multiply", "sub": "subtract", "is_equal": "equal", "absolute": "abs",
    "np_add": "add", "identity": "copy", "true_divide": "divide",
}  # fmt: skip


def op_name(op: Any) -> str:
    """Return the bare name of an operator given as `nl.add`, numpy's `np.add` or "add". Raises NkiValidationError else."""
    name = op if isinstance(op, str) else getattr(op, "__name__", None) or repr(op)
    name = _ALIASES.get(name, name)
    if name not in KNOWN:
        raise invalid(f"{name if callable(op) else repr(op)} is no operator of nki.language")
    return name


@compiled_form
def alu(op: str, key: str, given: Any, allowed: frozenset[str] = ALU) -> str:
    """Return the name of an operator that `allowed` holds. Raises NkiValidationError naming instruction and parameter."""
    name = op_name(given)
    if name not in allowed:
        raise invalid(f"{op}: {key} {name} is not supported here")
    return name
