"""Knows function tables of the Scalar Engine: which one an activation needs."""

from __future__ import annotations

ACTIVATION_TABLES: tuple[tuple[str, frozenset[str]], ...] = tuple(
    (name, frozenset(text.split()))
    for name, text in (
        ("exp_and_others", "exp tanh"),
        ("softplus_and_others", "softplus"),
        ("sigmoid_and_others", "tanh sigmoid erf arctan"),
        ("sqrt_and_others", "sqrt"),
        ("natural_log", "ln log"),
        ("natural_log_exp_and_others", "ln log exp"),
        ("sigmoid_derivative", "derivative_sigmoid"),
        ("tanh_and_derivative", "tanh derivative_tanh"),
        ("trig_and_small", "sin arctan"),
        ("gelu_and_others", "gelu derivative_gelu gelu_dx tanh"),
        ("gelu_apprx_tanh_and_others", "gelu_apprx_tanh tanh"),
        ("gelu_apprx_sigmoid_and_others", "gelu_apprx_sigmoid tanh"),
        ("reciprocal_and_small", "reciprocal"),
        ("reciprocal_sqrt_and_small", "reciprocal_sqrt rsqrt"),
        ("abs_reciprocal_sqrt_and_small", "abs_reciprocal_sqrt"),
        ("mish_and_others", "mish"),
        ("erf_derivative", "derivative_erf erf_dx"),
        ("silu_and_others", "silu tanh sin"),
        ("derivative_silu_and_others", "derivative_silu silu_dx tanh sin"),
    )
)
"""Function tables of the Scalar Engine (docs/model.md, Evidence)."""

_IN_EVERY_TABLE = frozenset(
    "identity copy leaky_relu parametric_relu abs sign memset_zero relu derivative_relu derivative_leaky_relu"
    " derivative_identity is_finite square none".split()
)


def activation_table(function: str, loaded: str | None) -> str | None:
    """Return the name of the table that must be loaded before `function`; None when the loaded table has it."""
    if loaded is not None and function in _IN_EVERY_TABLE:
        return None
    holders = [name for name, functions in ACTIVATION_TABLES if function in functions]
    if loaded in holders:
        return None
    if function in _IN_EVERY_TABLE:
        return ACTIVATION_TABLES[0][0]
    return holders[0] if holders else f"{function}_and_others"
